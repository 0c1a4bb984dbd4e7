"""Trains the detector of learn_detection.py with `recipes.yolo_train`, and with this recipe without mosaics.

    python scripts/learn_mosaic.py [--epochs 40]

The scenes are few, drawn once; the measure is the average precision on new scenes, at an IoU of one half.
"""

import time
from typing import Annotated

import torch
import typer
from learn_detection import BATCH, SIDE, Detector, Target, boxes_of, grids, scene
from photographs import COLORED, Image, load_photograph
from torch import Tensor, nn

import orbbec
from orbbec import ImageBatch, recipes
from orbbec.transforms import Compose, Mosaic

SCENES, UNSEEN, LAST = 96, 96, 5  # scenes to train on and to measure with; epochs at the end without mosaics
NMS = 0.5


def average_precision(results: list[tuple[Tensor, Tensor, Tensor]], least: float = 0.5) -> float:
    """The area under precision and recall.

    Args:
        results: boxes, scores and true boxes of each image.
        least: the overlap of a box that was found.
    """
    hits, scores = [], []
    for boxes, score, truth in results:
        taken = torch.zeros(len(truth), dtype=torch.bool)
        for n in score.argsort(descending=True).tolist():
            overlap = orbbec.box_iou(boxes[n : n + 1], truth)[0] * ~taken
            is_hit = len(truth) > 0 and float(overlap.max()) >= least
            taken[overlap.argmax()] |= is_hit
            hits.append(float(is_hit))
            scores.append(float(score[n]))
    found = torch.tensor(hits)[torch.tensor(scores).argsort(descending=True)].cumsum(0)
    precision = found / torch.arange(1, len(found) + 1)
    best = precision.flip(0).cummax(0).values.flip(0)
    recall = torch.cat([torch.zeros(1), found]) / sum(len(truth) for *_, truth in results)
    return float((recall.diff() * best).sum())


@torch.no_grad()
def measured(network: nn.Module, images: ImageBatch, targets: list[Target]) -> float:
    """The average precision of a network."""
    inputs, moved = recipes.yolo_val(SIDE)(images, targets)
    results = []
    for grid, target in zip(network.eval()(inputs)[0], moved, strict=True):
        boxes, scores = boxes_of(grid)
        rows = orbbec.nms(boxes, scores, NMS)[:20]
        results.append((boxes[rows], scores[rows], target["boxes"].float()))
    return average_precision(results)


def loss_of(said: Tensor, wanted: Tensor) -> Tensor:
    here = wanted[:, :1]
    score = nn.functional.binary_cross_entropy_with_logits(said[:, :1], here, pos_weight=torch.tensor(10.0))
    return score + 0.5 * ((said[:, 1:] - wanted[:, 1:]).abs() * here).sum() / here.sum().clamp(min=1)


def learn(pipeline: Compose, images: list[Image], targets: list[Target], epochs: int) -> nn.Module:
    """Train a detector on scenes."""
    torch.manual_seed(0)
    network, augment = Detector(), orbbec.on_device(pipeline, seed=1)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        augment.set_epoch(epoch)
        for rows in torch.randperm(len(images)).split(BATCH):
            batch = ImageBatch.from_images([images[n] for n in rows])
            inputs, moved = augment(batch, [targets[n] for n in rows])
            loss = loss_of(network(inputs)[0], grids(moved)[0])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return network


def main(epochs: Annotated[int, typer.Option(help="Epochs of each training.")] = 40) -> None:
    """Train with and without mosaics."""
    torch.set_num_threads(1)
    grounds = [load_photograph(name) for name in COLORED if name != "cat"]
    texture = load_photograph("cat")[60:]
    scenes = [scene(grounds[n % len(grounds)], texture, n) for n in range(SCENES + UNSEEN)]
    images = [image for image, _ in scenes]
    targets = [{key: torch.from_numpy(value) for key, value in target.items()} for _, target in scenes]
    recipe = recipes.yolo_train(SIDE, epochs, close_mosaic=LAST)
    alone = [each for each in recipe.transforms if not isinstance(each, Mosaic)]
    without = Compose(alone, recipe.seed, target_options=recipe.target_options)
    for name, pipeline in (("with mosaics", recipe), ("without", without)):
        begin = time.process_time()
        network = learn(pipeline, images[:SCENES], targets[:SCENES], epochs)
        precision = measured(network, ImageBatch.from_images(images[SCENES:]), targets[SCENES:])
        print(f"{name}: AP50 {precision:.3f}, {time.process_time() - begin:.0f} s of CPU time", flush=True)


if __name__ == "__main__":
    typer.run(main)
