"""Robots, reinforcement learning and faces."""

from __future__ import annotations

from orbbec.recipes.ends import SYMMETRIC, normalized, scaled
from orbbec.transforms import (
    AlignFaces,
    ColorJitter,
    Compose,
    RandomHorizontalFlip,
    RandomShift,
    SomeOf,
)


def drq_shift(pad: int = 4, *, seed: int = 0) -> Compose:
    """Shift each observation by up to some pixels, and repeat its edge.

    Args:
        pad: the largest shift along each axis in pixels. Images have 1 to 16 channels, such as 3 frames.
        seed: see `Compose`.

    Source:
        DrQ (Kostrikov et al., 2020): images of 84 pixels, shifts of up to 4.

    Example:
        >>> drq_shift()(torch.zeros(8, 3, 84, 84, dtype=torch.uint8)).shape
        torch.Size([8, 3, 84, 84])
    """
    return Compose([RandomShift(pad)], seed=seed)


def lerobot(max_transforms: int = 3, *, seed: int = 0) -> Compose:
    """Some of brightness, contrast, saturation and hue, in this order.

    Args:
        max_transforms: how many of them apply to an image.
        seed: see `Compose`.

    Source:
        LeRobot's defaults for image transforms; its sharpness and shift are left out.

    Example:
        >>> lerobot()(torch.zeros(4, 3, 48, 64, dtype=torch.uint8)).dtype
        torch.float32
    """
    colors = [
        ColorJitter(brightness=(0.8, 1.2)),
        ColorJitter(contrast=(0.8, 1.2)),
        ColorJitter(saturation=(0.5, 1.5)),
        ColorJitter(hue=(-0.05, 0.05)),
    ]
    return Compose([SomeOf(colors, max_transforms), *scaled()], seed=seed)


def face_recognition(size: int = 112, *, seed: int = 0) -> Compose:
    """Align five landmarks to a template, and flip.

    Args:
        size: side of the results in pixels.
        seed: see `Compose`.

    Source:
        ArcFace (Deng et al., 2019): its template of landmarks, and values from -1 to 1.

    Example:
        >>> landmarks = torch.tensor([[30.0, 40.0], [60, 40], [45, 55], [33, 70], [57, 70]])
        >>> image, _ = face_recognition()(torch.zeros(3, 90, 90, dtype=torch.uint8), {"landmarks": landmarks})
        >>> image.shape
        torch.Size([3, 112, 112])
    """
    return Compose([AlignFaces(size), RandomHorizontalFlip(), *normalized(SYMMETRIC)], seed=seed)
