"""Detection and keypoints. Boxes, masks and keypoints follow."""

from __future__ import annotations

from itertools import product

from orbbec.recipes.ends import normalized, scaled
from orbbec.transforms import (
    CenterCrop,
    CoarseDropout,
    Compose,
    CopyPaste,
    HueSaturationValue,
    Letterbox,
    MixUp,
    Mosaic,
    PadIfNeeded,
    RandomAffine,
    RandomApply,
    RandomChoice,
    RandomCrop,
    RandomHalfBody,
    RandomHorizontalFlip,
    RandomHSV,
    RandomIoUCrop,
    RandomPhotometricDistort,
    RandomRotation,
    RandomZoomOut,
    Resize,
    ResizeToFit,
    ScaleJitter,
    TargetOptions,
    Transform,
)

_GRAY = 114.0  # the padding of YOLO
# The parts of a normal distribution that is cut at one standard deviation, in quarters of its width.
_NORMAL_QUARTERS = 0.22, 0.28, 0.28, 0.22


def yolo_train(
    size: int = 640,
    epochs: int = 300,
    *,
    close_mosaic: int = 10,
    mixup: float = 0.0,
    box_format: str = "xyxy",
    seed: int = 0,
) -> Compose:
    """Mosaic, scale and shift, hue, saturation and brightness, flips, and mixup, in three passes.

    The three other images of a mosaic are the previous ones of the batch, or, with `pairs="source"` of
    `Loader`, any of the data set. Colors are changed before the
    mixup, not after it, so that the last pass blends.

    Args:
        size: side of the results in pixels.
        epochs: of the training.
        close_mosaic: the last epochs, without mosaic and mixup: an image lies alone in the middle.
        mixup: probability that two results are blended; YOLO uses 0 to 0.15.
        box_format: see `TargetOptions`.
        seed: see `Compose`.

    Source:
        Ultralytics YOLOv8 to YOLO11: its default hyperparameters, and its limits for boxes: 2 pixels and a
        tenth of the area.

    Example:
        >>> pipeline = yolo_train(64, mixup=0.1)
        >>> target = {"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([1])}
        >>> images, targets = pipeline(torch.zeros(4, 3, 40, 60, dtype=torch.uint8), [target] * 4, epoch=0)
        >>> images.shape
        torch.Size([4, 3, 64, 64])
    """
    until = (0, max(epochs - close_mosaic, 1))
    return Compose(
        [
            ResizeToFit(size, antialias=False),
            Mosaic(2 * size, fill=_GRAY, epochs=until),
            RandomAffine(0.0, (0.1, 0.1), (0.5, 1.5), interpolation="linear", fill=_GRAY),
            CenterCrop(size),
            RandomHSV(0.015, 0.7, 0.4),
            RandomHorizontalFlip(),
            *scaled(),
            *([MixUp(32.0, p=mixup, epochs=until)] if mixup else []),
        ],
        seed=seed,
        target_options=TargetOptions(box_format=box_format, min_size=2.0, min_visibility=0.1),
    )


def yolo_val(size: int = 640, *, box_format: str = "xyxy") -> Compose:
    """Letterbox. `transforms.restore_boxes` maps boxes of the result back to the image.

    Args:
        size: side of the results in pixels.
        box_format: see `TargetOptions`.

    Source:
        Ultralytics YOLOv8 to YOLO11, with one size for all images.

    Example:
        >>> yolo_val(64)(torch.zeros(3, 40, 60, dtype=torch.uint8)).shape
        torch.Size([3, 64, 64])
    """
    options = TargetOptions(box_format=box_format)
    return Compose([Letterbox(size, fill=_GRAY), *scaled()], target_options=options)


def ssd_train(size: int = 300, *, seed: int = 0) -> Compose:
    """Photometric distortion, zoom out, a crop by overlap, and flips.

    Args:
        size: side of the results in pixels.
        seed: see `Compose`.

    Source:
        SSD (Liu et al., 2016), as torchvision's references/detection; boxes of which less than half is
        visible are dropped, there those whose center is outside the crop.

    Example:
        >>> target = {"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([1])}
        >>> image, target = ssd_train(64)(torch.zeros(3, 40, 60, dtype=torch.uint8), target)
        >>> image.shape
        torch.Size([3, 64, 64])
    """
    return Compose(
        [
            RandomPhotometricDistort(),
            RandomZoomOut(fill=(123.0, 117.0, 104.0)),
            RandomIoUCrop(),
            RandomHorizontalFlip(),
            Resize((size, size)),
            *normalized(),
        ],
        seed=seed,
        target_options=TargetOptions(min_size=1.0, min_visibility=0.5),
    )


