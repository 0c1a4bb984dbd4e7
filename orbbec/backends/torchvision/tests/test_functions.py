"""The replacements of torchvision's functions, tested without torchvision: arguments and results.

The oracles follow torchvision's documented formulas; the tolerances were measured in 60 draws.
"""

import numpy as np
import pytest
import torch
import torch.nn.functional as nn

pytest.importorskip("PIL")

from PIL import Image, ImageEnhance

from orbbec import ImageBatch
from orbbec.backends.torchvision import batches, functions
from orbbec.backends.torchvision.functions import FUNCTIONS
from tests.support import photograph

SIZES = [(3, 3), (4, 9), (17, 12), (31, 45), (64, 40), (97, 120)]
DRAWS = 10


@pytest.fixture(autouse=True)
def _sizes_as_given(monkeypatch):
    monkeypatch.setattr(functions, "_output_size", lambda before, size, max_size: tuple(size))


def image_of(kind, size, seed, channels=3):
    pixels = photograph(*size, channels, seed=seed)
    if kind in ("RGB", "L"):
        return Image.fromarray(pixels).convert(kind)
    tensor = torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
    return tensor if kind == "uint8" else tensor / 255


def bound(image):
    return 1.0 if image.is_floating_point() else 255.0


def gray(image):
    red, green, blue = image.unbind(-3)
    return (0.2989 * red + 0.587 * green + 0.114 * blue).to(image.dtype)[None]


def blend(image, other, ratio):
    mixed = ratio * image.double() + (1 - ratio) * other.double()
    return mixed.clamp(0, bound(image)).to(image.dtype)


def contrast(image, ratio):
    return blend(image, gray(image).double().mean(), ratio)


def saturation(image, ratio):
    return blend(image, gray(image), ratio)


def sharpness(image, ratio):
    kernel = torch.full((3, 3), 1 / 13, dtype=torch.float64)
    kernel[1, 1] = 5 / 13
    inner = nn.conv2d(image.double()[:, None], kernel[None, None])[:, 0]
    blurred = image.double().clone()
    blurred[:, 1:-1, 1:-1] = inner if image.is_floating_point() else inner.round()
    return blend(image, blurred, ratio)


def autocontrast(image):
    low, high = (getattr(image, name)((1, 2), keepdim=True).double() for name in ("amin", "amax"))
    flat = low == high
    low, scale = torch.where(flat, 0, low), torch.where(flat, 1, bound(image) / (high - low))
    return ((image - low) * scale).clamp(0, bound(image)).to(image.dtype)


def hue(image, factor):
    """Through HSV, like colorsys."""
    red, green, blue = image.double().unbind(-3)
    high, low = image.double().amax(-3), image.double().amin(-3)
    span = torch.where(high == low, 1, high - low)
    divisor = torch.where(high == 0, 1, high)
    saturated = (high - low) / divisor
    r, g, b = ((high - each) / span for each in (red, green, blue))
    turn = torch.where(high == red, b - g, torch.where(high == green, 2 + r - b, 4 + g - r))
    turn = torch.where(high == low, 0, turn)
    turn = (turn / 6 + factor) % 1.0
    sector = (turn * 6).floor()
    f = turn * 6 - sector
    p, q, t = high * (1 - saturated), high * (1 - saturated * f), high * (1 - saturated * (1 - f))
    rows = [(high, t, p), (q, high, p), (p, high, t), (p, q, high), (t, p, high), (high, p, q)]
    table = torch.stack([torch.stack(row) for row in rows])
    chosen = (sector.long() % 6)[None, None].expand(1, 3, *sector.shape)
    return table.gather(0, chosen)[0].to(image.dtype)


def resized(image, size):
    whole = nn.interpolate(image.double()[None], size, mode="bilinear", antialias=True)[0]
    return whole.round().clamp(0, 255).to(image.dtype)


def cropped(image, top, left, height, width, size):
    return resized(image[..., top : top + height, left : left + width], size)


