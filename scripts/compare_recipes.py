"""Compares recipes with their originals on one photograph: statistics of results, and CPU time per image.

    .venv-loops/bin/python scripts/compare_recipes.py [--draws 2000]

Prints the table of docs/reference/recipes.md. Each draw is summarized by the mean and the standard deviation
of its values; the p-value of a Kolmogorov-Smirnov test says how likely one distribution gives such samples.
"""

import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from lerobot.datasets.transforms import ImageTransforms, ImageTransformsConfig
from photographs import load_photograph
from PIL import Image
from scipy.stats import ks_2samp
from timm.data import auto_augment, create_transform
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode, v2

from orbbec import recipes
from orbbec.recipes.views import simclr_view
from orbbec.transforms import Compose

SIZE, BATCH = 112, 50  # pixels, images
LEFT_OUT = ("sharpness", "affine")  # of LeRobot
NORMALIZED = [
    v2.ToImage(),
    v2.ToDtype(torch.float32, scale=True),
    v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
]
BOXES = [[100.0, 50.0, 300.0, 250.0], [200.0, 120.0, 390.0, 290.0]]


class Pair(NamedTuple):
    """A recipe and its original, which takes one PIL image.

    Args:
        package: where the original is.
        ours: the recipe.
        theirs: from a PIL image to floats `[3, H, W]`.
        targets: whether boxes are drawn along.
    """

    package: str
    ours: Compose
    theirs: Callable[..., Any]
    targets: bool = False


def of_lerobot() -> Callable[[Any], Tensor]:
    config = ImageTransformsConfig(enable=True)
    config.tfs = {name: each for name, each in config.tfs.items() if name not in LEFT_OUT}
    return v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), ImageTransforms(config)])


def posterize(image: Image.Image, bits: int, **how: Any) -> Image.Image:
    """Posterization to 0 bits too, which timm draws and Pillow 13 refuses."""
    return image.point([value >> (8 - bits) << (8 - bits) for value in range(256)] * 3)


def of_timm() -> Callable[[Any], Tensor]:
    auto_augment.NAME_TO_OP["PosterizeIncreasing"] = posterize
    erasing = {"re_prob": 0.25, "re_mode": "pixel"}
    return create_transform(
        SIZE, True, auto_augment="rand-m9-mstd0.5-inc1", interpolation="bilinear", **erasing
    )


PAIRS = {
    "imagenet_train": Pair(
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
    "timm_train": Pair("timm", recipes.timm_train(SIZE), of_timm()),
    "mae": Pair(
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
    "simclr, a view": Pair(
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
    "ssd_train": Pair(
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
        targets=True,
    ),
    "segmentation": Pair(
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
    "lerobot": Pair("lerobot", recipes.lerobot(), of_lerobot()),
}


def by_theirs(pair: Pair, image: Image.Image, count: int) -> list[Tensor]:
    if not pair.targets:
        return [pair.theirs(image) for _ in range(count)]
    boxes = tv_tensors.BoundingBoxes(BOXES, format="XYXY", canvas_size=(image.height, image.width))
    return [pair.theirs(image, boxes)[0] for _ in range(count)]


def by_ours(pair: Pair, batch: Tensor) -> Tensor:
    if not pair.targets:
        return pair.ours(batch)
    return pair.ours(batch, [{"boxes": torch.tensor(BOXES)}] * len(batch))[0]


def summaries(images: Any) -> np.ndarray:
    """The mean and the standard deviation of each image: `[N, 2]`."""
    return np.array([(float(image.mean()), float(image.std())) for image in images])


def cpu_ratio(pair: Pair, image: Image.Image, batch: Tensor, rounds: int = 7) -> float:
    """CPU seconds of the original over those of the recipe, both in one process, in turns."""
    ratios = []
    for _ in range(rounds):
        moments = [time.process_time()]
        by_ours(pair, batch)
        moments.append(time.process_time())
        by_theirs(pair, image, len(batch))
        moments.append(time.process_time())
        ratios.append((moments[2] - moments[1]) / (moments[1] - moments[0]))
    return statistics.median(ratios)


def row(name: str, pair: Pair, image: Image.Image, draws: int) -> str:
    batch = torch.from_numpy(np.array(image)).permute(2, 0, 1).expand(BATCH, -1, -1, -1)
    ours = np.concatenate([summaries(by_ours(pair, batch)) for _ in range(draws // BATCH)])
    theirs = summaries(by_theirs(pair, image, len(ours)))
    title = "`simclr`, a view" if "," in name else f"`{name}`"
    cells = [title, f"{pair.package} {version(pair.package)}"]
    for column in range(2):
        one, other = ours[:, column], theirs[:, column]
        quantiles = [np.quantile(each, (0.05, 0.5, 0.95)) for each in (one, other)]
        cells += [", ".join(f"{value:.3f}" for value in each) for each in quantiles]
        cells.append(f"{ks_2samp(one, other).pvalue:.2f}")
    return " | ".join(["", *cells, f"{cpu_ratio(pair, image, batch):.1f}", ""]).strip()


def main(
    draws: Annotated[int, typer.Option(help="Draws of each recipe and each original.")] = 2000,
) -> None:
    """Print a row per recipe."""
    torch.manual_seed(0)
    np.random.seed(0)
    torch.set_num_threads(1)
    image = Image.fromarray(load_photograph("coffee")[:300, :400])
    for name, pair in PAIRS.items():
        print(row(name, pair, image, draws), flush=True)


if __name__ == "__main__":
    typer.run(main)
