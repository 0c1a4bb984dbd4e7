"""Soft-NMS and matrix NMS in NumPy, written from their definitions, one box at a time."""

import numpy as np


def iou_with(box, others, offset):
    x1, y1 = np.maximum(box[0], others[:, 0]), np.maximum(box[1], others[:, 1])
    x2, y2 = np.minimum(box[2], others[:, 2]), np.minimum(box[3], others[:, 3])
    zero = others.dtype.type(0)
    shared = np.maximum(zero, x2 - x1 + offset) * np.maximum(zero, y2 - y1 + offset)

    def area(b):
        return (b[..., 2] - b[..., 0] + offset) * (b[..., 3] - b[..., 1] + offset)

    with np.errstate(all="ignore"):
        return shared / (area(box) + area(others) - shared)


def weights(iou, method, threshold, sigma):
    if method == "gaussian":
        with np.errstate(all="ignore"):
            return np.where(np.isnan(iou), 1, np.exp(-(iou * iou) / iou.dtype.type(sigma))).astype(iou.dtype)
    lowered = 1 - iou if method == "linear" else np.zeros_like(iou)
    return np.where(iou >= iou.dtype.type(threshold), lowered, np.ones_like(iou))


def soft_nms(boxes, scores, threshold, sigma, min_score, method, offset=0):
    """Positions and scores of the boxes in the order in which they are selected."""
    offset, min_score = boxes.dtype.type(offset), boxes.dtype.type(min_score)
    left = [i for i in range(len(boxes)) if scores[i] > -np.inf]
    scores, indices, taken = scores.copy(), [], []
    while len(left):
        best = max(left, key=lambda i: (scores[i], -i))
        indices.append(best)
        taken.append(scores[best])
        left = np.array([i for i in left if i != best], int)
        if len(left):
            iou = iou_with(boxes[best], boxes[left], offset)
            scores[left] *= weights(iou, method, threshold, sigma)
            left = [i for i in left if scores[i] >= min_score]
    return np.array(indices, np.int64), np.array(taken, boxes.dtype)


def matrix_nms(boxes, scores, labels, method, sigma):
    """Positions and decayed scores, in descending order of scores."""
    order = np.argsort(-scores, kind="stable")
    b, count = boxes[order].astype(np.float64), len(order)
    iou = np.zeros((count, count))
    for j in range(count):
        if j:
            row = np.nan_to_num(iou_with(b[j], b[:j], 0.0))
            iou[:j, j] = row * (labels[order[:j]] == labels[order[j]])
    own = iou.max(0, initial=0)
    with np.errstate(all="ignore"):
        if method == "linear":
            decay = (1 - iou) / (1 - own[:, None])
        else:
            decay = np.exp(-sigma * iou**2) / np.exp(-sigma * own[:, None] ** 2)
    decay[np.isnan(decay) | (iou == 0)] = 1
    lowered = scores[order] * np.minimum(decay.min(0, initial=1), 1)
    again = np.argsort(-lowered, kind="stable")
    return order[again], lowered[again]