def blurred(image, kernel_size, sigma):
    """`kernel_size` is (width, height), `sigma` is (x, y)."""
    kernels = []
    for side, deviation in zip(kernel_size, sigma, strict=True):
        at = torch.arange(side, dtype=torch.float64) - side // 2
        weights = torch.exp(-0.5 * (at / deviation) ** 2)
        kernels.append(weights / weights.sum())
    horizontal, vertical = kernels
    pads = [horizontal.numel() // 2] * 2 + [vertical.numel() // 2] * 2
    padded = nn.pad(image.double()[:, None], pads, mode="reflect")
    result = nn.conv2d(padded, (vertical[:, None] * horizontal)[None, None])[:, 0]
    return (result if image.is_floating_point() else result.round()).to(image.dtype)


def hue_of_pillow(image, factor):
    turn, *rest = image.convert("HSV").split()
    turned = (np.asarray(turn).astype(int) + int(factor * 255)) % 256
    return Image.merge("HSV", [Image.fromarray(turned.astype(np.uint8)), *rest]).convert("RGB")


def sharpness_of_pillow(image, factor):
    return ImageEnhance.Sharpness(image).enhance(factor)


def factors(rng, size):
    return (rng.uniform(0, 2.5),)


def hues(rng, size):
    return (rng.uniform(-0.5, 0.5),)


def sizes(rng, size):
    return (tuple(rng.integers(2, 150, 2).tolist()),)


def crops(rng, size):
    rows, columns = (int(rng.integers(2, side + 1)) for side in size)
    top, left = int(rng.integers(0, size[0] - rows + 1)), int(rng.integers(0, size[1] - columns + 1))
    return (top, left, rows, columns, *sizes(rng, size))


def blurs(rng, size):
    halves = [int(rng.integers(0, min(4, (side + 1) // 2))) for side in size[::-1]]
    return [1 + 2 * half for half in halves], rng.uniform(0.3, 3, 2).tolist()


# Oracle, random arguments, largest difference, fraction of differing values.
CLOSE = {
    ("v1", "adjust_contrast", "uint8"): (contrast, factors, 1, 1e-5),
    ("v1", "adjust_contrast", "float32"): (contrast, factors, 1.8e-7, 0.36),
    ("v1", "adjust_saturation", "uint8"): (saturation, factors, 1, 0.003),
    ("v1", "adjust_saturation", "float32"): (saturation, factors, 3e-7, 0.4),
    ("v1", "adjust_hue", "float32"): (hue, hues, 1.1e-6, 0.4),
    ("v1", "adjust_sharpness", "uint8"): (sharpness, factors, 1, 0.007),
    ("v1", "adjust_sharpness", "float32"): (sharpness, factors, 6e-8, 0.15),
    ("v2", "adjust_sharpness", "float32"): (sharpness, factors, 6e-8, 0.15),
    ("v1", "autocontrast", "uint8"): (autocontrast, lambda rng, size: (), 1, 0.0013),
    ("v1", "resize", "uint8"): (resized, sizes, 1, 0.16),
    ("v2", "resize", "uint8"): (resized, sizes, 1, 0.16),
    ("v2", "resized_crop", "uint8"): (cropped, crops, 1, 0.13),
    ("v1", "gaussian_blur", "uint8"): (blurred, blurs, 1, 0.11),
    ("v2", "gaussian_blur", "uint8"): (blurred, blurs, 1, 0.11),
    ("v1", "gaussian_blur", "float32"): (blurred, blurs, 1.8e-7, 0.41),
    ("v2", "gaussian_blur", "float32"): (blurred, blurs, 1.8e-7, 0.41),
    ("v1", "adjust_hue", "RGB"): (hue_of_pillow, hues, 16, 0.32),
    ("v2", "adjust_hue", "RGB"): (hue_of_pillow, hues, 16, 0.32),
    **{
        (api, "adjust_sharpness", mode): (sharpness_of_pillow, factors, 1, 1e-5)
        for api in ("v1", "v2")
        for mode in ("RGB", "L")
    },
}


def test_every_close_function_is_checked():
    listed = {(each.api, each.op, kind) for each in FUNCTIONS for kind in each.close}
    assert listed == set(CLOSE)


def taken(api, op, kind):
    source = "PIL" if kind in ("RGB", "L") else "tensor"
    (found,) = (each for each in FUNCTIONS if (each.api, each.op, each.image) == (api, op, source))
    return found.run


def differences(name):
    oracle, draw, *_ = CLOSE[name]
    run, rng = taken(*name), np.random.default_rng([7, *"".join(name).encode()])
    for size in SIZES:
        for n in range(DRAWS):
            image, arguments = image_of(name[2], size, seed=n), draw(rng, size)
            try:
                actual = run(image, *arguments)
            except ValueError:
                continue  # torchvision runs
            expected = oracle(image, *arguments)
            assert np.shape(actual) == np.shape(expected)
            yield np.abs(np.asarray(actual, np.float64) - np.asarray(expected, np.float64))


@pytest.mark.parametrize("name", CLOSE, ids=lambda name: "-".join(name))
def test_close_functions_are_near_their_formulas(name):
    *_, largest, fraction = CLOSE[name]
    found = np.concatenate([each.ravel() for each in differences(name)])
    assert found.size > 10_000
    assert found.max() <= largest
    assert (found > 0).mean() <= fraction


def test_a_blur_takes_width_before_height():
    image = torch.zeros(1, 9, 9)
    image[0, 4, 4] = 1
    blurred = functions.blur(image, [5, 1], [1.0, 1.0])[0]
    assert (blurred[4] > 0).sum() == 5
    assert (blurred[:, 4] > 0).sum() == 1
    wider = functions.blur(image, [5, 5], [2.0, 0.5])[0]
    assert wider[4, 2] > 10 * wider[2, 4] > 0


@pytest.mark.parametrize(
    "box", [(-1, 0, 4, 4), (0, -1, 4, 4), (3, 0, 4, 4), (0, 6, 4, 4), (0, 0, 7, 4), (0, 0, 4, 10)]
)
def test_a_crop_that_leaves_the_image_is_torchvisions(box):
    for image in (image_of("uint8", (6, 9), 0), image_of("RGB", (6, 9), 0)):
        with pytest.raises(ValueError, match="a part that leaves the image"):
            functions.resized_crop(image, *box, (3, 3))
        assert functions.resized_crop(image, 2, 5, 4, 4, (3, 3)) is not None


def test_of_pillows_numbers_of_filters_tensors_take_that_of_bilinear():
    image = image_of("uint8", (9, 12), 4)
    by_number = functions.resize_to(image, (5, 7), 2)
    assert torch.equal(by_number, functions.resize_to(image, (5, 7), "bilinear"))
    for number in (0, 1, 3, 4, 5):
        with pytest.raises(ValueError, match=f"^interpolation {number}$"):
            functions.resize_to(image, (5, 7), number)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda image: functions.solarize_from(image, -1), "a threshold below 0"),
        (lambda image: functions.blur(image, 3, 0.0), "expected sigma above 0, but got 0.0"),
        (lambda image: functions.blur(image, 3, [1.0, -1.0]), "expected sigma above 0, but got"),
        (
            lambda image: functions.blur(image, [3], 1.0),
            r"expected kernel_size as \(width, height\), but got",
        ),
    ],
)
def test_what_torchvision_takes_otherwise_or_refuses_is_left_to_it(run, message):
    with pytest.raises(ValueError, match=message):
        run(image_of("uint8", (9, 12), 0))
    assert functions.blur(image_of("uint8", (9, 12), 0), 3, [1.0]).shape == (3, 9, 12)


def test_a_largest_side_of_a_batch_is_refused():
    batch = ImageBatch.from_images([photograph(9, 12), photograph(5, 7)])
    with pytest.raises(ValueError, match="resize: expected max_size as None for an ImageBatch, but got 9"):
        batches.resize_batch(batch, (4, 6), max_size=9)
    assert batches.resize_batch(batch, (4, 6)).shape == (2, 3, 4, 6)
