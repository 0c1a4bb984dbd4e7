"""Segmentation and depth. `mask` and `depth` follow, by nearest pixels."""

from __future__ import annotations

from orbbec.recipes.ends import normalized
from orbbec.transforms import (
    Compose,
    RandomCrop,
    RandomHorizontalFlip,
    RandomResize,
    ResizeToMultiple,
    TargetOptions,
)


def segmentation(size: int = 480, base: int = 520, *, seed: int = 0) -> Compose:
    """A shorter side from half to twice the base, flips, and a crop.

    Args:
        size: side of the crops in pixels.
        base: side by which the scale is measured.
        seed: see `Compose`.

    Source:
        torchvision's references/segmentation. Padding of masks is 255, which losses ignore.

    Example:
        >>> target = {"mask": torch.zeros(40, 60, dtype=torch.long)}
        >>> image, target = segmentation(32, 40)(torch.zeros(3, 40, 60, dtype=torch.uint8), target)
        >>> image.shape, target["mask"].shape
        (torch.Size([3, 32, 32]), torch.Size([32, 32]))
    """
    return Compose(
        [
            RandomResize(base // 2, base * 2 + 1),
            RandomHorizontalFlip(),
            RandomCrop((size, size), pad_if_needed=True),
            *normalized(),
        ],
        seed=seed,
        target_options=TargetOptions(mask_fill=255.0),
    )


def depth(size: int = 518, *, seed: int = 0) -> Compose:
    """Resize to at least the size, in multiples of 14, crop and flip.

    Args:
        size: side of the crops in pixels, a multiple of 14.
        seed: see `Compose`.

    Source:
        Depth Anything V2 (Yang et al., 2024), metric depth.

    Example:
        >>> target = {"depth": torch.rand(40, 60)}
        >>> image, target = depth(28)(torch.zeros(3, 40, 60, dtype=torch.uint8), target)
        >>> image.shape, target["depth"].dtype
        (torch.Size([3, 28, 28]), torch.float32)
    """
    return Compose(
        [ResizeToMultiple(size), RandomCrop((size, size)), RandomHorizontalFlip(), *normalized()], seed=seed
    )
