"""`nms_rotated` compared with OpenCV's suppression of rotated rectangles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from orbbec.nms.rotated import nms_rotated
from tests.support.boxes import random_rotated_boxes
from tests.support.timing.benchmark import Case, Contender, Work, cv2

THRESHOLD = 0.5
MOST_FOR_RIVALS = 1000  # larger runs of theirs take seconds


def prepare(count: int) -> Callable[[str], Work]:
    def work(device: str) -> Work:
        boxes, scores = (values.to(device) for values in random_rotated_boxes(count))
        expected = nms_rotated(*random_rotated_boxes(count), THRESHOLD).numpy()
        contenders = [Contender("orbbec", lambda: nms_rotated(boxes, scores, THRESHOLD))]
        if cv2 is not None and device == "cpu" and count <= MOST_FOR_RIVALS:
            # OpenCV angles are clockwise.
            rows = [((x, y), (w, h), -angle) for x, y, w, h, angle in boxes.tolist()]
            listed = scores.tolist()

            def by_cv2() -> Any:
                return np.asarray(cv2.dnn.NMSBoxesRotated(rows, listed, 0.0, THRESHOLD))

            contenders.insert(0, Contender("cv2.dnn", by_cv2, exact=False))
        return Work(contenders, expected, 1, boxes.nbytes + scores.nbytes, unit="per call")

    return work


CASES = [Case(f"{count:,} boxes", prepare(count)) for count in (1000, 5000, 20000)]
