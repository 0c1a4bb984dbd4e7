"""Samples of a source whose fields have other types."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Loader, Sample
from orbbec.transforms import RandomHorizontalFlip

PIPELINE = (RandomHorizontalFlip(),)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"data": "1.jpg"}, TypeError, "data of sample 0 as bytes, pixels, .* but got a str"),
        ({"data": Image.new("RGB", (4, 4))}, TypeError, "data of sample 0 .* but got a Image"),
        ({"data": None}, TypeError, "data of sample 0 .* but got a NoneType"),
        ({"targets": None}, TypeError, "targets of sample 0 as a dict, but got a NoneType"),
        ({"sample_id": "1"}, TypeError, "sample_id of sample 0 as a whole number, but got a str"),
        ({"sample_id": True}, TypeError, "sample_id of sample 0 as a whole number, but got a bool"),
        ({"sample_id": -1}, ValueError, "sample_id of sample 0 from 0 to .*, but got -1"),
        ({"sample_id": 1 << 63}, ValueError, "sample_id of sample 0 from 0 to .*, but got 9223372"),
    ],
)
def test_a_field_of_a_sample_of_another_type_is_named(change, kind, message):
    sample = replace(Sample(np.zeros((8, 8, 3), np.uint8), {}, 1), **change)
    with Loader([sample], 1, PIPELINE) as loader, pytest.raises(kind, match=f"Loader: expected {message}"):
        list(loader)


TEXTS, ONE_LABEL = {"boxes": [["1", "2", "3", "4"]]}, {"boxes": [[0, 0, 1, 1]], "labels": 7}


@pytest.mark.parametrize("targets", [TEXTS, ONE_LABEL])
def test_targets_of_other_types_are_a_bad_sample_with_its_file(targets):
    image = np.zeros((8, 8, 3), np.uint8)
    samples = [Sample(image, {"boxes": np.zeros((0, 4))}, 1), Sample(image, targets, 2, "2.jpg")]
    with (
        Loader(samples, 2, PIPELINE, shuffle=False) as loader,
        pytest.raises(BadSample, match=r"sample 2 \(2.jpg\): transform_targets: expected"),
    ):
        list(loader)
