"""Writes conversions.json: what becomes of values of each attribute of the steps of other libraries today.

    python orbbec/transforms/convert/tests/record_conversions.py

The steps are stand-ins, so that no library is needed. A checksum for each step.
"""

import json
import re
from pathlib import Path

import torch

from orbbec import transforms as T
from orbbec.transforms.base.tests.record_arguments import VALUES
from orbbec.transforms.base.tests.record_programs import checksum
from orbbec.transforms.convert.tests import test_convert_albumentations as basic
from orbbec.transforms.convert.tests import test_convert_albumentations_regions as regions
from orbbec.transforms.convert.tests import test_convert_albumentations_values as values
from orbbec.transforms.convert.tests import test_convert_albumentations_weather as weather
from orbbec.transforms.convert.tests import test_convert_torchvision as torchvision
from tests.support.peers.albumentations import stand_in

PATH = Path(__file__).with_name("conversions.json")
WITHOUT_TENSORS = [value for value in VALUES if not isinstance(value, torch.Tensor)]
MORE = ((1, 1), (2, 2), (90, 90), (1, 5), (-9, 9), ((0.5, 0.6), (1, 2)), "uniform", 4, "coco", [3, 7])
BOXES = {
    **{"format": "coco", "min_width": 2, "min_height": 2, "min_area": 4, "min_visibility": 0.3},
    **{"max_accept_ratio": None, "bbox_type": "hbb", "clip_after_transform": True, "clip": False},
    **{"check_each_transform": True, "filter_invalid_bboxes": False, "label_fields": ["labels", "row"]},
}
KEYPOINTS = {"format": "xy", "remove_invisible": True, "label_fields": None, "angle_in_degrees": True}
PIPELINE = {
    **{"transforms": [stand_in("HorizontalFlip")], "processors": {}, "mask_interpolation": 0, "p": 0.5},
    **{"additional_targets": {}, "semantic_mask_label_mappings": None},
}


def by_albumentations(kind, attributes):
    return T.Compose.from_albumentations([stand_in(kind, **attributes)])


def by_torchvision(kind, attributes):
    return T.Compose.from_torchvision([torchvision.stand_in(kind, **attributes)])


def by_processor(kind, attributes):
    processors = {kind: stand_in("Processor", params=stand_in("Params", **attributes))}
    return T.Compose.from_albumentations(stand_in("Compose", **{**PIPELINE, "processors": processors}))


def steps():
    """How a step is converted, its class, and its attributes."""
    several = (*basic.STEPS, *basic.STEPS_X, *regions.STEPS, *values.STEPS, *weather.STEPS)
    for convert, table in ((by_albumentations, several), (by_torchvision, torchvision.STEPS)):
        yield from ((convert, kind, {**known, **attributes}) for kind, known, attributes, _ in table)
    yield from ((by_processor, "bboxes", BOXES), (by_processor, "keypoints", KEYPOINTS))
    yield by_albumentations, "Compose", PIPELINE


def text_of(convert, kind, attributes):
    """What becomes of a step."""
    try:
        pipeline = convert(kind, attributes)
    except Exception as error:  # messages of Python depend on its version
        text = re.sub(r"np\.\w+\((.*?)\)", r"\1", str(error))  # as NumPy 1 writes numbers
        return text if text.startswith("from_") else type(error).__name__
    return f"{pipeline.transforms} {pipeline.target_options}"


def conversions_of(convert, kind, attributes):
    """The texts of a step as it is, without each attribute, and with each value of it."""
    changes = [{**attributes, name: value} for name in attributes for value in (*WITHOUT_TENSORS, *MORE)]
    fewer = [{name: attributes[name] for name in attributes if name != left} for left in attributes]
    return "\n".join(text_of(convert, kind, each) for each in (attributes, *fewer, *changes))


def main():
    record = {f"{index} {step[1]}": checksum(conversions_of(*step)) for index, step in enumerate(steps())}
    PATH.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
