"""Compares recipes with their originals on one photograph: statistics of results, and time per batch.

    .venv-loops/bin/python scripts/compare_recipes.py [--draws 2000]

Prints the table of docs/reference/recipes.md. Each draw is summarized by the mean and the standard deviation
of its values; the p-value of a Kolmogorov-Smirnov test says how likely one distribution gives such samples.
"""

import random
import statistics
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

import cv2
import kornia
import numpy as np
import torch
import typer
from lerobot.datasets.transforms import ImageTransforms, ImageTransformsConfig
from originals.published import published_recipes
from photographs import load_photograph, load_photographs
from PIL import Image, ImageFilter
from scipy.stats import ks_2samp
from timm.data import auto_augment, create_transform
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2
from ultralytics.cfg import get_cfg
from ultralytics.data.augment import Format, LetterBox, v8_transforms
from ultralytics.utils.instance import Instances

from orbbec import recipes
from orbbec.recipes.ends import KINETICS, OPENAI_CLIP
from orbbec.recipes.views import dino_v2_view, simclr_view
from orbbec.transforms import Compose

SIZE, BATCH = 112, 50  # pixels, images
FRAMES = 4
CORES, BATCHES, ROUNDS = 2, 4, 9  # of the columns of speed
PAUSE = 0.01  # seconds, in which threads that wait for more work fall asleep
YOLO = 320  # pixels
LEFT_OUT = ("sharpness", "affine")  # of LeRobot
NORMALIZED = [
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
]
WITH_BOXES = ("ssd_train", "detr_train", "lsj")
BOXES = [[100.0, 50.0, 300.0, 250.0], [200.0, 120.0, 390.0, 290.0]]


class Pair(NamedTuple):
    """A recipe and its original.

    Args:
        package: where the original is.
        ours: makes a batch of `BATCH` results.
        theirs: makes one result.
        makes_batches: whether `theirs` makes a batch too.
        digits: to which statistics are rounded for the test: they have few values, which differ by less.
    """

    package: str
    ours: Callable[[], Tensor]
    theirs: Callable[[], Tensor]
    makes_batches: bool = False
    digits: int = 9

    def original(self) -> Tensor:
        """A batch of the original."""
        return self.theirs() if self.makes_batches else torch.stack([self.theirs() for _ in range(BATCH)])


class Results(Dataset[Tensor]):
    """Results of an original, as many as `BATCHES` batches have."""

    def __init__(self, draw: Callable[[], Tensor]) -> None:
        self.draw = draw

    def __len__(self) -> int:
        return BATCHES * BATCH

    def __getitem__(self, index: int) -> Tensor:
        return self.draw()


class Scenes:
    """Photographs with boxes, as the augmentation of Ultralytics reads them from its cache in memory."""

    cache, data, buffer = "ram", {}, ()

    def __init__(self, images: list[np.ndarray]) -> None:
        self.images = images

    def __len__(self) -> int:
        return len(self.images)

    def get_image_and_label(self, index: int) -> dict[str, Any]:
        image = self.images[index]
        boxes, lines = np.array(BOXES, np.float32), np.zeros((0, 1000, 2), np.float32)
        return {
            "img": image[..., ::-1],
            "cls": np.zeros((len(boxes), 1), np.float32),
            "instances": Instances(boxes, lines, None, bbox_format="xyxy", normalized=False),
            **{"im_file": "", "ori_shape": image.shape[:2], "resized_shape": image.shape[:2]},
        }


def of_ultralytics(scenes: Scenes) -> Callable[[], Tensor]:
    """The default training augmentation for images of `YOLO` pixels."""
    transforms = v8_transforms(scenes, YOLO, get_cfg())
    transforms.append(Format(bbox_format="xywh", normalize=True, batch_idx=True))

    def draw() -> Tensor:
        index = random.randrange(len(scenes))
        return transforms(scenes.get_image_and_label(index))["img"].float() / 255

    return draw


def of_yolo(scenes: Scenes) -> Callable[[], Tensor]:
    """`yolo_train` on as many scenes in random order."""
    pipeline = recipes.yolo_train(YOLO)
    targets = [{"boxes": torch.tensor(BOXES)}] * BATCH

    def draw() -> Tensor:
        order = random.choices(range(len(scenes)), k=BATCH)
        batch = torch.from_numpy(np.stack([scenes.images[index] for index in order])).permute(0, 3, 1, 2)
        return pipeline(batch, targets)[0]

    return draw


