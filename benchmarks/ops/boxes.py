"""The overlaps of all pairs of boxes compared with the same in torch, one operation at a time."""

from functools import partial

import torch
from torch import Tensor

from orbbec.nms.boxes import box_iou, box_iou_rotated, generalized_box_iou
from tests.support.boxes import random_boxes, random_rotated_boxes
from tests.support.timing.benchmark import Case, Contender, Work, torchvision


def by_torch(first: Tensor, second: Tensor, generalized: bool) -> Tensor:
    def area(sides: Tensor) -> Tensor:
        return sides[..., 0] * sides[..., 1]

    inner = torch.min(first[:, None, 2:], second[:, 2:]) - torch.max(first[:, None, :2], second[:, :2])
    shared = area(inner.clamp(min=0))
    union = area(first[:, 2:] - first[:, :2])[:, None] + area(second[:, 2:] - second[:, :2]) - shared
    if not generalized:
        return shared / union
    outer = torch.max(first[:, None, 2:], second[:, 2:]) - torch.min(first[:, None, :2], second[:, :2])
    hull = area(outer.clamp(min=0))
    return shared / union - (hull - union) / hull


def prepare(rows: int, columns: int, generalized: bool, device: str) -> Work:
    first, second = random_boxes(rows)[0], random_boxes(columns, seed=1)[0]
    measure = generalized_box_iou if generalized else box_iou
    expected = measure(first, second).numpy()
    first, second = first.to(device), second.to(device)
    contenders = [
        Contender("torch", partial(by_torch, first, second, generalized)),
        Contender("orbbec", lambda: measure(first, second)),
    ]
    if torchvision is not None:
        of_torchvision = getattr(torchvision.ops, measure.__name__)
        contenders.insert(0, Contender("torchvision", partial(of_torchvision, first, second)))
    return Work(contenders, expected, images=1, moved_bytes=4 * rows * columns, unit="per call")


def prepare_rotated(rows: int, columns: int, device: str) -> Work:
    first, second = random_rotated_boxes(rows)[0], random_rotated_boxes(columns, seed=1)[0]
    expected = box_iou_rotated(first, second).numpy()
    first, second = first.to(device), second.to(device)
    contender = Contender("orbbec", lambda: box_iou_rotated(first, second))
    return Work([contender], expected, images=1, moved_bytes=4 * rows * columns, unit="per call")


CASES = [
    Case("box_iou, 100 x 100", partial(prepare, 100, 100, False)),
    Case("box_iou, 2000 x 2000", partial(prepare, 2000, 2000, False)),
    Case("generalized_box_iou, 2000 x 2000", partial(prepare, 2000, 2000, True)),
    Case("box_iou_rotated, 1000 x 1000", partial(prepare_rotated, 1000, 1000)),
]
