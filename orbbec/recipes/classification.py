"""Classification, masked images, and images with text."""

from __future__ import annotations

from orbbec.recipes.ends import IMAGENET, OPENAI_CLIP, normalized
from orbbec.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    CutMix,
    Grayscale,
    MixUp,
    PillowBlur,
    RandAugment,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomSolarize,
    Resize,
    Transform,
    TrivialAugmentWide,
)


def imagenet_train(size: int = 176, num_classes: int | None = None, *, seed: int = 0) -> Compose:
    """TrivialAugment, random erasing, and MixUp or CutMix: the training of torchvision's V2 weights.

    Args:
        size: side of the crops in pixels; the weights were trained with 176.
        num_classes: of the labels, which MixUp and CutMix mix; None: no mixing.
        seed: see `Compose`.

    Source:
        torchvision's references/classification, "new recipe" of 2021.

    Example:
        >>> images, labels = torch.zeros(4, 3, 64, 64, dtype=torch.uint8), torch.tensor([1, 5, 2, 7])
        >>> mixed, weights = imagenet_train(32, num_classes=10)((images, labels))
        >>> mixed.shape, weights.shape
        (torch.Size([4, 3, 32, 32]), torch.Size([4, 10]))
    """
    mixes = [MixUp(0.2, num_classes), CutMix(1.0, num_classes)]
    return Compose(
        [
            RandomResizedCrop(size),
            RandomHorizontalFlip(),
            TrivialAugmentWide(interpolation="linear"),
            *normalized(),
            RandomErasing(0.1),
            *([RandomChoice(mixes)] if num_classes is not None else []),
        ],
        seed=seed,
    )


def imagenet_eval(size: int = 224, resize: int = 232) -> Compose:
    """Resize the shorter side, and crop the center.

    Args:
        size: side of the crop in pixels.
        resize: the shorter side before it: 232 for torchvision's V2 weights, 256 for the first ones.

    Source:
        torchvision's references/classification.

    Example:
        >>> imagenet_eval()(torch.zeros(3, 300, 400, dtype=torch.uint8)).shape
        torch.Size([3, 224, 224])
    """
    return Compose([Resize(resize), CenterCrop(size), *normalized()])


def timm_train(
    size: int = 224, num_classes: int | None = None, *, erasing_count: int = 1, seed: int = 0
) -> Compose:
    """RandAugment of increasing strength, random erasing by noise, and MixUp or CutMix.

    Args:
        size: side of the crops in pixels. Images are uint8.
        num_classes: of the labels, which MixUp and CutMix mix; None: no mixing.
        erasing_count: most rectangles that random erasing fills; their number is drawn, and divides their
            areas. Each takes a pass of its own: of 2, three passes, of 3, six.
        seed: see `Compose`.

    Source:
        timm with `--aa rand-m9-mstd0.5-inc1 --reprob 0.25 --remode pixel --recount 1 --mixup 0.8 --cutmix
        1.0`, as for DeiT, Swin and ConvNeXt; bilinear where timm draws between bilinear and bicubic, one
        mixing per image instead of per batch.

    Example:
        >>> images, labels = torch.zeros(4, 3, 64, 64, dtype=torch.uint8), torch.tensor([1, 5, 2, 7])
        >>> mixed, weights = timm_train(32, num_classes=10)((images, labels))
        >>> mixed.shape, weights.shape
        (torch.Size([4, 3, 32, 32]), torch.Size([4, 10]))
    """
    mean = tuple(round(255 * value) for value in IMAGENET[0])
    mixes = [MixUp(0.8, num_classes), CutMix(1.0, num_classes)]
    return Compose(
        [
            RandomResizedCrop(size),
            RandomHorizontalFlip(),
            RandAugment(2, 9, 11, "linear", mean, magnitude_std=0.5, p=0.5, operations="timm"),
            *normalized(),
            _erasing(erasing_count),
            *([RandomChoice(mixes)] if num_classes is not None else []),
        ],
        seed=seed,
    )


def _erasing(count: int) -> Transform:
    """Timm's random erasing: of up to `count` rectangles in a quarter of the images."""
    if count == 1:
        return _erased(1, 0.25)
    numbers = range(1, count + 1)
    return RandomApply([RandomChoice([RandomApply([_erased(n)] * n, 1.0) for n in numbers])], 0.25)


def _erased(count: int, p: float = 1.0) -> Transform:
    """One of `count` rectangles."""
    return RandomErasing(p, (0.02 / count, 1 / 3 / count), (0.3, 1 / 0.3), "random")


def deit3(size: int = 224, *, seed: int = 0) -> Compose:
    """3-Augment: grayscale, solarization or Pillow's blur, then color jitter.

    Args:
        size: side of the crops in pixels. Images are uint8.
        seed: see `Compose`.

    Source:
        DeiT III (Touvron et al., 2022), with its simple random crop.

    Example:
        >>> deit3(32)(torch.zeros(3, 40, 60, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """
    return Compose(
        [
            Resize(size, interpolation="cubic"),
            RandomCrop(size, padding=4, padding_mode="reflect"),
            RandomHorizontalFlip(),
            RandomChoice([Grayscale(3), RandomSolarize(128, p=1.0), PillowBlur((0.1, 2.0), p=1.0)]),
            ColorJitter(0.3, 0.3, 0.3),
            *normalized(),
        ],
        seed=seed,
    )


def mae(size: int = 224, *, seed: int = 0) -> Compose:
    """Crops of at least a fifth of the area, and flips.

    Args:
        size: side of the crops in pixels.
        seed: see `Compose`.

    Source:
        MAE (He et al., 2021), pretraining.

    Example:
        >>> mae(32)(torch.zeros(3, 40, 60, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """
    crop = RandomResizedCrop(size, (0.2, 1.0), interpolation="cubic")
    return Compose([crop, RandomHorizontalFlip(), *normalized()], seed=seed)


def clip_train(size: int = 224, *, seed: int = 0) -> Compose:
    """Crops of at least nine tenths of the area.

    Args:
        size: side of the crops in pixels.
        seed: see `Compose`.

    Source:
        OpenCLIP's defaults, with the mean and standard deviation of CLIP.

    Example:
        >>> clip_train(32)(torch.zeros(3, 40, 60, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """
    crop = RandomResizedCrop(size, (0.9, 1.0), interpolation="cubic")
    return Compose([crop, *normalized(OPENAI_CLIP)], seed=seed)
