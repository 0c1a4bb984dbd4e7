"""`soft_nms` and `matrix_nms` compared with `cv2.dnn.softNMSBoxes` and loops in NumPy and torch."""

from functools import partial

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.nms.boxes import box_iou
from orbbec.nms.soft import matrix_nms, soft_nms
from tests.support.timing.benchmark import Case, Contender, Work, cv2


def whole_boxes(count: int) -> tuple[Tensor, Tensor]:
    """Integer boxes, as cv2 requires, in groups of about ten that overlap; all scores are distinct."""
    draw = np.random.default_rng(0)
    corner = draw.integers(0, int(20 * count**0.5), (count, 2))
    boxes = np.concatenate([corner, corner + draw.integers(10, 100, (count, 2))], 1)
    return torch.tensor(boxes).float(), torch.tensor(draw.permutation(count) / count).float()


def by_numpy(boxes: Array, scores: Array, method: str) -> Array:
    """A loop over boxes, with NumPy for the work of each."""
    left, scores, taken = np.arange(len(boxes)), scores.copy(), []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while len(left):
        best = left[scores[left].argmax()]
        taken.append(best)
        left = left[left != best]
        sides = np.minimum(boxes[best, 2:], boxes[left, 2:]) - np.maximum(boxes[best, :2], boxes[left, :2])
        shared = np.maximum(sides, 0).prod(1)
        iou = shared / (area[best] + area[left] - shared)
        linear = np.where(iou >= np.float32(0.3), 1 - iou, np.float32(1))
        scores[left] *= linear if method == "linear" else np.exp(-(iou * iou) / np.float32(0.5))
        left = left[scores[left] >= np.float32(1e-3)]
    return np.array(taken)


def prepare(count: int, method: str, device: str) -> Work:
    boxes, scores = whole_boxes(count)
    expected = soft_nms(boxes, scores, method=method)[1].numpy()
    on_device = boxes.to(device), scores.to(device)
    contenders = []
    if cv2 is not None and device == "cpu":
        corners, sides = boxes[:, :2].int().tolist(), (boxes[:, 2:] - boxes[:, :2]).int().tolist()
        rectangles, ranks = [[*a, *b] for a, b in zip(corners, sides, strict=True)], scores.tolist()
        by = getattr(cv2.dnn, f"SoftNMSMethod_SOFTNMS_{method.upper()}")

        def by_cv2() -> Array:
            _, indices = cv2.dnn.softNMSBoxes(rectangles, ranks, 1e-3, 0.3, 0, 0.5, by)
            return np.asarray(indices, np.int64).reshape(-1)

        # Its linear scores differ by 1e-7, and an IoU equal to the threshold lowers no score: the order
        # differs.
        exact = method == "gaussian"
        contenders.append(Contender("cv2.dnn.softNMSBoxes, lists", by_cv2, exact))
    contenders += [
        Contender("NumPy", partial(by_numpy, boxes.numpy(), scores.numpy(), method)),
        Contender("orbbec", lambda: soft_nms(*on_device, method=method)[1]),
    ]
    return Work(contenders, expected, images=1, moved_bytes=24 * count, unit="per call")


def by_torch(boxes: Tensor, scores: Tensor) -> Tensor:
    """All pairs in one operation each."""
    scores, order = scores.sort(descending=True, stable=True)
    iou = box_iou(boxes[order], boxes[order]).triu(1)
    own = iou.amax(0)[:, None]
    lowered = scores * torch.exp(2 * (own**2 - iou**2)).amin(0).clamp(max=1)
    return order[lowered.sort(descending=True, stable=True)[1]]


def prepare_matrix(count: int, device: str) -> Work:
    boxes, scores = whole_boxes(count)
    expected = matrix_nms(boxes, scores)[1].numpy()
    on_device = boxes.to(device), scores.to(device)
    contenders = [
        Contender("torch, all pairs", partial(by_torch, *on_device), exact=False),
        Contender("orbbec", lambda: matrix_nms(*on_device)[1]),
    ]
    return Work(contenders, expected, images=1, moved_bytes=24 * count, unit="per call")


CASES = [
    Case(f"{method}, {count} boxes", partial(prepare, count, method))
    for method in ("linear", "gaussian")
    for count in (100, 1000, 5000)
] + [Case(f"matrix, gaussian, {count} boxes", partial(prepare_matrix, count)) for count in (100, 1000, 5000)]
