"""Self-supervised learning: several views of each image."""

from __future__ import annotations

from orbbec.recipes.ends import normalized, scaled
from orbbec.transforms import (
    ColorJitter,
    GaussianBlur,
    MultiView,
    RandomApply,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomSolarize,
    Transform,
)


def simclr(size: int = 224, strength: float = 1.0, *, seed: int = 0) -> MultiView:
    """Two views: crop, flip, color jitter, grayscale and blur.

    Args:
        size: side of the crops in pixels.
        strength: of the color jitter; 0.5 for CIFAR.
        seed: see `Compose`.

    Source:
        SimCLR (Chen et al., 2020), appendix A.

    Example:
        >>> one, other = simclr(32)(torch.rand(4, 3, 40, 60))
        >>> one.shape, other.shape
        (torch.Size([4, 3, 32, 32]), torch.Size([4, 3, 32, 32]))
    """
    view = simclr_view(size, strength)
    return MultiView([view, view], seed=seed)


def simclr_view(size: int = 224, strength: float = 1.0) -> list[Transform]:
    """The transforms of a view of `simclr`."""
    jitter = ColorJitter(0.8 * strength, 0.8 * strength, 0.8 * strength, 0.2 * strength)
    return [
        RandomResizedCrop(size),
        RandomHorizontalFlip(),
        RandomApply([jitter], 0.8),
        RandomGrayscale(0.2),
        RandomApply([GaussianBlur(max(size // 20 * 2 + 1, 3), (0.1, 2.0))], 0.5),
        *scaled(),
    ]


def dino_v2(size: int = 224, local_size: int = 98, local: int = 8, *, seed: int = 0) -> MultiView:
    """Two large views, of which the first is always blurred, and small ones.

    Args:
        size: side of the large crops in pixels. Images are uint8.
        local_size: side of the small crops.
        local: number of small crops.
        seed: see `Compose`.

    Source:
        DINOv2 (Oquab et al., 2023): its default configuration and augmentations.

    Example:
        >>> views = dino_v2(32, 14, local=2)(torch.zeros(3, 64, 64, dtype=torch.uint8))
        >>> [tuple(view.shape[1:]) for view in views]
        [(32, 32), (32, 32), (14, 14), (14, 14)]
    """
    one = dino_v2_view(size, (0.32, 1.0), blur=1.0)
    other = dino_v2_view(size, (0.32, 1.0), blur=0.1, solarize=0.2)
    small = dino_v2_view(local_size, (0.05, 0.32), blur=0.5)
    return MultiView([one, other, *[small] * local], seed=seed)


def dino_v2_view(
    size: int, scale: tuple[float, float], blur: float, solarize: float = 0.0
) -> list[Transform]:
    """The transforms of a view of `dino_v2`."""
    return [
        RandomResizedCrop(size, scale, interpolation="cubic"),
        RandomHorizontalFlip(),
        RandomApply([ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8),
        RandomGrayscale(0.2),
        RandomApply([GaussianBlur(9, (0.1, 2.0))], blur),
        *([RandomSolarize(128, p=solarize)] if solarize else []),
        *normalized(),
    ]
