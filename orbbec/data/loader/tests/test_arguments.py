"""Likely mistakes in the arguments and files of a loader are named with what fixes them."""

from pathlib import Path

import pytest
import torch

from orbbec import on_device
from orbbec.backends.torchvision.pipelines import Pipeline
from orbbec.data import BadSample, ImageFolder, Loader, Sample
from orbbec.transforms import Compose, RandomCrop


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_not_a_source(kind):
    with pytest.raises(
        TypeError, match=r"expected a source, but got the path photos: use open_source\(path\)"
    ):
        Loader(kind("photos"), 2)


@pytest.mark.parametrize("source", [None, 5])
def test_what_has_no_samples_is_not_a_source(source):
    with pytest.raises(TypeError, match=f"expected a source or an iterable of samples, but got {source}"):
        Loader(source, 2)


def test_torchvisions_pipeline_is_named_with_what_converts_it():
    theirs = type("Compose", (), {"__module__": "torchvision.transforms.v2"})()
    with pytest.raises(TypeError, match=r"torchvision's Compose: use Compose.from_torchvision to convert it"):
        Loader([], 2, theirs)


def test_pipelines_that_a_loader_does_not_run_are_named_with_what_it_runs():
    with pytest.raises(ValueError, match=r"(?s)but got OnDevice.*: use its pipeline$"):
        Loader([], 2, on_device([RandomCrop(4)] * 9))
    with pytest.raises(
        ValueError, match=r"but got Pipeline.*: use Compose.from_torchvision instead of ot.convert$"
    ):
        Loader([], 2, Pipeline([Compose([RandomCrop(4)])]))


def test_a_damaged_file_is_named(tmp_path):
    for name in ("a/1.jpg", "b/1.jpg"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"no JPEG")
    loader = Loader(ImageFolder(tmp_path), 2, threads=1, shuffle=False)
    with pytest.raises(BadSample, match=rf"sample [01] \({tmp_path}/[ab]/1.jpg\): decode_image"):
        next(iter(loader))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_refused_at_once():
    with pytest.raises(ValueError, match="torch sees no GPU, so the device cannot be cuda:"):
        Loader([Sample(b"")], 2, device="cuda")


def test_a_device_that_torch_does_not_know_and_a_collate_that_is_no_function_are_refused():
    for device in ("1", -1, "gpu"):
        with pytest.raises(
            ValueError, match=f"^Loader: expected device as a torch device, but got '?{device}"
        ):
            Loader([Sample(b"")], 2, device=device)
    with pytest.raises(TypeError, match=r"^Loader: expected collate as a function, but got \[1\]"):
        Loader([Sample(b"")], 2, collate=[1])
