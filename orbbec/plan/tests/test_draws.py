"""Areas compared with a direct implementation; invalid arguments of both operators."""

import math

import numpy as np
import pytest
import torch

from orbbec.plan import Stream
from orbbec.plan.draws import draw_areas

IDS = np.arange(-40, 40)
OPS = torch.ops.orbbec
SIZES, SAMPLES = torch.tensor([[5, 7], [9, 4]]), torch.tensor([3, 4])
FLIP = (5, 0, 0, 0.5, *[0] * 6)


def area_by_hand(size, scale, ratio, numbers, transposed):
    """The first of ten tries that fits: height, width, top, left; None if none does."""
    for fraction, slant, y, x in np.reshape(numbers, (10, 4)).tolist():
        area = size[0] * size[1] * (scale[0] + fraction * (scale[1] - scale[0]))
        low, high = math.log(ratio[0]), math.log(ratio[1])
        aspect = math.exp(low + slant * (high - low))
        sides = [round(math.sqrt(area / aspect)), round(math.sqrt(area * aspect))]
        sides = sides[::-1] if transposed else sides
        if transposed and (sides[0] >= size[0] or sides[1] >= size[1]):
            continue
        if not transposed and not (0 < sides[0] <= size[0] and 0 < sides[1] <= size[1]):
            continue
        begin = [math.floor(at * (size[axis] - sides[axis] + 1)) for axis, at in enumerate((y, x))]
        return [*sides, *begin]
    return None


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("scale", "ratio"), [((0.08, 1.0), (0.75, 4 / 3)), ((0.9, 2.0), (0.2, 0.4))])
def test_areas(scale, ratio, transposed):
    sizes = np.random.default_rng(1).integers(1, 90, (len(IDS), 2))
    stream = Stream(IDS, seed=8, epoch=2, transform_index=5)
    before, numbers = stream.uniforms(3), Stream(IDS, seed=8, epoch=2, transform_index=5).uniforms(44)
    found, sides, begin = draw_areas(sizes, scale, ratio, stream, transposed=transposed)
    assert (before == numbers[:, :3]).all()
    for n, size in enumerate(sizes.tolist()):
        known = area_by_hand(size, scale, ratio, numbers[n, 3:43], transposed)
        assert found[n] == (known is not None)
        assert known is None or [*sides[n], *begin[n]] == known
    assert (stream.uniforms(1)[:, 0] == numbers[:, 43]).all()
    assert found.sum() > 0


def program(*rows):
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, 10)


def test_opcheck():
    areas = (SIZES, SAMPLES, [0.1, 1.0], [0.5, 2.0], True, 1, 2, 3, 4)
    torch.library.opcheck(OPS.draw_areas.default, areas)
    torch.library.opcheck(OPS.draw_coordinates.default, (SIZES, SAMPLES, program(FLIP), 1, 1, 2))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {0: torch.zeros(2, 3).long()},
            r"draw_areas: expected sizes of shape \[N, 2\] on the CPU, but got \[2, 3\]",
        ),
        (
            {0: torch.tensor([[4, 4], [0, 3]])},
            r"expected images with pixels, but image 1 is of size \[0, 3\]",
        ),
        ({0: SIZES.float()}, "expected sizes of int64"),
        ({1: SAMPLES[:1]}, r"expected sample_ids of shape \[2\], but got \[1\]"),
        ({2: [0.5]}, "expected two numbers of scale and ratio"),
        ({2: [0.5, 0.4]}, "expected scale of two ascending numbers, but got 0.5 and 0.4"),
        ({2: [math.nan, 1.0]}, "expected scale of two ascending numbers"),
        ({3: [0.0, 1.0]}, "expected ratio of two ascending numbers"),
        ({7: 65536}, "expected transform_index from 0 to 65535"),
        ({8: -1}, "expected first from 0 to 65535"),
    ],
)
def test_bad_areas(changed, message):
    good = dict(enumerate([SIZES, SAMPLES, [0.1, 1.0], [0.5, 2.0], True, 1, 2, 3, 4]))
    with pytest.raises(ValueError, match=message):
        OPS.draw_areas(*{**good, **changed}.values())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({1: SAMPLES.int()}, "draw_coordinates: expected sample_ids of int64"),
        ({2: torch.zeros(1, 9).double()}, r"expected program as contiguous float64 \[K, 10\]"),
        ({2: program(FLIP).float()}, r"expected program as contiguous float64 \[K, 10\]"),
        ({2: torch.zeros(5000, 10).double()}, "expected a program of at most 4096 rows, but got 5000"),
        ({2: program((7, *FLIP[1:]))}, "expected kinds from 0 to 6, but got 7"),
        ({2: program((math.nan, *FLIP[1:]))}, "expected kinds from 0 to 6"),
        ({2: program((5, -1, *FLIP[2:]))}, "expected transform indices from 0 to 65535, but got -1"),
        ({2: program((*FLIP[:9], math.inf))}, r"expected numbers of a program between -2\^30 and 2\^30"),
        ({2: program((0, 0, 0, 0, 3, *[0] * 5))}, "expected sizes of at least 1, but got 0 and 3"),
        ({2: program((2, 0, 0, 3, 3, 0.5, 0.1, 1, 1, 0))}, "expected scale of two ascending numbers"),
        ({2: program((3, 0, 0, 8, 8, *[0] * 5))}, "expected images of at least 8x8, but image 0 is 5x7"),
        (
            {2: program((1, 0, 0, 2**30, *[0] * 6))},
            "expected at most 2147483647 rows and columns, but image 1 gets",
        ),
        ({3: 2}, "expected passes to be 1, but got 2"),
    ],
)
def test_bad_programs(changed, message):
    good = dict(enumerate([SIZES, SAMPLES, program(FLIP), 1, 1, 2]))
    with pytest.raises(ValueError, match=message):
        OPS.draw_coordinates(*{**good, **changed}.values())
