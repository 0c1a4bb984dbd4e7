"""Likely mistakes in the arguments of a loader are named with what fixes them."""

from pathlib import Path

import pytest

from orbbec.data import Loader


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_not_a_source(kind):
    with pytest.raises(
        TypeError, match=r"expected a source, but got the path photos: use open_source\(path\)"
    ):
        Loader(kind("photos"), 2)


def test_torchvisions_pipeline_is_named_with_what_converts_it():
    theirs = type("Compose", (), {"__module__": "torchvision.transforms.v2"})()
    with pytest.raises(TypeError, match=r"torchvision's Compose: use Compose.from_torchvision to convert it"):
        Loader([], 2, theirs)
