"""Runs typical torchvision pipelines with torchvision and with orbbec, by changing only the import.

    python scripts/try_torchvision.py [--draws 2000]

Prints a table: whether shapes and dtypes agree, the means of the pixels, and the p-values of flips, sizes and
positions of crops (two-sample chi-squared). The exit status is 1 if they do not agree. Needs torchvision.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from photographs import load_photograph
from PIL import Image
from torch import Tensor
from torchvision import tv_tensors
from torchvision.transforms import v2

from orbbec import transforms as ot

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SIDE = 128  # pixels of the image whose pixels encode their position
COUNT = 64  # images for the statistics of pixels
LEAST = 1e-4  # probability that a test fails by chance: about 0.6 % for some 60 tests


class Recipe(NamedTuple):
    """A pipeline made of the transforms of a module.

    Args:
        name: its origin.
        make: makes the transforms from the module.
        has_boxes: whether it takes a target with boxes.
    """

    name: str
    make: Callable[[Any], list[Any]]
    has_boxes: bool = False


def floats(t: Any) -> list[Any]:
    return [t.ToDtype(torch.float32, scale=True), t.Normalize(MEAN, STD)]


def classifier(t: Any, augment: list[Any]) -> list[Any]:
    crop = t.RandomResizedCrop(96, interpolation=t.InterpolationMode.BILINEAR, antialias=True)
    flip = t.RandomHorizontalFlip(0.5)
    return [crop, flip, *augment, t.PILToTensor(), *floats(t), t.RandomErasing(p=0.1)]


def for_boxes(t: Any, *steps: Any) -> list[Any]:
    boxes = [t.ConvertBoundingBoxFormat(tv_tensors.BoundingBoxFormat.XYXY), t.SanitizeBoundingBoxes()]
    return [t.ToImage(), *steps, t.ToDtype(torch.float32, scale=True), *boxes, t.ToPureTensor()]


def contrastive(
    t: Any, size: int, scale: tuple[float, float], jitter: Any, blur: Any, mode: Any
) -> list[Any]:
    crop = t.RandomResizedCrop(size, scale=scale, interpolation=mode)
    colors = [t.RandomApply([jitter], p=0.8), t.RandomGrayscale(p=0.2), *blur]
    return [crop, t.RandomHorizontalFlip(p=0.5), *colors, t.ToImage(), *floats(t)]


def simclr(t: Any) -> list[Any]:
    jitter, blur = t.ColorJitter(0.8, 0.8, 0.8, 0.2), t.RandomApply([t.GaussianBlur(9, (0.1, 2.0))], p=0.5)
    return contrastive(t, 96, (0.08, 1.0), jitter, [blur], t.InterpolationMode.BILINEAR)


def dino(t: Any, size: int, scale: tuple[float, float], p_blur: float, p_solarize: float) -> list[Any]:
    blur = [t.RandomApply([t.GaussianBlur(5, (0.1, 2.0))], p=p_blur), t.RandomSolarize(128, p=p_solarize)]
    return contrastive(t, size, scale, t.ColorJitter(0.4, 0.4, 0.2, 0.1), blur, t.InterpolationMode.BICUBIC)


def timm(t: Any) -> list[Any]:
    crop = t.RandomResizedCrop(96, scale=(0.08, 1.0), interpolation=t.InterpolationMode.BICUBIC)
    steps = [crop, t.RandomHorizontalFlip(p=0.5), t.ColorJitter(0.4, 0.4, 0.4), t.ToTensor()]
    return [*steps, t.Normalize(MEAN, STD)]


RECIPES = [
    Recipe("torchvision, classification", lambda t: classifier(t, [])),
    Recipe("... with TrivialAugmentWide", lambda t: classifier(t, [t.TrivialAugmentWide()])),
    Recipe("... with RandAugment", lambda t: classifier(t, [t.RandAugment()])),
    Recipe("... with AutoAugment", lambda t: classifier(t, [t.AutoAugment()])),
    Recipe("... with AugMix", lambda t: classifier(t, [t.AugMix()])),
    Recipe(
        "... evaluation",
        lambda t: [t.Resize(112, antialias=True), t.CenterCrop(96), t.PILToTensor(), *floats(t)],
    ),
    Recipe("torchvision, detection, hflip", lambda t: for_boxes(t, t.RandomHorizontalFlip(0.5)), True),
    Recipe(
        "... lsj",
        lambda t: for_boxes(
            t,
            t.ScaleJitter((112, 112), antialias=True),
            t.RandomCrop((112, 112), pad_if_needed=True, fill=114),
            t.RandomHorizontalFlip(0.5),
        ),
        True,
    ),
    Recipe(
        "... multiscale",
        lambda t: for_boxes(t, t.RandomShortestSize((80, 96, 112), 200), t.RandomHorizontalFlip(0.5)),
        True,
    ),
    Recipe(
        "... ssd",
        lambda t: for_boxes(
            t,
            *(t.RandomPhotometricDistort(), t.RandomZoomOut(fill=114), t.RandomIoUCrop()),
            t.RandomHorizontalFlip(0.5),
        ),
        True,
    ),
    Recipe("... ssdlite", lambda t: for_boxes(t, t.RandomIoUCrop(), t.RandomHorizontalFlip(0.5)), True),
    Recipe("... evaluation", lambda t: for_boxes(t), True),
    Recipe("SimCLR", simclr),
    Recipe("DINO, first global view", lambda t: dino(t, 96, (0.4, 1.0), 1.0, 0.0)),
    Recipe("DINO, second global view", lambda t: dino(t, 96, (0.4, 1.0), 0.1, 0.2)),
    Recipe("DINO, local view", lambda t: dino(t, 48, (0.05, 0.4), 0.5, 0.0)),
    Recipe("timm, training", timm),
]
# For these, the source of each pixel is known: they change no colors and do not blend with a fill.
GEOMETRIC = {
    *("RandomResizedCrop", "RandomHorizontalFlip", "Resize", "CenterCrop", "RandomShortestSize"),
    *("RandomIoUCrop", "ScaleJitter", "ToImage", "PILToTensor"),
}


def sample_of(image: Image.Image, has_boxes: bool) -> Any:
    """A sample of a Dataset: an image, and a target with boxes if the recipe takes one."""
    if not has_boxes:
        return image
    width, height = image.size
    sides = torch.tensor([[0.1, 0.2, 0.6, 0.7], [0.5, 0.4, 0.9, 0.95]]) * torch.tensor([width, height] * 2)
    boxes = tv_tensors.BoundingBoxes(sides, format="XYXY", canvas_size=(height, width))
    return image, {"boxes": boxes, "labels": torch.tensor([1, 2])}


def image_in(result: Any) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


def described(result: Any) -> tuple[Any, ...]:
    """The structure, types and dtypes of a result, and its shape if the recipe determines it."""
    if isinstance(result, dict):
        return tuple((key, *described(value)) for key, value in result.items())
    if isinstance(result, tuple):
        return tuple(map(described, result))
    kind = "Tensor" if isinstance(result, tv_tensors.Image) else type(result).__name__  # orbbec's ToImage
    return kind, result.dtype, result.dim()


def pixels(module: Any, recipe: Recipe, photos: list[Image.Image]) -> list[Any]:
    pipeline = module.Compose(recipe.make(module))
    return [pipeline(sample_of(photos[n % len(photos)], recipe.has_boxes)) for n in range(COUNT)]


def geometry(module: Any, recipe: Recipe, draws: int) -> np.ndarray[Any, Any]:
    """Per draw: whether it is flipped, and the visible width, height and center."""
    rows, columns = np.mgrid[:SIDE, :SIDE].astype(np.uint8)
    image = Image.fromarray(np.stack([columns, rows, np.zeros_like(rows)], 2))
    steps = [step for step in recipe.make(module) if type(step).__name__ in GEOMETRIC]
    pipeline = module.Compose([*steps, module.ToDtype(torch.float32, scale=False)] if module is ot else steps)
    found = np.empty((draws, 5))
    for n in range(draws):
        result = image_in(pipeline(sample_of(image, recipe.has_boxes)))
        seen = np.asarray(result, np.float64)
        seen = seen if seen.shape[0] == 3 else seen.transpose(2, 0, 1)
        (left, right), (top, bottom) = seen[0][:, [1, -2]].mean(0), seen[1][[1, -2]].mean(1)
        found[n] = left > right, abs(right - left), abs(bottom - top), (left + right) / 2, (top + bottom) / 2
    return found


def likelihood(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The p-value of a two-sample chi-squared test over at most ten bins."""
    both = np.concatenate([one, other])
    values = np.unique(both.round(6))
    middles = (values[1:] + values[:-1]) / 2
    inner = middles if len(values) <= 10 else np.unique(np.quantile(both, np.linspace(0, 1, 11)[1:-1]))
    edges = np.concatenate([[-np.inf], inner, [np.inf]])
    counts = np.stack([np.histogram(each, edges)[0] for each in (one, other)])
    counts = counts[:, counts.sum(0) > 0]
    if counts.shape[1] < 2:
        return 1.0
    expected = counts.sum(0) * counts.sum(1, keepdims=True) / counts.sum()
    statistic, degrees = ((counts - expected) ** 2 / expected).sum(), counts.shape[1] - 1
    return float(torch.special.gammaincc(torch.tensor(degrees / 2.0), torch.tensor(statistic / 2.0)))


