"""Keypoints as what pose models learn: heat maps, and SimCC's two rows per keypoint."""

from __future__ import annotations

import torch
from torch import Tensor


def keypoint_heatmaps(
    keypoints: Tensor, size: tuple[int, int], heatmap_size: tuple[int, int], sigma: float = 2.0
) -> tuple[Tensor, Tensor]:
    """A Gaussian around each keypoint, of height 1.

    Args:
        keypoints: float `[N, K, 2 or 3]`: x, y and visibility; 0: not labeled. On any device.
        size: (height, width) of the images in pixels.
        heatmap_size: (height, width) of the maps.
        sigma: standard deviation in pixels of the maps, above 0.

    Returns:
        The maps, float32 `[N, K, height, width]`, and weights `[N, K]`: 1 for keypoints that are labeled and
        in the image, else 0, with a map of zeros.

    Raises:
        ValueError: a shape or number is out of range.

    Source:
        Simple Baselines (Xiao et al., 2018), with the center where the keypoint is instead of on the nearest
        pixel (DARK, Zhang et al., 2020), and without a cut at 3 sigma.

    Example:
        >>> maps, weights = keypoint_heatmaps(torch.tensor([[[4.0, 2.0, 2.0]]]), (8, 8), (8, 8), 1.0)
        >>> maps.shape, divmod(int(maps.argmax()), 8), weights.tolist()
        (torch.Size([1, 1, 8, 8]), (2, 4), [[1.0]])
    """
    rows, weights = _bells("keypoint_heatmaps", keypoints, size, heatmap_size, sigma)
    return rows[1][..., :, None] * rows[0][..., None, :], weights


def simcc_targets(
    keypoints: Tensor, size: tuple[int, int], split_ratio: float = 2.0, sigma: float = 6.0
) -> tuple[Tensor, Tensor, Tensor]:
    """For each keypoint a row over x and a row over y, each of sum 1.

    Args:
        keypoints: see `keypoint_heatmaps`.
        size: (height, width) of the images in pixels.
        split_ratio: entries per pixel, above 0.
        sigma: standard deviation in entries, above 0.

    Returns:
        float32 `[N, K, width * split_ratio]` and `[N, K, height * split_ratio]`, and the weights of
        `keypoint_heatmaps`.

    Raises:
        ValueError: a shape or number is out of range.

    Source:
        SimCC (Li et al., 2022), normalized as RTMPose does.

    Example:
        >>> x, y, _ = simcc_targets(torch.tensor([[[4.0, 2.0, 2.0]]]), (8, 16))
        >>> x.shape, y.shape, int(x.argmax()), int(y.argmax())
        (torch.Size([1, 1, 32]), torch.Size([1, 1, 16]), 8, 4)
    """
    if not split_ratio > 0:
        raise ValueError(f"simcc_targets: expected split_ratio above 0, but got {split_ratio}")
    entries = round(size[0] * split_ratio), round(size[1] * split_ratio)
    (x, y), weights = _bells("simcc_targets", keypoints, size, entries, sigma, split_ratio)
    x, y = (row / row.sum(-1, keepdim=True).clamp_min(torch.finfo(row.dtype).tiny) for row in (x, y))
    return x, y, weights


def _bells(
    op: str,
    keypoints: Tensor,
    size: tuple[int, int],
    entries: tuple[int, int],
    sigma: float,
    ratio: float | None = None,
) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Bells over x and y, `[N, K, entries]`, and the weights; without a ratio pixels keep their centers."""
    if keypoints.dim() != 3 or keypoints.size(2) not in (2, 3) or not keypoints.is_floating_point():
        raise ValueError(
            f"{op}: expected keypoints as floats [N, K, 2 or 3], but got {keypoints.dtype} "
            f"{list(keypoints.shape)}"
        )
    if min(*size, *entries) < 1 or not sigma > 0:
        raise ValueError(f"{op}: expected sizes of at least 1 and sigma above 0, but got {size}, {sigma}")
    points = keypoints[..., :2].float()
    sides = torch.tensor(size[::-1], device=points.device)
    inside = ((points >= -0.5) & (points < sides - 0.5)).all(-1)
    is_labeled = keypoints[..., 2] > 0 if keypoints.size(2) == 3 else torch.ones_like(inside)
    weights = (inside & is_labeled).float()
    rows = []
    for axis, count, side in zip((0, 1), entries[::-1], size[::-1], strict=True):
        scale = count / side if ratio is None else ratio
        center = points[..., axis] * scale if ratio else (points[..., axis] + 0.5) * scale - 0.5
        center = torch.where(weights > 0, center, 0.0)
        steps = torch.arange(count, dtype=torch.float32, device=points.device)
        bell = torch.exp(-((steps - center[..., None]) ** 2) / (2 * sigma**2))
        rows.append(bell * weights[..., None])
    return (rows[0], rows[1]), weights
