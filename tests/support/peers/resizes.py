"""Random resizes by OpenCV or Pillow, and by orbbec.

Sizes are from 1 to 120 pixels, with integer and other factors in both directions; 1, 3 or 4 channels; noise
and extreme values. OpenCV runs without Intel's IPP, whose results differ for cubic uint8 and for float32.
Needs `cv2` for OpenCV's methods and `PIL` for `antialias`.
"""

from dataclasses import dataclass

import numpy as np

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.peers.peers import Line

CV2_METHODS = {
    "nearest": 0,
    "linear": 1,
    "cubic": 2,
    "area": 3,
    "lanczos4": 4,
    "linear_exact": 5,
    "nearest_exact": 6,
}
PILLOW_METHODS = {"lanczos": 1, "linear": 2, "cubic": 3, "box": 4, "hamming": 5}
CV2_DTYPES = ("uint8", "uint16", "float32", "float64")
PILLOW_DTYPES = ("uint8", "uint16", "float32")


@dataclass(frozen=True)
class Resize:
    """One call; `box` is Pillow's, in pixels."""

    image: Array  # [H, W, C]
    size: tuple[int, int]
    box: tuple[float, float, float, float] | None


def draw_size(rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
    """Source and output `(height, width)`."""
    source = rng.integers(1, 120, 2)
    kind = rng.integers(4)
    if kind == 0:
        target = rng.integers(1, 200, 2)
    elif kind == 1:
        factors = rng.integers(1, 6, 2) if rng.random() < 0.5 else np.full(2, rng.integers(2, 5))
        target = np.maximum(source // factors, 1)
        source = target * factors
    elif kind == 2:
        target = (source * rng.uniform(1, 4, 2)).astype(int) + 1
    else:
        target = np.maximum((source * rng.uniform(0.1, 1, 2)).astype(int), 1)
    return (int(source[0]), int(source[1])), (int(target[0]), int(target[1]))


def draw(rng: np.random.Generator, dtype: str, antialias: bool) -> Resize:
    """A random call; Pillow's 16-bit and float images have one channel."""
    source, target = draw_size(rng)
    channels = int(rng.choice((1, 3, 4))) if dtype == "uint8" or not antialias else 1
    shape = (*source, channels)
    if np.dtype(dtype).kind == "u":
        top = np.iinfo(dtype).max
        noise = rng.random() < 0.7
        image = (rng.integers(0, top + 1, shape) if noise else rng.choice([0, top], shape)).astype(dtype)
    else:
        image = (rng.standard_normal(shape) * 10.0 ** rng.uniform(-1, 3)).astype(dtype)
    box = None
    if antialias and rng.random() < 0.5:
        x, y = (np.sort(rng.uniform(0, side, 2)) for side in (source[1], source[0]))
        if x[1] - x[0] > 0.5 and y[1] - y[0] > 0.5:
            box = (float(x[0]), float(y[0]), float(x[1]), float(y[1]))
    return Resize(image, target, box)


def opencv_answer(call: Resize, interpolation: str) -> Array:
    """By `cv2.resize`, without IPP."""
    import cv2

    cv2.ipp.setUseIPP(False)
    resized = cv2.resize(call.image, call.size[::-1], interpolation=CV2_METHODS[interpolation])
    return np.asarray(resized).reshape(*call.size, call.image.shape[2])


def pillow_answer(call: Resize, interpolation: str) -> Array:
    """By `PIL.Image.resize`; four channels as CMYK, which has no alpha."""
    from PIL import Image

    channels = call.image.shape[2]
    array = call.image[..., 0] if channels == 1 else call.image
    if channels == 4:
        image = Image.frombytes("CMYK", array.shape[1::-1], array.tobytes())
    else:
        image = Image.fromarray(array)
    method = Image.Resampling(PILLOW_METHODS[interpolation])
    return np.asarray(image.resize(call.size[::-1], method, call.box)).reshape(*call.size, channels)


def orbbec_answer(call: Resize, interpolation: str, antialias: bool, arithmetic: str) -> Array:
    """By `orbbec.resize`, or by `orbbec.resized_crop` if there is a box."""
    if call.box is None:
        resized: Array = orbbec.resize(
            call.image, call.size, interpolation=interpolation, antialias=antialias, arithmetic=arithmetic
        )
        return resized
    cropped: Array = orbbec.resized_crop(
        call.image,
        np.array(call.box),
        call.size,
        interpolation=interpolation,
        antialias=antialias,
        arithmetic=arithmetic,
    )
    return cropped


def _line(dtype: str, interpolation: str, antialias: bool) -> Line:
    def answers(rng: np.random.Generator) -> tuple[Array, Array]:
        call = draw(rng, dtype, antialias)
        expected = (pillow_answer if antialias else opencv_answer)(call, interpolation)
        return orbbec_answer(call, interpolation, antialias, installed_arithmetic(antialias)), expected

    form = f"{dtype} {interpolation}{', antialias' if antialias else ''}"
    # Their sine differs in the last bits, which is invisible in bytes.
    promised = not (antialias and dtype != "uint8" and interpolation in ("lanczos", "hamming"))
    return Line("resize", form, "Pillow" if antialias else "OpenCV", promised, answers)


def installed_arithmetic(antialias: bool) -> str:
    """The name of the arithmetic of the installed Pillow or OpenCV."""
    if not antialias:
        from tests.support.peers import opencv

        return opencv.arithmetic()
    import PIL

    return "pillow_13" if int(PIL.__version__.split(".")[0]) >= 13 else "pillow_12"


LINES = [
    *(_line(dtype, name, False) for dtype in CV2_DTYPES for name in CV2_METHODS),
    *(_line(dtype, name, True) for dtype in PILLOW_DTYPES for name in PILLOW_METHODS),
]