def of_letterbox(image: np.ndarray) -> Callable[[], Tensor]:
    """The preprocessing of images for validation and prediction."""
    letterbox = LetterBox((YOLO, YOLO))

    def draw() -> Tensor:
        pixels = np.ascontiguousarray(letterbox(image=image).transpose(2, 0, 1))
        return torch.from_numpy(pixels).float() / 255

    return draw


def of_kornia(batch: Tensor) -> Callable[[], Tensor]:
    """The shift of DrQ, which augments a batch of floats in one call."""
    transforms = torch.nn.Sequential(torch.nn.ReplicationPad2d(4), kornia.augmentation.RandomCrop((84, 84)))
    return lambda: transforms(batch.float())


def of_lerobot() -> Callable[[Any], Tensor]:
    config = ImageTransformsConfig(enable=True)
    config.tfs = {name: each for name, each in config.tfs.items() if name not in LEFT_OUT}
    return v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), ImageTransforms(config)])


def posterize(image: Image.Image, bits: int, **how: Any) -> Image.Image:
    """Posterization to 0 bits too, which timm draws and Pillow 13 refuses."""
    return image.point([value >> (8 - bits) << (8 - bits) for value in range(256)] * 3)


class PadRightAndBelow(v2.Transform):
    """Padding to `SIZE`, as that of `FixedSizeCrop` in torchvision's references."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        height, width = v2.functional.get_size(inpt)
        padding = [0, 0, max(SIZE - width, 0), max(SIZE - height, 0)]
        fill = 0 if isinstance(inpt, tv_tensors.Mask) else [123, 117, 104]
        return v2.functional.pad(inpt, padding, fill=fill)


def pillow_blur(image: Image.Image) -> Image.Image:
    """That of DeiT III."""
    return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


def of_timm() -> Callable[[Any], Tensor]:
    auto_augment.NAME_TO_OP["PosterizeIncreasing"] = posterize
    erasing = {"re_prob": 0.25, "re_mode": "pixel"}
    return create_transform(
        SIZE, True, auto_augment="rand-m9-mstd0.5-inc1", interpolation="bilinear", **erasing
    )


OF_ONE_IMAGE: dict[str, tuple[str, Compose, Callable[..., Any]]] = {
    "imagenet_train": (
        "torchvision",
        recipes.imagenet_train(SIZE),
        v2.Compose(
            [
                v2.RandomResizedCrop(SIZE),
                v2.RandomHorizontalFlip(),
                v2.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR),
                *NORMALIZED,
                v2.RandomErasing(0.1),
            ]
        ),
    ),
    "timm_train": ("timm", recipes.timm_train(SIZE), of_timm()),
    "imagenet_eval": (
        "torchvision",
        recipes.imagenet_eval(SIZE, SIZE + 8),
        v2.Compose([v2.Resize(SIZE + 8), v2.CenterCrop(SIZE), *NORMALIZED]),
    ),
    "deit3": (
        "torchvision",
        recipes.deit3(SIZE),
        v2.Compose(
            [
                v2.Resize(SIZE, InterpolationMode.BICUBIC),
                v2.RandomCrop(SIZE, padding=4, padding_mode="reflect"),
                v2.RandomHorizontalFlip(),
                v2.RandomChoice([v2.Grayscale(3), v2.RandomSolarize(128, 1.0), v2.Lambda(pillow_blur)]),
                v2.ColorJitter(0.3, 0.3, 0.3),
                *NORMALIZED,
            ]
        ),
    ),
    "clip_train": (
        "torchvision",
        recipes.clip_train(SIZE),
        v2.Compose(
            [
                v2.RandomResizedCrop(SIZE, (0.9, 1.0), interpolation=InterpolationMode.BICUBIC),
                *NORMALIZED[:2],
                v2.Normalize(*OPENAI_CLIP),
            ]
        ),
    ),
    "mae": (
        "torchvision",
        recipes.mae(SIZE),
        v2.Compose(
            [
                v2.RandomResizedCrop(SIZE, (0.2, 1.0), interpolation=InterpolationMode.BICUBIC),
                v2.RandomHorizontalFlip(),
                *NORMALIZED,
            ]
        ),
    ),
    "simclr, a view": (
        "torchvision",
        Compose(simclr_view(SIZE)),
        v2.Compose(
            [
                v2.RandomResizedCrop(SIZE),
                v2.RandomHorizontalFlip(),
                v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
                v2.RandomGrayscale(0.2),
                v2.RandomApply([v2.GaussianBlur(SIZE // 20 * 2 + 1, (0.1, 2.0))], 0.5),
                *NORMALIZED[:2],
            ]
        ),
    ),
    "dino_v2, a large view": (
        "torchvision",
        Compose(dino_v2_view(SIZE, (0.32, 1.0), blur=0.1, solarize=0.2)),
        v2.Compose(
            [
                v2.RandomResizedCrop(SIZE, (0.32, 1.0), interpolation=InterpolationMode.BICUBIC),
                v2.RandomHorizontalFlip(),
                v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8),
                v2.RandomGrayscale(0.2),
                v2.RandomApply([v2.GaussianBlur(9, (0.1, 2.0))], 0.1),
                v2.RandomSolarize(128, 0.2),
                *NORMALIZED,
            ]
        ),
    ),
    "ssd_train": (
        "torchvision",
        recipes.ssd_train(SIZE),
        v2.Compose(
            [
                v2.ToImage(),
                v2.RandomPhotometricDistort(),
                v2.RandomZoomOut(fill={tv_tensors.Image: (123.0, 117.0, 104.0)}),
                v2.RandomIoUCrop(),
                v2.RandomHorizontalFlip(),
                v2.Resize((SIZE, SIZE)),
                *NORMALIZED[1:],
            ]
        ),
    ),
    "detr_train": (
        "torchvision",
        recipes.detr_train(SIZE),
        v2.Compose(
            [
                v2.RandomPhotometricDistort(),
                v2.RandomZoomOut(),
                v2.RandomApply([v2.RandomIoUCrop()], 0.8),
                v2.SanitizeBoundingBoxes(labels_getter=None),
                v2.RandomHorizontalFlip(),
                v2.Resize((SIZE, SIZE)),
                v2.SanitizeBoundingBoxes(labels_getter=None),
                *NORMALIZED[:2],
            ]
        ),
    ),
    "lsj": (
        "torchvision",
        recipes.lsj(SIZE),
        v2.Compose(
            [
                v2.ScaleJitter((SIZE, SIZE)),
                PadRightAndBelow(),
                v2.RandomCrop((SIZE, SIZE)),
                v2.RandomHorizontalFlip(),
                *NORMALIZED,
            ]
        ),
    ),
    "segmentation": (
        "torchvision",
        recipes.segmentation(SIZE, 120),
        v2.Compose(
            [
                v2.RandomResize(60, 241),
                v2.RandomHorizontalFlip(),
                v2.RandomCrop((SIZE, SIZE), pad_if_needed=True),
                *NORMALIZED,
            ]
        ),
    ),
    "lerobot": ("lerobot", recipes.lerobot(), of_lerobot()),
}


KINETICS_TRAIN = v2.Compose(
    [
        v2.RandomResize(128, 161, antialias=False),
        v2.RandomCrop(SIZE),
        v2.RandomHorizontalFlip(),
        NORMALIZED[1],
        v2.Normalize(*KINETICS),
    ]
)


def pairs_of(image: Image.Image) -> dict[str, Pair]:
    """All recipes with their originals, on one photograph; those of Ultralytics on four."""
    batch = torch.from_numpy(np.array(image)).permute(2, 0, 1).expand(BATCH, -1, -1, -1)
    boxes = tv_tensors.BoundingBoxes(BOXES, format="XYXY", canvas_size=(image.height, image.width))
    targets = [{"boxes": torch.tensor(BOXES)}] * BATCH
    pairs = {}
    for name, (package, ours, theirs) in OF_ONE_IMAGE.items():
        if name in WITH_BOXES:
            with_boxes = partial(ours, batch, targets), partial(theirs, image, boxes)
            make, draw = (partial(first_of, each) for each in with_boxes)
        else:
            make, draw = partial(ours, batch), partial(theirs, image)
        pairs[name] = Pair(package, make, draw)
    scenes = Scenes([cv2.resize(each, (YOLO, YOLO * 3 // 4)) for each in load_photographs().values()])
    observations = batch[:, :, 100:184, 150:234].contiguous()
    shift = recipes.drq_shift()
    pairs["drq_shift"] = Pair("kornia", lambda: shift(observations).float(), of_kornia(observations), True)
    pairs["yolo_train"] = Pair("ultralytics", of_yolo(scenes), of_ultralytics(scenes))
    letterbox = partial(recipes.yolo_val(YOLO), batch)
    pairs["yolo_val"] = Pair("ultralytics", letterbox, of_letterbox(np.array(image)))
    clips = batch[:, None].expand(-1, FRAMES, -1, -1, -1).contiguous()
    kinetics = partial(recipes.kinetics(SIZE, 128, 160), clips)
    clip = tv_tensors.Video(clips[0])
    pairs["kinetics"] = Pair("torchvision", kinetics, partial(KINETICS_TRAIN, clip))
    published = published_recipes(image, BATCH, SIZE, OF_ONE_IMAGE["lsj"][2])
    pairs |= {name: Pair(*each) for name, each in published.items()}
    pairs["ocr_line"] = pairs["ocr_line"]._replace(digits=2)
    return pairs


def first_of(call: Callable[[], Any]) -> Tensor:
    return call()[0]


def summaries(images: Any) -> np.ndarray:
    """The mean and the standard deviation of each image: `[N, 2]`.

    In float64: sums of float32 depend on the address, by which the test would tell equal images apart.
    """
    return np.array([(float(image.mean()), float(image.std())) for image in map(Tensor.double, images)])


def p_value(one: np.ndarray, other: np.ndarray) -> float:
    """Of a Kolmogorov-Smirnov test; of two constants, 1 if they differ by less than half a level of 255."""
    if np.ptp(one) < 1e-6 and np.ptp(other) < 1e-6:
        return float(abs(one[0] - other[0]) < 0.5 / 255)
    return float(ks_2samp(one, other).pvalue)


def one_core_ratio(pair: Pair) -> float:
    """CPU seconds of a batch of the original over those of the recipe, alternating."""
    ratios = []
    for _ in range(ROUNDS):
        moments = [time.process_time()]
        pair.ours()
        moments.append(time.process_time())
        pair.original()
        moments.append(time.process_time())
        ratios.append((moments[2] - moments[1]) / (moments[1] - moments[0]))
    return statistics.median(ratios)


def two_core_ratio(pair: Pair) -> float:
    """Wall seconds of the original over those of the recipe with two threads, alternating.

    Originals of single images run in the two workers of a `DataLoader`; those of batches take two threads.
    """
    torch.set_num_threads(CORES)
    loader = DataLoader(Results(pair.theirs), BATCH, num_workers=CORES, persistent_workers=True)
    theirs = partial(_make_batches, pair.theirs) if pair.makes_batches else partial(deque, loader, maxlen=0)
    theirs()  # starts the workers
    ratios = []
    for _ in range(ROUNDS):
        ours = _seconds(partial(_make_batches, pair.ours))
        ratios.append(_seconds(theirs) / ours)
    torch.set_num_threads(1)
    return statistics.median(ratios)


def _make_batches(make: Callable[[], Any]) -> None:
    for _ in range(BATCHES):
        make()


def _seconds(call: Callable[[], Any]) -> float:
    time.sleep(PAUSE)
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def row(name: str, pair: Pair, draws: int) -> str:
    calls = range(draws // BATCH)
    ours, theirs = (np.concatenate([summaries(make()) for _ in calls]) for make in (pair.ours, pair.original))
    recipe, _, view = name.partition(",")
    title = f"`{recipe}`,{view}" if view else f"`{recipe}`"
    cells = [title, f"{pair.package} {version(pair.package)}"]
    for column in range(2):
        one, other = ours[:, column], theirs[:, column]
        quantiles = [np.quantile(each, (0.05, 0.5, 0.95)) for each in (one, other)]
        cells += [", ".join(f"{value:.3f}" for value in each) for each in quantiles]
        cells.append(f"{p_value(one.round(pair.digits), other.round(pair.digits)):.2g}")
    cells += [f"{ratio(pair):.1f}" for ratio in (one_core_ratio, two_core_ratio)]
    return " | ".join(["", *cells, ""]).strip()


def main(
    draws: Annotated[int, typer.Option(help="Draws of each recipe and each original.")] = 2000,
) -> None:
    """Print a row per recipe."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    cv2.setNumThreads(0)  # as Ultralytics sets it
    image = Image.fromarray(load_photograph("coffee")[:300, :400])
    for name, pair in pairs_of(image).items():
        print(row(name, pair, draws), flush=True)


if __name__ == "__main__":
    typer.run(main)
