"""Random color changes by OpenCV, Pillow or torchvision, and by orbbec."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import orbbec
from orbbec.bridge.arguments import Array
from tests.support.peers.peers import TORCHVISION, Line, Random, draw_image

SPACES = ("GRAY", "HSV", "HLS", "YCrCb", "YUV", "LAB")
Answers = tuple[Array, Array]


def conversion(source: str, target: str, dtype: str) -> Line:
    def answers(rng: Random) -> Answers:
        import cv2

        image = draw_image(rng, (1 if source == "GRAY" else 3,), dtype)
        if dtype == "float32" and source in ("HSV", "HLS"):
            image[..., 0] *= 360
        expected = cv2.cvtColor(image, getattr(cv2, f"COLOR_{source}2{target}"))
        actual = np.asarray(orbbec.cvt_color(image, source, target)).reshape(expected.shape)
        if dtype == "float32" and target in ("HSV", "HLS"):  # 359.99 and 0 degrees are neighbors
            actual[..., 0] += 360 * np.round((expected[..., 0] - actual[..., 0]) / 360)
        return actual, expected

    promised = dtype == "uint8" and target != "HLS"
    return Line("cvt_color", f"{dtype} {source} to {target}", "OpenCV", promised, answers)


def by_opencv(op: str, call: Callable[..., Answers]) -> Line:
    return Line(op, "uint8", "OpenCV", True, lambda rng: call(rng, draw_image(rng, (1,))[..., 0]))


def equalize_hist(rng: Random, image: Array) -> Answers:
    import cv2

    return orbbec.equalize_hist(image), np.asarray(cv2.equalizeHist(image))


def clahe(rng: Random, image: Array) -> Answers:
    import cv2

    limit = float(rng.choice((0.0, rng.uniform(0.5, 5), 40.0)))
    rows, columns = (int(n) for n in rng.integers(1, 9, 2))
    expected = cv2.createCLAHE(limit, (columns, rows)).apply(image)
    return orbbec.clahe(image, limit, (rows, columns)), np.asarray(expected)


def lut(rng: Random, image: Array) -> Answers:
    import cv2

    table = rng.integers(0, 256, 256).astype(np.uint8)
    return orbbec.lut(image, table), np.asarray(cv2.LUT(image, table))


def by_pillow(op: str, *draw: Callable[[Random], Any]) -> Line:
    def answers(rng: Random) -> Answers:
        from PIL import Image, ImageOps

        image = draw_image(rng, (3,))
        arguments = [of(rng) for of in draw]
        expected = getattr(ImageOps, op)(Image.fromarray(image), *arguments)
        return getattr(orbbec, op)(image, *arguments), np.asarray(expected)

    return Line(op, "uint8", "Pillow", op != "autocontrast", answers)


# The arguments of torchvision's functional of the same name, drawn for uint8 or for floats.
ADJUSTMENTS: dict[str, Callable[[Random, bool], tuple[Any, ...]]] = {
    "adjust_brightness": lambda rng, floats: (float(rng.uniform(0, 3)),),
    "adjust_contrast": lambda rng, floats: (float(rng.uniform(0, 3)),),
    "adjust_saturation": lambda rng, floats: (float(rng.uniform(0, 3)),),
    "adjust_hue": lambda rng, floats: (float(rng.uniform(-0.5, 0.5)),),
    "adjust_gamma": lambda rng, floats: (float(rng.uniform(0.2, 3)), float(rng.uniform(0.5, 2))),
    "adjust_sharpness": lambda rng, floats: (float(rng.uniform(0, 3)),),
    "invert": lambda rng, floats: (),
    "posterize": lambda rng, floats: (int(rng.integers(0, 9)),),
    "solarize": lambda rng, floats: (float(rng.random()) if floats else int(rng.integers(0, 256)),),
    "autocontrast": lambda rng, floats: (),
    "equalize": lambda rng, floats: (),
}
# For floats, torchvision's sums, convolutions and powers differ in the last bits.
INEXACT_FLOATS = ("adjust_contrast", "adjust_gamma", "adjust_sharpness")


def by_torchvision(op: str, dtype: str) -> Line:
    def answers(rng: Random) -> Answers:
        functional = importlib.import_module(TORCHVISION)
        image = torch.from_numpy(draw_image(rng, (1, 3), dtype)).permute(2, 0, 1).contiguous()
        arguments = ADJUSTMENTS[op](rng, dtype == "float32")
        expected = getattr(functional, op)(image, *arguments)
        return getattr(orbbec, op)(image, *arguments).numpy(), expected.numpy()

    return Line(op, dtype, "torchvision", dtype == "uint8" or op not in INEXACT_FLOATS, answers)


def normalized(dtype: torch.dtype) -> Line:
    def answers(rng: Random) -> Answers:
        functional = importlib.import_module(TORCHVISION)
        image = torch.from_numpy(draw_image(rng, (3,))).permute(2, 0, 1).contiguous()
        mean, std = rng.uniform(0.3, 0.6, 3).tolist(), rng.uniform(0.1, 0.4, 3).tolist()
        floats = functional.to_dtype(image, dtype, scale=True)
        expected = functional.normalize(floats, mean, std)
        actual = orbbec.normalize(image, mean, std, dtype=dtype)
        return actual.float().numpy(), expected.float().numpy()

    return Line("normalize", f"uint8 to {str(dtype)[6:]}", "torchvision", dtype == torch.float32, answers)


_PAIRS = [
    pair for space in SPACES for pair in (("RGB", space), (space, "RGB"), ("BGR", space), (space, "BGR"))
]
LINES = [
    *(conversion(*pair, "uint8") for pair in [*_PAIRS, ("RGB", "BGR")]),
    *(conversion(*pair, "float32") for pair in _PAIRS if "LAB" not in pair and "RGB" in pair),
    by_opencv("equalize_hist", equalize_hist),
    by_opencv("clahe", clahe),
    by_opencv("lut", lut),
    by_pillow("invert"),
    by_pillow("equalize"),
    by_pillow("posterize", lambda rng: int(rng.integers(1, 9))),
    by_pillow("solarize", lambda rng: int(rng.integers(0, 256))),
    by_pillow("autocontrast"),
    *(by_torchvision(op, "uint8") for op in ADJUSTMENTS),
    *(by_torchvision(op, "float32") for op in ADJUSTMENTS if op not in ("autocontrast", "equalize")),
    *(normalized(dtype) for dtype in (torch.float32, torch.float16)),
]
