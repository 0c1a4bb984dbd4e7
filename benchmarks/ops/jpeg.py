"""`jpeg_compression` compared with encoding and decoding by cv2, simplejpeg and Pillow."""

import importlib
import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

import orbbec
from orbbec.bridge.arguments import Array
from tests.support import photograph
from tests.support.timing.benchmark import Case, Contender, Image, Work, as_array, cv2, share

try:
    simplejpeg: Any = importlib.import_module("simplejpeg")
except ImportError:
    simplejpeg = None

IMAGES = 8
# cv2's and Pillow's names of a sampling.
SAMPLING = {"420": (0x221111, 2), "444": (0x111111, 0)}


def by_cv2(quality: int, subsampling: str, image: Array) -> Array:
    options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, SAMPLING[subsampling][0]]
    code = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)[1]
    return np.asarray(cv2.imdecode(code, cv2.IMREAD_COLOR_RGB))


def by_simplejpeg(quality: int, subsampling: str, image: Array) -> Array:
    code = simplejpeg.encode_jpeg(image, quality, "RGB", subsampling, fastdct=False)
    return np.asarray(simplejpeg.decode_jpeg(code, fastdct=False))


def by_pillow(quality: int, subsampling: str, image: Array) -> Array:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality, subsampling=SAMPLING[subsampling][1])
    return np.asarray(Image.open(file))


def prepare(size: tuple[int, int], quality: int, subsampling: str, device: str) -> Work:
    """A batch of uint8 photographs; the others take one image per call."""
    arrays = [photograph(*size, seed=n) for n in range(IMAGES)]
    stacked = torch.from_numpy(np.stack(arrays))
    last = stacked.permute(0, 3, 1, 2).to(device)
    planar = last.contiguous()

    def ours(images: Any) -> Any:
        return orbbec.jpeg_compression(images, quality, subsampling=subsampling)

    def loop(one: Callable[[Array], Array]) -> list[Array]:
        return share(one, arrays)

    contenders = []
    if cv2 is not None:
        contenders.append(Contender("cv2", partial(loop, partial(by_cv2, quality, subsampling))))
    if simplejpeg is not None:
        # Measured: 33 to 37 dB, since its coefficients are rounded differently; as close to the photographs
        # as cv2's.
        by_hand = partial(loop, partial(by_simplejpeg, quality, subsampling))
        contenders.append(Contender("simplejpeg", by_hand, exact=False, least_psnr=30))
    if Image is not None:
        contenders.append(Contender("Pillow", partial(loop, partial(by_pillow, quality, subsampling))))
    contenders += [
        Contender("orbbec, channels_last tensor", lambda: ours(last)),
        Contender("orbbec, NCHW tensor", lambda: ours(planar)),
    ]
    return Work(contenders, as_array(ours(last)), IMAGES, 2 * stacked.numel())


CASES = [
    Case("jpeg 4:2:0, quality 75, 512x512", partial(prepare, (512, 512), 75, "420")),
    Case("jpeg 4:4:4, quality 75, 512x512", partial(prepare, (512, 512), 75, "444")),
    Case("jpeg 4:2:0, quality 30, 224x224", partial(prepare, (224, 224), 30, "420")),
]
