"""Trains a detector of pasted ovals with a pipeline that moves boxes and masks with the images.

Ovals of one photograph are pasted on others. For each cell of a grid, the network predicts whether it
contains the center of an oval, and the size of the oval; for each pixel, whether it belongs to one. The
measure is the fraction of ovals in unseen scenes with a predicted box of IoU of at least one half.
"""

import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from learning import Learned, convolutions
from photographs import Image
from rich.console import Console
from torch import Tensor, nn

import orbbec
from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.cli.preview import draw_rows, write_sheet
from orbbec.data import Loader, Sample, live

SIDE, CELL, BATCH = 96, 8, 24  # pixels: side of an image, of a cell; number of images
SCENES, UNSEEN = 192, 48
END = (T.ToDtype(torch.float32, scale=True), T.Normalize())
OPTIONS = T.TargetOptions(min_size=4.0, min_visibility=0.3)
PIPELINE = T.Compose(
    [
        T.RandomZoomOut(fill=114, side_range=(1.0, 1.5), p=0.3),
        T.RandomIoUCrop(min_scale=0.5),
        T.RandomHorizontalFlip(),
        T.Letterbox(SIDE, fill=114),
        T.RandomPhotometricDistort(hue=(-0.02, 0.02), p=0.3),
        *END,
    ],
    seed=2,
    target_options=OPTIONS,
)
WITHOUT_CHANCE = T.Compose([T.Letterbox(SIDE, fill=114), *END], target_options=OPTIONS)
Target = dict[str, Any]


def scene(background: Image, texture: Image, seed: int) -> tuple[Image, Target]:
    """A crop of a photograph with one to three ovals of another one, and their boxes and masks."""
    draw = np.random.default_rng(seed)
    height, width = draw.integers(96, 161, 2)
    top, left = draw.integers(0, np.array(background.shape[:2]) - (height, width))
    image = background[top : top + height, left : left + width].copy()
    y, x = np.mgrid[:height, :width] + 0.5
    boxes, masks = [], []
    for _ in range(int(draw.integers(1, 4))):
        w, h = draw.uniform(24, 48, 2)
        middle_x, middle_y = draw.uniform(w / 2, width - w / 2), draw.uniform(h / 2, height - h / 2)
        mask = (2 * (x - middle_x) / w) ** 2 + (2 * (y - middle_y) / h) ** 2 <= 1
        if masks and (mask & np.any(masks, axis=0)).any():
            continue
        image[mask] = texture[:height, :width][mask]
        boxes.append([middle_x - w / 2, middle_y - h / 2, middle_x + w / 2, middle_y + h / 2])
        masks.append(mask)
    return image, {"boxes": np.array(boxes), "masks": np.array(masks)}


def as_jpeg(image: Image) -> bytes:
    return bytes(cv2.imencode(".jpg", image[:, :, ::-1])[1])


