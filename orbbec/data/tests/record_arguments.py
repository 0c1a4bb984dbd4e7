"""Writes arguments.json: what readers, orders and loaders make of values of each argument today.

    python orbbec/data/tests/record_arguments.py

A checksum for each argument: of the refusals, or of all that can be read.
"""

import inspect
import json
import re
import tempfile
from pathlib import Path

from orbbec import data
from orbbec.data.readers.tests import test_readers as readers
from orbbec.data.sampling.sampling import Sampling
from orbbec.transforms import RandomCrop
from orbbec.transforms.base.tests.record_arguments import VALUES
from orbbec.transforms.base.tests.record_programs import checksum

PATH = Path(__file__).with_name("arguments.json")
MORE = ("raise", "skip", "keep", "drop", "test", "train", "GRAY", "UNCHANGED", "from_file", [0, 4, 1])
ARRAYS = data.Arrays(readers.IMAGES, {"label": [3, 2, 1, 0]})
LOADER = {"source": ARRAYS, "batch_size": 3, "threads": 1, "transforms": [RandomCrop(4)], "on_error": "skip"}
WITHOUT_FILES = {
    data.Order: {"length": 9},
    data.Weights: {"weights": [0.5, 2, 0, 1, 3]},
    data.Mixture: {"lengths": [2, 3], "ratios": [0.7, 0.3]},
    data.Buckets: {"buckets": [0, 1, 0, 1, 1], "batch_size": 2},
    data.Repeats: {},
    data.Decoding: {},
    data.TemporalSample: {},
    data.Arrays: {"images": readers.IMAGES},
    data.Cache: {"nbytes": 9},
    data.Sample: {"data": b"a"},
    data.Loader: LOADER,
    data.aspect_buckets: {"sizes": [(3, 4), (9, 2)]},
    data.ShuffleBuffer: {"items": range(9), "size": 3},
}
OF_FILES = {  # with the arguments that are not varied: paths
    readers.folder: (data.ImageFolder, {"root": ""}),
    readers.file_list: (data.FileList, {"file": "list.csv"}),
    readers.coco: (data.Coco, {"images": "", "annotations": "coco.json", "masks": True}),
    readers.cifar: (data.Cifar, {"root": "", "split": "test"}),
    readers.npy_file: (data.NpyFile, {"path": "a.npy"}),
    readers.yolo: (data.Yolo, {"data": "", "classes": "abc"}),
    readers.voc: (data.Voc, {"root": "", "images": "", "annotations": ""}),
    readers.mask_folder: (data.MaskFolder, {"root": ""}),
    readers.record_io: (data.RecordIo, {"file": "a.rec"}),
}
PATHS = ("root", "file", "path", "data", "index", "source", "items")
SKIPPED = (*PATHS, "device", "numa", "memory", "prefetch", "threads")  # those of the machine, too


def described(value):
    """Dicts, lists and arrays as numbers."""
    if hasattr(value, "tolist"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {name: described(each) for name, each in value.items()}
    return [described(each) for each in value] if isinstance(value, (list, tuple)) else value


def contents_of(result):
    """What can be read from a result."""
    if isinstance(result, data.Order):
        return [(described(result.indices(epoch)), result.count(2)) for epoch in (0, 1)]
    if isinstance(result, Sampling):
        return [contents_of(data.Order(5, 3, world_size=2, rank=rank, sampling=result)) for rank in (0, 1)]
    if isinstance(result, (data.Loader, data.ShuffleBuffer)):
        return described(list(result))
    return described([vars(each) for each in result] if hasattr(result, "__getitem__") else result)


def texts_of(make, known, root):
    """What becomes of each value of each argument, by argument."""
    for name in inspect.signature(make).parameters:
        if name in SKIPPED:
            continue
        texts = []
        for value in (*VALUES, *MORE):
            try:
                text = str(contents_of(make(**{**known, name: value})))
            except Exception as error:  # messages of Python depend on its version
                text = str(error) if re.match(r"\w+: ", str(error)) else type(error).__name__
            texts.append(f"{value}: {text.replace(str(root), '')}")
        yield name, "\n".join(texts)


def arguments_of(make):
    """The texts of each argument."""
    if make in WITHOUT_FILES:
        return dict(texts_of(make, WITHOUT_FILES[make], "/"))
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make(root)
        kind, known = OF_FILES[make]
        paths = {name: root / value for name, value in known.items() if name in PATHS or value == "coco.json"}
        paths |= {"images": root} if kind is data.Coco else {}
        return dict(texts_of(kind, {**known, **paths}, root))


MAKERS = {make.__name__: make for make in (*WITHOUT_FILES, *OF_FILES)}


def main():
    record = {name: " ".join(map(checksum, arguments_of(make).values())) for name, make in MAKERS.items()}
    PATH.write_text(json.dumps(record, indent=0) + "\n")


if __name__ == "__main__":
    main()