def tried(recipe: Recipe, photos: list[Image.Image], draws: int) -> tuple[str, bool]:
    """The row of a recipe, and whether both libraries agree."""
    modules: tuple[ModuleType, ModuleType] = v2, ot
    theirs, ours = (pixels(module, recipe, photos) for module in modules)
    same = {described(result) for result in theirs} == {described(result) for result in ours}
    shapes = [{tuple(image_in(result).shape) for result in each} for each in (theirs, ours)]
    same = same and (shapes[0] == shapes[1] or min(map(len, shapes)) > 1)
    means = [np.mean([float(image_in(result).mean()) for result in each]) for each in (theirs, ours)]
    lows = [min(float(image_in(result).min()) for result in each) for each in (theirs, ours)]
    highs = [max(float(image_in(result).max()) for result in each) for each in (theirs, ours)]
    drawn = [geometry(module, recipe, draws) for module in modules]
    chances = [likelihood(drawn[0][:, k], drawn[1][:, k]) for k in range(5)]
    cells = [
        recipe.name,
        "same" if same else f"{shapes[0]} and {shapes[1]}",
        " and ".join(f"{low:.2f}..{high:.2f}" for low, high in zip(lows, highs, strict=True)),
        " and ".join(f"{mean:.3f}" for mean in means),
        *(f"{chance:.2g}" for chance in chances),
    ]
    return f"| {' | '.join(cells)} |", same and min(chances) > LEAST


def main(draws: Annotated[int, typer.Option(help="Draws that are compared.")] = 2000) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    photos = [
        Image.fromarray(load_photograph(name)).resize((150, 130)) for name in ("astronaut", "cat", "coffee")
    ]
    head = ["pipeline", "shapes, kinds, dtypes", "range", "mean", "flip", "width", "height", "x", "y"]
    print(f"| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    differ = []
    for recipe in RECIPES:
        row, agrees = tried(recipe, photos, draws)
        print(row, flush=True)
        differ += [] if agrees else [recipe.name]
    if differ:
        raise SystemExit(f"do not agree: {', '.join(differ)}")


if __name__ == "__main__":
    typer.run(main)