class Detector(nn.Module):
    """Predicts a score, a position and a size per cell, and a score per pixel at half resolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.rest = convolutions(3, 16), convolutions(16, 32, 64)
        self.boxes = nn.Conv2d(64, 5, 3, padding=1)
        self.masks = nn.Sequential(nn.Conv2d(64 + 16, 16, 1), nn.ReLU(), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        fine = self.first(images)
        coarse = self.rest(fine)
        wide = nn.functional.interpolate(coarse, size=fine.shape[2:], mode="nearest")
        return self.boxes(coarse), self.masks(torch.cat([fine, wide], 1))


def grids(targets: list[Target]) -> tuple[Tensor, Tensor]:
    """The expected predictions: `[N, 5, cells, cells]` and `[N, 1, half side, half side]`."""
    cells = SIDE // CELL
    boxes, masks = torch.zeros(len(targets), 5, cells, cells), torch.zeros(len(targets), 1, SIDE, SIDE)
    for n, target in enumerate(targets):
        for left, top, right, bottom in target["boxes"].tolist():
            x, y = (left + right) / 2 / CELL, (top + bottom) / 2 / CELL
            column, row = min(int(x), cells - 1), min(int(y), cells - 1)
            sizes = (right - left) / CELL, (bottom - top) / CELL
            boxes[n, :, row, column] = torch.tensor([1, x - column, y - row, *sizes])
        masks[n, 0] = target["masks"].any(0)
    return boxes, masks[:, :, ::2, ::2]


def loss_of(said: tuple[Tensor, Tensor], wanted: tuple[Tensor, Tensor]) -> Tensor:
    (boxes, masks), (true_boxes, true_masks) = said, wanted
    here = true_boxes[:, :1]
    binary, weight = nn.functional.binary_cross_entropy_with_logits, torch.tensor(10.0)
    score = binary(boxes[:, :1], here, pos_weight=weight.to(here.device))
    offsets = ((boxes[:, 1:] - true_boxes[:, 1:]).abs() * here).sum() / here.sum().clamp(min=1)
    return score + 0.5 * offsets + binary(masks, true_masks)


def boxes_of(grid: Tensor) -> tuple[Tensor, Tensor]:
    """The xyxy boxes in pixels and the scores of predictions `[5, cells, cells]`."""
    row, column = torch.meshgrid(*[torch.arange(grid.shape[-1], device=grid.device)] * 2, indexing="ij")
    middle = torch.stack([column + grid[1], row + grid[2]], -1) * CELL
    half = grid[3:].permute(1, 2, 0).abs() * CELL / 2
    return torch.cat([middle - half, middle + half], -1).reshape(-1, 4), grid[0].sigmoid().flatten()


@torch.no_grad()
def recall(network: nn.Module, images: list[Image], targets: list[Target], device: str) -> float:
    """The fraction of true boxes that are found with a score and an overlap of at least one half."""
    network.eval()
    batch, moved = WITHOUT_CHANCE(ImageBatch.from_images(images).to(device), targets)
    found, count = 0, 0
    for grid, target in zip(network(batch)[0].cpu(), moved, strict=True):
        boxes, scores = boxes_of(grid)
        boxes = boxes[scores > 0.5]
        kept = boxes[orbbec.nms(boxes, scores[scores > 0.5], 0.5)]
        truth = torch.from_numpy(target["boxes"]).float()
        count += len(truth)
        if len(kept):
            found += int((orbbec.box_iou(truth, kept).max(1).values > 0.5).sum())
    network.train()
    return found / count


def learn(photographs: dict[str, Image], epochs: int, device: str, console: Console, sheet: Path) -> Learned:
    """Train on JPEGs of scenes made of photographs; the ovals come from the one named cat."""
    begin = time.perf_counter()
    grounds = [image for name, image in photographs.items() if name != "cat" and min(image.shape[:2]) > 170]
    scenes = [scene(grounds[n % len(grounds)], photographs["cat"][60:], n) for n in range(SCENES + UNSEEN)]
    images, targets = map(list, zip(*scenes, strict=True))
    unseen = images[SCENES:], targets[SCENES:]
    source = [Sample(as_jpeg(images[n]), targets[n], n) for n in range(SCENES)]
    loader = Loader(source, BATCH, PIPELINE, device, collate=list)
    network = Detector().to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    learned = Learned("detection", fall=0.9, measure="unseen ovals found")
    learned.before = recall(network, *unseen, device)
    for epoch in range(epochs):
        losses = []
        for seen, moved, _ in live(loader, f"detection {epoch + 1:2d}", console):
            loss = loss_of(network(seen), tuple(grid.to(device) for grid in grids(moved)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        learned.losses.append(sum(losses) / len(losses))
    console.print(str(loader.report()), highlight=False)
    learned.after = recall(network, *unseen, device)
    learned.seconds = loader.seconds["augment"], time.perf_counter() - begin
    shown = {f"scene {n}": images[n] for n in range(8)}
    rows, learned.passes = draw_rows(PIPELINE, shown, targets[:8], draws=7)
    write_sheet(sheet, rows, learned.passes, side=128)
    learned.sheet = sheet
    return learned
