"""What Pillow and OpenCV decode of what they encoded, and random images for both. Needs `cv2` or `PIL`."""

import io
from collections.abc import Callable

import numpy as np

import orbbec
from orbbec.binding.arguments import Array
from orbbec.testing.peers import Line, Random, draw_image

SAMPLING = {"420": (2, 0x221111), "444": (0, 0x111111)}  # Pillow's number and OpenCV's


def by_pillow(image: Array, quality: int, subsampling: str) -> Array:
    """`[H, W]` or `[H, W, 3]` RGB, as those of `jpeg_compression`."""
    from PIL import Image

    file = io.BytesIO()
    options = {"subsampling": SAMPLING[subsampling][0]} if image.ndim == 3 else {}
    Image.fromarray(image).save(file, "JPEG", quality=quality, **options)
    return np.asarray(Image.open(file))


def by_opencv(image: Array, quality: int, subsampling: str) -> Array:
    """`[H, W]` or `[H, W, 3]` RGB, as those of `jpeg_compression`."""
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    if image.ndim == 3:
        options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLING[subsampling][1]]
    _, code = cv2.imencode(".jpg", image[..., ::-1] if image.ndim == 3 else image, options)
    decoded = cv2.imdecode(code, cv2.IMREAD_UNCHANGED)
    assert decoded is not None
    return decoded[..., ::-1] if image.ndim == 3 else decoded


def _line(author: str, call: Callable[[Array, int, str], Array], subsampling: str) -> Line:
    def answers(rng: Random) -> tuple[Array, Array]:
        image = draw_image(rng, (1, 3), most=200)
        image = image[..., 0].copy() if image.shape[2] == 1 else image
        quality = int(rng.integers(1, 101))
        actual = orbbec.jpeg_compression(image, quality, subsampling=subsampling)
        return actual, call(image, quality, subsampling)

    return Line("jpeg_compression", f"uint8 4:{subsampling[1]}:{subsampling[2]}", author, True, answers)


LINES = [
    _line(author, call, subsampling)
    for author, call in (("OpenCV", by_opencv), ("Pillow", by_pillow))
    for subsampling in SAMPLING
]
