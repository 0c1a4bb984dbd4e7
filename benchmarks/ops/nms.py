"""`nms` and `batched_nms` compared with torchvision's, if it can be imported, and OpenCV's."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from orbbec.nms import batched_nms, nms
from tests.support.boxes import random_boxes
from tests.support.timing.benchmark import Case, Contender, Work, cv2, torchvision

THRESHOLD = 0.5
MOST_FOR_RIVALS = 20_000  # larger runs of theirs take half a minute
CLASSES = 80


def plain(count: int) -> Callable[[str], Work]:
    def prepare(device: str) -> Work:
        boxes, scores = (values.to(device) for values in random_boxes(count))
        expected = nms(*random_boxes(count), THRESHOLD).numpy()

        def contenders() -> Iterator[Contender]:
            if torchvision is not None and count <= MOST_FOR_RIVALS:
                yield Contender("torchvision", lambda: torchvision.ops.nms(boxes, scores, THRESHOLD))
            if cv2 is not None and device == "cpu" and count <= MOST_FOR_RIVALS:
                yield Contender("cv2.dnn", by_cv2(boxes, scores), exact=False)
            yield Contender("orbbec", lambda: nms(boxes, scores, THRESHOLD))
            yield Contender(
                "orbbec, max_output",
                lambda: nms(boxes, scores, THRESHOLD, max_output=count)[0][: len(expected)],
            )

        return Work(
            list(contenders()), expected, images=1, moved_bytes=boxes.nbytes + scores.nbytes, unit="per call"
        )

    return prepare


def by_cv2(boxes: torch.Tensor, scores: torch.Tensor) -> Callable[[], Any]:
    rows = torch.cat((boxes[:, :2], boxes[:, 2:] - boxes[:, :2]), dim=1).double().numpy()
    listed, of_boxes = rows.tolist(), scores.tolist()
    return lambda: np.asarray(cv2.dnn.NMSBoxes(listed, of_boxes, 0.0, THRESHOLD))


def batched(count: int) -> Callable[[str], Work]:
    def prepare(device: str) -> Work:
        boxes, scores = (values.to(device) for values in random_boxes(count))
        groups = torch.randint(0, CLASSES, (count,), generator=torch.Generator().manual_seed(1))
        expected = batched_nms(*random_boxes(count), groups, THRESHOLD).numpy()
        groups = groups.to(device)
        contenders = [Contender("orbbec", lambda: batched_nms(boxes, scores, groups, THRESHOLD))]
        if torchvision is not None:
            ops = torchvision.ops
            contenders.insert(
                0,
                Contender(
                    "torchvision", lambda: ops.batched_nms(boxes, scores, groups, THRESHOLD), exact=False
                ),
            )
        return Work(contenders, expected, images=1, moved_bytes=boxes.nbytes + scores.nbytes, unit="per call")

    return prepare


CASES = [Case(f"{count:,} boxes", plain(count)) for count in (1000, 5000, 20000, 100000)]
CASES += [Case(f"{count:,} boxes, {CLASSES} classes", batched(count)) for count in (1000, 5000, 20000)]
