"""Clips of videos, whose frames share their random parameters."""

from __future__ import annotations

from orbbec.recipes.ends import KINETICS, normalized
from orbbec.transforms import Compose, RandomCrop, RandomHorizontalFlip, RandomResize, RandomResizedCrop


def kinetics(
    size: int = 224, min_side: int = 256, max_side: int = 320, *, resized_crop: bool = False, seed: int = 0
) -> Compose:
    """A shorter side from 256 to 320 and a crop, or a crop of 8 to 100 % of the area; and flips.

    The frames are chosen where they are read: `VideoClips(root, frames=8, stride=8)` of `orbbec.data`, or
    `FrameFolders(root, TemporalSample(frames=8, stride=8))`, takes every eighth frame from a random one on.

    Args:
        size: side of the crops in pixels.
        min_side: the least shorter side before the crop.
        max_side: the largest shorter side.
        resized_crop: crop a random area of any ratio from 3:4 to 4:3 instead, as for vision transformers.
        seed: see `Compose`.

    Source:
        SlowFast (Feichtenhofer et al., 2019) and its PySlowFast: crops of 224 pixels, shorter sides from 256
        to 320, flips of half the clips, frames 8x8 or 16x4, a mean of 0.45 and a standard deviation of 0.225;
        areas from 0.08 to 1 and ratios from 3/4 to 4/3 of MViT (Fan et al., 2021); bilinear without
        antialiasing. The color jitter and RandAugment of MViT are left out.

    Example:
        >>> kinetics(32, 36, 40)(torch.zeros(2, 8, 3, 60, 80, dtype=torch.uint8)).shape
        torch.Size([2, 8, 3, 32, 32])
    """
    crop = (
        [RandomResizedCrop(size, (0.08, 1.0), antialias=False)]
        if resized_crop
        else [RandomResize(min_side, max_side + 1, antialias=False), RandomCrop(size)]
    )
    return Compose([*crop, RandomHorizontalFlip(), *normalized(KINETICS)], seed=seed)