def detr_train(size: int = 640, stop_epoch: int = 71, *, box_format: str = "xyxy", seed: int = 0) -> Compose:
    """Photometric distortion, zoom out and a crop by overlap until the stop epoch; flips.

    Args:
        size: side of the results in pixels.
        stop_epoch: the first epoch in which only flips are left.
        box_format: see `TargetOptions`; DETR's losses take "cxcywhn".
        seed: see `Compose`.

    Source:
        RT-DETRv2 (Lv et al., 2024) and D-FINE, of 72 epochs; without their sizes per batch: see
        `orbbec.data.MultiScale`. Boxes of which less than half is visible are dropped, there those whose
        center is outside the crop. DEIM adds mosaics and mixup, as `yolo_train` has them.

    Example:
        >>> target = {"boxes": torch.tensor([[4.0, 4.0, 30.0, 30.0]]), "labels": torch.tensor([1])}
        >>> image, target = detr_train(64)(torch.zeros(3, 40, 60, dtype=torch.uint8), target)
        >>> image.shape
        torch.Size([3, 64, 64])
    """
    until = (0, stop_epoch)
    overlaps = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9] * 4 + [
        1.0
    ] * 11  # six of seven choices crop, for 0.8 of the images
    return Compose(
        [
            RandomApply([RandomPhotometricDistort(), RandomZoomOut()], 1.0, epochs=until),
            RandomIoUCrop(sampler_options=overlaps, epochs=until),
            RandomHorizontalFlip(),
            Resize((size, size)),
            *scaled(),
        ],
        seed=seed,
        target_options=TargetOptions(box_format=box_format, min_size=1.0, min_visibility=0.5),
    )


def lsj(size: int = 1024, *, seed: int = 0) -> Compose:
    """Large-scale jitter: scales from 0.1 to 2, a fixed crop or padding right and below, and flips.

    Args:
        size: side of the results in pixels.
        seed: see `Compose`.

    Source:
        Simple Copy-Paste (Ghiasi et al., 2021); torchvision's references/detection, policy "lsj".

    Example:
        >>> lsj(64)(torch.zeros(3, 40, 60, dtype=torch.uint8)).shape
        torch.Size([3, 64, 64])
    """
    return Compose([*_jittered(size), *normalized()], seed=seed)


def lsj_copy_paste(size: int = 1024, *, p: float = 1.0, seed: int = 0) -> Compose:
    """Large-scale jitter, and objects of the previous image, cut out by their masks; three passes.

    Args:
        size: side of the results in pixels.
        p: probability that objects are pasted on an image.
        seed: see `Compose`.

    Source:
        Simple Copy-Paste (Ghiasi et al., 2021); torchvision's references/detection with --use-copypaste,
        which draw objects with replacement.

    Example:
        >>> target = {"boxes": torch.tensor([[9.0, 9, 30, 30]]), "masks": torch.zeros(1, 40, 60)}
        >>> target["masks"][:, 9:30, 9:30] = 1
        >>> images = torch.zeros(2, 3, 40, 60, dtype=torch.uint8)
        >>> lsj_copy_paste(64)(images, [target] * 2)[0].shape
        torch.Size([2, 3, 64, 64])
    """
    return Compose([*_jittered(size), *normalized(), CopyPaste(p=p)], seed=seed)


def _jittered(size: int) -> list[Transform]:
    return [
        ScaleJitter((size, size)),
        PadIfNeeded((size, size), fill=(123.0, 117.0, 104.0), position="top_left"),
        RandomCrop((size, size)),
        RandomHorizontalFlip(),
    ]


def coco_keypoints(height: int = 256, width: int = 192, *, seed: int = 0) -> Compose:
    """Half bodies, rotation and scale around a person, flips that swap left and right, colors, and a hole.

    Args:
        height: of the results in pixels; images are crops of a person, 1.25 times its box.
        width: of the results.
        seed: see `Compose`.

    Source:
        RTMPose (Jiang et al., 2023): boxes times 0.6 to 1.4, and rotations of up to 80 degrees for 0.6 of the
        images, both from truncated normal distributions, here from four uniform ones; hue, saturation and
        value, each of half the images; a hole of 0.2 to 0.4 of each side. Shifts and blurs are left out. Half
        bodies are cut out of the crop of the person, not of the photograph around it.

    Example:
        >>> target = {"keypoints": torch.zeros(17, 3)}
        >>> image, target = coco_keypoints()(torch.zeros(3, 80, 60, dtype=torch.uint8), target)
        >>> image.shape, target["keypoints"].shape
        (torch.Size([3, 256, 192]), torch.Size([17, 3]))
    """
    boxes = [(0.6, 0.8), (0.8, 1.0), (1.0, 1.2), (1.2, 1.4)]
    scales = [
        RandomAffine(0.0, scale=(1 / high, 1 / low), interpolation="linear", fill=0.0) for low, high in boxes
    ]
    angles = [(-80.0, -40.0), (-40.0, 0.0), (0.0, 40.0), (40.0, 80.0)]
    rotations = [RandomRotation(ends, interpolation="linear", fill=0.0) for ends in angles]
    amounts = product((0.0, 5.0), (0.0, 30.0), (0.0, 30.0))
    colors = [HueSaturationValue((-h, h), (-s, s), (-v, v), p=1.0) for h, s, v in amounts]
    return Compose(
        [
            RandomHalfBody(aspect_ratio=width / height),
            Letterbox((height, width), fill=0.0),
            RandomChoice(scales, p=_NORMAL_QUARTERS),
            RandomApply([RandomChoice(rotations, p=_NORMAL_QUARTERS)], 0.6),
            RandomHorizontalFlip(),
            RandomChoice(colors),
            CoarseDropout(1, (0.2, 0.4), (0.2, 0.4), p=1.0),
            *normalized(),
        ],
        seed=seed,
        target_options=TargetOptions(keypoint_pairs="coco"),
    )
