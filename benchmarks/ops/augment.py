"""`augment` compared with handwritten OpenCV and NumPy: random crops to 224, flips, normalization."""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.augment import Output, Sampling, Values, augment
from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from tests.support import photograph
from tests.support.timing.benchmark import Case, Contender, Work, as_array, cv2
from tests.support.timing.by_hand import MEAN, STD, by_table, crops, in_place

IMAGES, SIDE = 64, 224


def draw_crops(images: list[Array]) -> tuple[Array, Array]:
    """The draws of RandomResizedCrop: left, top, right, bottom, int64 `[N, 4]`; and flips, bool `[N]`."""
    rng = np.random.default_rng(0)
    crops = []
    for height, width in (image.shape[:2] for image in images):
        area = height * width * rng.uniform(0.08, 1)
        ratio = np.exp(rng.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = min(width, round((area * ratio) ** 0.5)), min(height, round((area / ratio) ** 0.5))
        left, top = int(rng.integers(0, width - w + 1)), int(rng.integers(0, height - h + 1))
        crops.append((left, top, left + w, top + h))
    return np.array(crops), rng.random(len(images)) < 0.5


def matrices_of(crops: Array, flipped: Array) -> Tensor:
    """The matrices from output to crop, `[N, 2, 3]`."""
    scale = (crops[:, 2:] - crops[:, :2]) / SIDE
    matrices = np.zeros((len(crops), 2, 3))
    for axis in (0, 1):
        matrices[:, axis, axis], matrices[:, axis, 2] = scale[:, axis], 0.5 * scale[:, axis] - 0.5
    matrices[flipped, 0, 2] += (SIDE - 1) * scale[flipped, 0]
    matrices[flipped, 0, 0] *= -1
    return torch.from_numpy(matrices)


def prepare(device: str, dtype: torch.dtype) -> Work:
    draw = np.random.default_rng(1)
    sizes = draw.integers((330, 450), (400, 520), (IMAGES, 2)).tolist()
    images = [photograph(height, width, seed=n) for n, (height, width) in enumerate(sizes)]
    boxes, flipped = draw_crops(images)
    batch = ImageBatch.from_images(images)
    matrices, regions = matrices_of(boxes, flipped), torch.from_numpy(boxes)
    options = (SIDE, SIDE), Sampling(border="replicate", regions=regions), Values(mean=MEAN, std=STD)
    expected = as_array(augment(batch, matrices, *options, Output(dtype)).float())
    moved, matrices, regions = batch.to(device), matrices.to(device), regions.to(device)
    size, sampling, values = options
    sampling = sampling._replace(regions=regions)

    def run(**kind: Any) -> Tensor:
        result: Tensor = augment(moved, matrices, size, sampling, values, Output(**kind))
        return result

    buffer = run(dtype=dtype)
    name = str(dtype).removeprefix("torch.")
    contenders = [
        Contender(f"orbbec, {name}", partial(run, dtype=dtype), exact=dtype == torch.float32),
        Contender(f"orbbec, {name}, out=", lambda: run(out=buffer), exact=dtype == torch.float32),
    ]
    if cv2 is not None and device == "cpu":
        finishes = {"cv2's table": by_table} | (
            {"NumPy in place": in_place} if dtype == torch.float32 else {}
        )
        for way, finish in finishes.items():
            by_hand = crops(images, boxes, flipped, SIDE, finish, name)
            contenders.insert(0, Contender(f"cv2 and {way}", by_hand, exact=False, least_psnr=45))
    pixels = int((boxes[:, 2:] - boxes[:, :2]).prod(1).sum())
    moved_bytes = 3 * (pixels + IMAGES * SIDE * SIDE * buffer.element_size())
    return Work(contenders, expected, images=IMAGES, moved_bytes=moved_bytes)


CASES = [
    Case(f"crop of 500x375 to 224, flip, normalize to {str(dtype)[6:]}", partial(prepare, dtype=dtype))
    for dtype in (torch.float32, torch.float16)
]
