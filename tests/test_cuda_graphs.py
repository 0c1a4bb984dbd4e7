"""Image operators in a CUDA graph: capture involves no copies from the host and no synchronization."""

import functools
from typing import Any

import pytest
import torch

import orbbec
from orbbec import transforms as T
from tests.support import Meetings, assert_same_bytes, photographs


@functools.cache
def table(device: torch.device, *values: float) -> torch.Tensor:
    """Tensors on the device, made in the first call."""
    return torch.tensor(values, dtype=torch.float64, device=device)


CALLS: dict[str, Any] = {
    "warp_affine": lambda x: orbbec.warp_affine(x, table(x.device, 1, 0, 0, 0, 1, 0).view(2, 3), (9, 8)),
    "gaussian_blur": lambda x: orbbec.gaussian_blur(x, 9, table(x.device, 1.0, 2.0)),
    "gaussian_blur by a number": lambda x: orbbec.gaussian_blur(x, 9, 1.5),
    "gaussian_blur by two numbers": lambda x: orbbec.gaussian_blur(x, 9, (1.0, 2.0)),
    "box_blur": lambda x: orbbec.box_blur(x, 5),
    "median_blur": lambda x: orbbec.median_blur(x, 5),
    "sharpen": lambda x: orbbec.sharpen(x, 0.5),
    "cvt_color": lambda x: orbbec.cvt_color(x, "RGB", "HSV"),
    "adjust_contrast": lambda x: orbbec.adjust_contrast(x, table(x.device, 0.7, 1.4)),
    "gaussian_noise": lambda x: orbbec.gaussian_noise(x, 0.0, table(x.device, 0.1, 0.2)),
    "salt_and_pepper": lambda x: orbbec.salt_and_pepper(x, table(x.device, 0.1, 0.2)),
    "shot_noise": lambda x: orbbec.shot_noise(x, table(x.device, 0.1, 0.2)),
    "adjust_hue": lambda x: orbbec.adjust_hue(x, 0.1),
    "equalize": orbbec.equalize,
    "equalize_hist": orbbec.equalize_hist,
    "clahe": lambda x: orbbec.clahe(x, 3.0),
    "normalize": lambda x: orbbec.normalize(x, (0.5, 0.5, 0.5), (0.2, 0.2, 0.2)),
    **{
        f"resize {name}": lambda x, name=name: orbbec.resize(x, (9, 70), interpolation=name)
        for name in ("nearest", "linear", "cubic", "area", "lanczos4")
    },
    "resize antialias": lambda x: orbbec.resize(x, (9, 70), antialias=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_copied_from_the_host(name):
    images = torch.empty(2, 3, 21, 34, dtype=torch.uint8, device="meta")
    CALLS[name](images)  # what is made once is made before
    with Meetings() as watch:
        CALLS[name](images)
    assert watch.found == []


@pytest.mark.cuda
@pytest.mark.parametrize("name", CALLS)
def test_a_cuda_graph_replays_the_bytes(name):
    first, second = photographs(2, 3, 21, 34), photographs(2, 3, 21, 34, seed=7)
    images = first.cuda()
    CALLS[name](images)  # what is made once is made before
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = CALLS[name](images)
    images.copy_(second)
    graph.replay()
    assert_same_bytes(result, CALLS[name](second.cuda()))


@pytest.mark.cuda
def test_an_epoch_on_the_device_needs_a_kernel_that_draws():
    images, epoch = photographs(2, 3, 21, 34), torch.tensor(3)
    colors = [T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)]) for _ in range(14)]
    short, long = (T.Compose([T.CenterCrop(12), *steps], seed=1) for steps in (colors[:2], colors))
    for pipeline in (short, long):
        assert_same_bytes(pipeline(images.cuda(), epoch=epoch).cpu(), pipeline(images, epoch=3))
    assert_same_bytes(short(images.cuda(), epoch=epoch.cuda()).cpu(), short(images, epoch=3))
    message = "since the host draws .* a tensor on CUDA. A kernel draws them if .* at most about 190 rows"
    with pytest.raises(ValueError, match=f"Compose: expected epoch as a number, {message}"):
        long(images.cuda(), epoch=epoch.cuda())
