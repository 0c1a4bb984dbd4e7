"""`nms`, `soft_nms`, `batched_nms` compared with cv2 on a photograph. Exits with 1 if they differ."""

import sys

import cv2
import numpy as np
import numpy.typing as npt
import torch
from comparison import is_same, save_side_by_side
from photographs import Image, load_photograph

from orbbec import batched_nms, nms, soft_nms

COIN = (slice(176, 224), slice(75, 123))  # rows and columns of one of the coins
LEAST_LIKENESS = 0.6  # normalized correlation
THRESHOLD = 0.3
LEAST_SCORE = 0.35  # of soft_nms
SIGMA = 0.5
SCALES = (0.9, 1.0, 1.15, 1.35)

Rows = npt.NDArray[np.float32]


def find_coins(image: Image) -> Rows:
    """Windows that look like one of the coins, many per coin: `[N, 5]`, x1 y1 x2 y2 likeness."""
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    found = []
    for scale in SCALES:
        coin = cv2.resize(gray[COIN], None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        likeness = cv2.matchTemplate(gray, coin, cv2.TM_CCOEFF_NORMED)
        y, x = np.nonzero(likeness > LEAST_LIKENESS)
        rows = np.stack([x, y, x + coin.shape[1], y + coin.shape[0], likeness[y, x]], axis=1)
        found.append(rows.astype(np.float32))
    return np.concatenate(found)


def by_cv2_softly(rows: Rows) -> tuple[npt.NDArray[np.int64], Rows]:
    """The boxes that `cv2.dnn` keeps in soft suppression, and their scores. Its boxes are whole pixels."""
    boxes = np.concatenate([rows[:, :2], rows[:, 2:4] - rows[:, :2]], axis=1).astype(int)
    scores, kept = cv2.dnn.softNMSBoxes(boxes.tolist(), rows[:, 4].tolist(), LEAST_SCORE, THRESHOLD, 0, SIGMA)
    return np.asarray(kept, np.int64).ravel(), np.asarray(scores, np.float32).ravel()


def by_cv2(rows: Rows, groups: npt.NDArray[np.int64] | None = None) -> npt.NDArray[np.int64]:
    """The boxes that `cv2.dnn` keeps, by descending score."""
    boxes = np.concatenate([rows[:, :2], rows[:, 2:4] - rows[:, :2]], axis=1).astype(np.float64)
    arguments = (boxes.tolist(), rows[:, 4].tolist())
    if groups is None:
        return np.asarray(cv2.dnn.NMSBoxes(*arguments, 0.0, THRESHOLD), np.int64)
    kept = np.asarray(cv2.dnn.NMSBoxesBatched(*arguments, groups.tolist(), 0.0, THRESHOLD), np.int64)
    return kept[np.argsort(-rows[kept, 4], kind="stable")]


def draw(image: Image, rows: Rows) -> Image:
    picture = image.copy()
    for x1, y1, x2, y2 in rows[:, :4].astype(int).tolist():
        cv2.rectangle(picture, (x1, y1), (x2, y2), (255, 200, 0), 1)
    return picture


def main() -> bool:
    image = load_photograph("coins")
    dets = find_coins(image)
    boxes, scores = torch.from_numpy(dets[:, :4]), torch.from_numpy(dets[:, 4])
    groups = np.arange(len(dets)) % 2

    kept, inds = nms(dets, THRESHOLD)
    new_dets, soft_inds = soft_nms(dets, THRESHOLD, method="gaussian", sigma=SIGMA, min_score=LEAST_SCORE)
    rows, keep = batched_nms(boxes, scores, torch.from_numpy(groups), {"type": "nms", "iou_thr": THRESHOLD})

    expected = by_cv2(dets)
    soft_expected, soft_scores = by_cv2_softly(dets)
    difference = np.abs(new_dets[:, 4] - soft_scores).max() if len(new_dets) == len(soft_scores) else np.inf
    print(f"{len(dets)} windows, {len(kept)} after nms, {len(new_dets)} after soft_nms")
    save_side_by_side("test_nms", [image, draw(image, dets), draw(image, kept)])
    checks = [
        is_same(f"nms and cv2 {cv2.__version__}, positions", inds, expected),
        is_same("nms of boxes and scores, positions", nms(boxes, scores, THRESHOLD).numpy(), expected),
        is_same("nms, rows", kept, dets[expected]),
        is_same("soft_nms and cv2, positions", soft_inds, soft_expected),
        is_same("batched_nms and cv2, positions", keep.numpy(), by_cv2(dets, groups)),
        is_same("batched_nms, rows", rows.numpy(), dets[keep.numpy()]),
    ]
    # Their float32 exponentials differ: 6e-8 was seen, one unit in the last place.
    print(f"soft_nms and cv2, scores: differ at most by {difference:.1g}")
    return all(checks) and difference < 1e-7


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
