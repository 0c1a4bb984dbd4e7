"""Images that Pillow and OpenCV encode and decode, and random inputs. Needs `cv2` or `PIL`."""

import io
from collections.abc import Callable

import numpy as np

import orbbec
from orbbec.bridge.arguments import Array
from orbbec.data import decode_planes
from tests.support.peers.peers import Line, Random, draw_image

SAMPLING = {"420": 2, "444": 0}  # of `jpeg_compression`, and Pillow's number
FACTORS = {"444": 0x111111, "422": 0x211111, "440": 0x121111, "420": 0x221111}  # OpenCV's numbers


def by_pillow(image: Array, quality: int, subsampling: str) -> Array:
    """`[H, W]` or `[H, W, 3]` RGB, as those of `jpeg_compression`."""
    from PIL import Image

    file = io.BytesIO()
    options = {"subsampling": SAMPLING[subsampling]} if image.ndim == 3 else {}
    Image.fromarray(image).save(file, "JPEG", quality=quality, **options)
    return np.asarray(Image.open(file))


def by_opencv(image: Array, quality: int, subsampling: str) -> Array:
    """`[H, W]` or `[H, W, 3]` RGB, as those of `jpeg_compression`."""
    decoded = decoded_by_opencv(encoded(image, quality, subsampling))
    return decoded if image.ndim == 3 else decoded[..., 0]


def encoded(image: Array, quality: int, sampling: str) -> bytes:
    """A JPEG of `[H, W]` or `[H, W, 3]` RGB, by OpenCV; `sampling` is one of `FACTORS`."""
    import cv2

    options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    if image.ndim == 3:
        options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, FACTORS[sampling]]
    _, code = cv2.imencode(".jpg", image[..., ::-1] if image.ndim == 3 else image, options)
    return code.tobytes()


def decoded_by_opencv(data: bytes) -> Array:
    """RGB `[H, W, 3]`."""
    import cv2

    decoded = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    assert decoded is not None
    return decoded[..., ::-1]


def _line(author: str, call: Callable[[Array, int, str], Array], subsampling: str) -> Line:
    def answers(rng: Random) -> tuple[Array, Array]:
        image = draw_image(rng, (1, 3), most=200)
        image = image[..., 0].copy() if image.shape[2] == 1 else image
        quality = int(rng.integers(1, 101))
        actual = orbbec.jpeg_compression(image, quality, subsampling=subsampling)
        return actual, call(image, quality, subsampling)

    return Line("jpeg_compression", f"uint8 4:{subsampling[1]}:{subsampling[2]}", author, True, answers)


def _line_of_planes(sampling: str) -> Line:
    def answers(rng: Random) -> tuple[Array, Array]:
        data = encoded(draw_image(rng, (3,), most=200), int(rng.integers(1, 101)), sampling)
        return orbbec.ycbcr_to_rgb(decode_planes([data])).numpy()[0], decoded_by_opencv(data)

    return Line("ycbcr_to_rgb", f"4:{sampling[1]}:{sampling[2]}", "OpenCV", True, answers)


LINES = [
    *(
        _line(author, call, subsampling)
        for author, call in (("OpenCV", by_opencv), ("Pillow", by_pillow))
        for subsampling in SAMPLING
    ),
    *map(_line_of_planes, FACTORS),
]
