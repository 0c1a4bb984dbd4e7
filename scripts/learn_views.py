"""Trains a small network without labels on two views of each image, made by `recipes.simclr`.

    python scripts/learn_views.py [--steps 600]

An image shows one of six patterns, of any two colors, width and rotation, under noise. The measure is a
linear probe: a linear classifier of the features of the network is fitted with labels, and classifies new
images. It is measured before and after the training, in which there are no labels.
"""

import time
from typing import Annotated

import numpy as np
import torch
import typer
from learn_simclr import contrast
from learning import convolutions
from torch import Tensor, nn

from orbbec import recipes
from orbbec import transforms as T
from orbbec.data import Loader, Sample

SIDE, CROP, BATCH, IMAGES = 48, 40, 128, 2048  # pixels, images
PATTERNS = 6  # stripes, checks, dots, rings, waves, grids
RIDGE = 1e-2  # of the linear classifier, for features of variance 1


def drawn(seed: int) -> tuple[np.ndarray, int]:
    """An image, and the number of its pattern."""
    draw = np.random.default_rng(seed)
    label, angle, width = int(draw.integers(PATTERNS)), draw.uniform(0, 2 * np.pi), draw.uniform(2, 4)
    y, x = (np.mgrid[:SIDE, :SIDE] - draw.uniform(0, SIDE, (2, 1, 1))) * np.pi / width
    u, v = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    pattern = (
        np.sin(u),
        2 * np.sin(u) * np.sin(v),
        np.sin(u) + np.sin(v) - 0.8,
        np.sin(np.hypot(u, v)),
        np.sin(u + 2 * np.sin(v / 2)),
        np.maximum(np.sin(u / 2), np.sin(v / 2)) * 3 - 2,
    )[label]
    dark, bright = draw.uniform(0, 100, 3), draw.uniform(120, 255, 3)
    weight = (1 + np.tanh(3 * pattern)[..., None]) / 2
    if draw.random() < 0.5:
        weight = 1 - weight
    image = dark + weight * (bright - dark) + draw.normal(0, 20, (SIDE, SIDE, 3))
    return np.rint(image).clip(0, 255).astype(np.uint8), label


def samples(seeds: range) -> list[Sample]:
    """Drawn images with their labels."""
    pairs = map(drawn, seeds)
    return [Sample(image, {"label": label}, seed) for seed, (image, label) in zip(seeds, pairs, strict=True)]


@torch.no_grad()
def features_of(backbone: nn.Module, source: list[Sample]) -> tuple[Tensor, Tensor]:
    """Features `[N, C]` and labels."""
    backbone.eval()
    whole = [T.Resize((CROP, CROP)), T.ToDtype(torch.float32, scale=True)]
    with Loader(source, 256, whole, shuffle=False) as loader:
        pairs = [(backbone(images), targets["label"]) for images, targets, _ in loader]
    backbone.train()
    features, labels = zip(*pairs, strict=True)
    return torch.cat(features), torch.cat(labels)


def linear_probe(backbone: nn.Module, known: list[Sample], new: list[Sample]) -> float:
    """The fraction of new images that a linear classifier of the features of known ones gets right."""
    (features, labels), (others, expected) = features_of(backbone, known), features_of(backbone, new)
    mean, deviation = features.mean(0), features.std(0) + 1e-6

    def standardized(values: Tensor) -> Tensor:
        return nn.functional.pad((values - mean) / deviation, (0, 1), value=1.0).double()

    rows, queries = standardized(features), standardized(others)
    wanted = nn.functional.one_hot(labels, PATTERNS).double()
    penalty = RIDGE * len(rows) * torch.eye(rows.shape[1], dtype=torch.float64)
    weights = torch.linalg.solve(rows.T @ rows + penalty, rows.T @ wanted)
    return float(((queries @ weights).argmax(1) == expected).float().mean())


def main(steps: Annotated[int, typer.Option(help="Training steps.", min=1)] = 600) -> None:
    """Train, and print the linear probe before and after."""
    begin = time.perf_counter()
    torch.manual_seed(0)
    backbone = nn.Sequential(convolutions(3, 24, 48, 96), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    head = nn.Sequential(nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 48))
    optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=2e-3, weight_decay=1e-4)
    known, new = samples(range(IMAGES)), samples(range(IMAGES, 2 * IMAGES))
    before = linear_probe(backbone, known, new)
    losses: list[float] = []
    with Loader(known, BATCH, recipes.simclr(CROP, strength=0.5), drop_last=True) as loader:
        while len(losses) < steps:
            for (one, other), _, _ in loader:
                loss = contrast(head(backbone(one)), head(backbone(other)))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
                if len(losses) == steps:
                    break
    after = linear_probe(backbone, known, new)
    print(f"loss {losses[0]:.2f} in the first step, {losses[-1]:.2f} in the last of {steps}")
    print(f"linear probe: {before:.1%} of {len(new)} new images before, {after:.1%} after")
    print(f"{time.process_time():.0f} s of CPU time, {time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    typer.run(main)
