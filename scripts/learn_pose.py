"""Trains a small network to tell the left hand of a figure from its right one, under flips.

    python scripts/learn_pose.py [--steps 400]

A figure is seen from the front, with a face, or from behind: its left hand is on the right of the image or
on the left. `keypoint_pairs` exchanges the hands when an image is mirrored; without it, flips teach the
contrary. The measure is the fraction of new figures whose left hand is predicted nearer to the left than to
the right one.
"""

from typing import Annotated

import cv2
import numpy as np
import torch
import typer
from learning import convolutions
from torch import Tensor, nn

import orbbec
from orbbec import transforms as T

SIDE, BATCH, FIGURES = 48, 64, 512  # pixels, images


def figure(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An image, and its left and right hand."""
    draw = np.random.default_rng(seed)
    image = np.full((SIDE, SIDE, 3), draw.integers(120, 250, 3), np.uint8)
    x, y = (int(each) for each in draw.integers(20, 29, 2))
    hands = [(int(x + side * draw.integers(9, 15)), int(y + draw.integers(-10, 11))) for side in (1, -1)]
    cv2.circle(image, (x, y - 11), 6, (150, 110, 90), -1)
    cv2.line(image, (x, y - 6), (x, y + 14), (40, 60, 110), 5)
    for hand in hands:
        cv2.line(image, (x, y - 3), hand, (40, 60, 110), 2)
        cv2.circle(image, hand, 2, (150, 110, 90), -1)
    is_front = draw.random() < 0.5
    if is_front:
        for eye in (-2, 2):
            cv2.circle(image, (x + eye, y - 12), 1, (0, 0, 0), -1)
    return image, np.array(hands if is_front else hands[::-1], np.float32)


def figures(seeds: range) -> tuple[Tensor, Tensor]:
    """Images `[N, 3, H, W]` and hands `[N, 2, 2]`."""
    images, hands = zip(*map(figure, seeds), strict=True)
    return torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2), torch.from_numpy(np.stack(hands))


def learn(pairs: tuple[tuple[int, int], ...], steps: int) -> float:
    """Train with flips; returns the fraction of new figures whose left hand is told from the right one."""
    torch.manual_seed(0)
    options = T.TargetOptions(keypoint_pairs=pairs)
    end = T.ToDtype("float32", scale=True)
    pipeline = T.Compose([T.RandomHorizontalFlip(), T.ColorJitter(0.3, 0.3), end], target_options=options)
    augment = orbbec.on_device(pipeline, seed=1)
    network = nn.Sequential(
        convolutions(3, 16, 32, 64), nn.Flatten(), nn.Linear(64 * 36, 4), nn.Unflatten(1, (2, 2))
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    images, hands = figures(range(FIGURES))
    for _ in range(steps):
        rows = torch.randint(FIGURES, (BATCH,))
        batch, targets = augment(images[rows], {"keypoints": hands[rows]})
        loss = (network(batch) - targets["keypoints"] / SIDE).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    images, hands = figures(range(FIGURES, 2 * FIGURES))
    with torch.no_grad():
        left = SIDE * network.eval()(end(images))[:, 0]
    distances = (hands - left[:, None]).norm(dim=-1)
    return float((distances[:, 0] < distances[:, 1]).float().mean())


def main(steps: Annotated[int, typer.Option(help="Training steps of each network.")] = 400) -> None:
    """Train with and without pairs."""
    for pairs in (((0, 1),), ()):
        name = "with" if pairs else "without"
        print(f"{name} keypoint_pairs: left and right are right in {learn(pairs, steps):.1%} of new figures")


if __name__ == "__main__":
    typer.run(main)
