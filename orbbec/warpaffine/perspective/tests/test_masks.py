"""Masks that are warped where they lie get the pixels of `warp_perspective`."""

import pytest
import torch

from orbbec import warp_perspective
from orbbec._library import operators
from orbbec.warpaffine.perspective.masks import warp_masks
from tests.support import assert_same_bytes
from tests.support.warps import random_warps

SHAPES = [(21, 30), (2, 3, 17, 40), (0, 5, 5), (5, 8, 9)]
DTYPES = [torch.bool, torch.uint8, torch.int16, torch.float32, torch.int64, torch.float64]


def _masks(dtype, shapes=SHAPES):
    generator = torch.Generator().manual_seed(0)
    values = [torch.randint(0, 100, shape, generator=generator) for shape in shapes]
    return [each.to(dtype) for each in values]


def _matrices(count=4):
    one = [random_warps("warp_perspective", (17, 30), (19, 33), seed=seed) for seed in range(count)]
    inverses = torch.linalg.inv(torch.stack(one).double())
    inverses[0] = torch.tensor([[0.5, 0.0, 3.0], [0.0, 1.7, -4.0], [0.0, 0.0, 1.0]])  # axis-aligned
    return inverses


def _expected(mask, matrix, size, border, fill):
    """One value of a mask after the other, as bytes."""
    height, width = mask.shape[-2:]
    fills = torch.tensor([fill], dtype=mask.dtype).view(torch.uint8).tolist()
    planes = mask.reshape(-1, height, width, 1).view(torch.uint8).permute(0, 3, 1, 2)
    how = {"interpolation": "nearest", "border": border, "inverse": True}
    channels = [
        warp_perspective(planes[:, [c]].contiguous(), matrix, size, fill=each, **how)
        for c, each in enumerate(fills)
    ]
    return torch.cat(channels, 1).permute(0, 2, 3, 1).reshape(-1).view(mask.dtype).view(-1, *size)


@pytest.mark.parametrize("border", ["constant", "reflect"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_masks_of_several_images_are_those_of_warp_perspective(dtype, border):
    masks, matrices = _masks(dtype), _matrices()
    fill = torch.tensor([77], dtype=dtype).view(torch.uint8).tolist()
    sizes = [(19, 33), (1, 1), (7, 3), (40, 21)]
    found = warp_masks(masks, range(len(masks)), matrices, torch.tensor(sizes), border=border, fill=fill)
    for mask, matrix, size, result in zip(masks, matrices, sizes, found, strict=True):
        assert result.shape == (*mask.shape[:-2], *size)
        if result.numel():
            assert_same_bytes(result.view(-1, *size), _expected(mask, matrix, size, border, 77))


def test_a_region_is_read_as_if_it_were_the_mask():
    masks, matrices = _masks(torch.float32, [(21, 30), (3, 17, 40)]), _matrices(2)
    regions = torch.tensor([[3, 2, 28, 20], [0, 5, 40, 6]])
    sizes = torch.tensor([(19, 33)] * 2)
    found = warp_masks(masks, range(len(masks)), matrices, sizes, regions=regions, fill=[0.0])
    cut = [masks[0][2:20, 3:28], masks[1][:, 5:6]]
    for one, other in zip(found, warp_masks(cut, [0, 1], matrices, sizes, fill=[0.0]), strict=True):
        assert_same_bytes(one, other)


def test_two_threads_give_the_masks_of_one():
    masks, matrices = _masks(torch.uint8, [(9, 210, 300), (1, 30, 40)]), _matrices(2)
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        results.append(
            torch.cat(warp_masks(masks, range(len(masks)), matrices, torch.tensor([(200, 310)] * 2)))
        )
    torch.set_num_threads(before)
    assert_same_bytes(results[1], results[0])


def test_arguments_that_do_not_fit_are_refused_by_name():
    masks, matrices = _masks(torch.uint8, [(4, 5), (2, 4, 5)]), _matrices(2)
    sizes, out = torch.tensor([(6, 7), (2, 3)]), torch.zeros(42 + 12, dtype=torch.uint8)
    call = operators.warp_masks
    arguments = {
        "masks": masks,
        "rows": [0, 1],
        "matrix": matrices,
        "sizes": sizes,
        "regions": None,
        "border": "constant",
    }
    arguments |= {"fill": [0.0], "arithmetic": "cv2_5", "out": out}
    call(**arguments)
    wrong = [
        ({"out": out[:-1]}, "expected out of as many values as the results have, but got 53"),
        ({"masks": masks[:1], "rows": [0]}, "expected out of 42 values"),
        ({"rows": [0]}, "expected a row of sizes"),
        ({"rows": [0, 2]}, "expected rows from 0 to 1, but got 2"),
        ({"out": out[None]}, "expected out as contiguous"),
        ({"matrix": matrices[:1]}, "expected matrix of shape"),
        ({"sizes": sizes[:1]}, "expected matrix of shape"),
        ({"sizes": sizes.int()}, "expected sizes as contiguous int64"),
        ({"sizes": sizes[0]}, "expected a row of sizes"),
        ({"sizes": -sizes}, "expected masks with rows of at most"),
        ({"border": "transparent"}, "expected border other than transparent"),
        ({"arithmetic": "exact"}, "expected arithmetic to be one of"),
        ({"fill": [0.0, 1.0]}, "expected fill of 1 number"),
        ({"regions": torch.zeros(1, 4).long()}, "expected regions of shape"),
        ({"masks": [masks[0].float()] * 2}, "of the dtype of out"),
        ({"masks": [masks[0].mT] * 2}, "expected contiguous masks"),
        ({"masks": [out[:20].view(4, 5), masks[1]]}, "shares no memory with masks"),
    ]
    for change, message in wrong:
        with pytest.raises((RuntimeError, ValueError), match=message):
            call(**{**arguments, **change})
