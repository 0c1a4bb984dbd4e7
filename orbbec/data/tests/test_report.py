"""What a loader says of itself."""

import json
import time

import numpy as np
import pytest

from orbbec.data import Loader, Report, Sample
from orbbec.transforms import RandomResizedCrop

SOURCE = [Sample(np.zeros((20, 20, 3), np.uint8), {}, i) for i in range(12)]


def test_a_report_says_how_long_the_model_waited():
    class Slow(list):
        def __getitem__(self, index):
            time.sleep(0.02)
            return super().__getitem__(index)

    loader = Loader(Slow(SOURCE), 2, [RandomResizedCrop(4)], threads=1)
    assert loader.report().advice == "No batch was taken yet."
    list(loader)
    report = loader.report()
    assert report.images == 12
    assert report.share < 0.2
    assert report.seconds > 0.2
    assert report.advice.startswith("Reading takes most")
    assert report.spent["read"] > 0.2


def test_a_report_says_that_the_loader_keeps_up():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    for _ in range(3):
        for _ in loader:
            time.sleep(0.05)
    assert loader.report().share > 0.5
    assert loader.report().line.endswith(" waiting")


@pytest.mark.parametrize("part", ["read", "decode", "augment", "copy"])
def test_advice_is_about_what_takes_most(part):
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 0.1, part: 3.0}, threads=2)
    starts = {"read": "Reading", "decode": "Decoding", "augment": "Augmentation", "copy": "Copying"}
    assert report.advice.startswith(starts[part])
    assert Report(10, 1.0, 0.01, {}, threads=2).advice.startswith("The loader keeps up")


def test_settings_make_the_same_loader_again():
    settings = Loader(SOURCE, 2, threads=3, prefetch=5).settings()
    again = Loader(SOURCE, 2, **json.loads(settings))
    assert (again.threads, again.prefetch) == (3, 5)
