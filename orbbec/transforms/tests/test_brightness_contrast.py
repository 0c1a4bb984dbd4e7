"""RandomBrightnessContrast: worked by hand, its draws, and invalid arguments."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.augment.codes import STEPS

VALUES = [0, 10, 100, 250]


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
def test_values_worked_by_hand(channels, exact):
    # 0.5 * value + 51, and 2 * value - 51
    image = torch.tensor(VALUES, dtype=torch.uint8).expand(channels, 1, 4)
    for brightness, contrast, expected in ((0.2, -0.5, [51, 56, 101, 176]), (-0.2, 1.0, [0, 0, 149, 255])):
        step = T.RandomBrightnessContrast((brightness,) * 2, (contrast,) * 2, 1.0)
        result = T.Compose([step], exact=exact)(image, epoch=0)
        assert torch.equal(result.int(), torch.tensor(expected).int().expand(channels, 1, 4))
        floats = T.Compose([step], exact=exact)(image / 255, epoch=0)
        wanted = (torch.tensor(VALUES) / 255 * (1 + contrast) + brightness).clamp(0, 1)
        assert (floats.clamp(0, 1) - wanted).abs().max() < 1e-6


def test_factors_and_summands_are_drawn_evenly():
    sizes = np.full((4000, 2), 8)
    some, every = (
        T.Compose([T.RandomBrightnessContrast((-0.1, 0.3), (-0.5, 0.0), p)]).plan(sizes, epoch=0).table(0)
        for p in (0.25, 1.0)
    )
    chosen = some["color0.code"] == STEPS["matrix"]
    assert abs(chosen.mean() - 0.25) < 0.03
    assert (some["color0.code"][~chosen] == STEPS["none"]).all()
    factor, summand = every["color0.a0"], every["color0.a9"]
    assert np.array_equal(some["color0.a0"], np.where(chosen, factor, 0))
    for values, low, high in ((summand, -0.1, 0.3), (factor, 0.5, 1.0)):
        counts = np.histogram(values, bins=10, range=(low, high))[0]
        # Chi-squared of 9 degrees of freedom exceeds 27.9 once in 1,000.
        assert ((counts - 400) ** 2 / 400).sum() < 27.9
    assert abs(np.corrcoef(factor, summand)[0, 1]) < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"brightness": (-2.0, 0.0)}, "brightness as .* from -1 to 1"),
        ({"contrast": (-1.5, 0.0)}, "contrast as .* of at least -1"),
        ({"contrast": 0.2}, "contrast as"),
        ({"p": 1.5}, "p as a number from 0 to 1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=f"RandomBrightnessContrast: expected {message}"):
        T.RandomBrightnessContrast(**arguments)
