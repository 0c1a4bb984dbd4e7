"""Contrastive learning with SimCLR's pipeline: two views of each image, to be distinguished from all others.

Labels are used only to measure the result: the fraction of images whose nearest neighbor in feature space
comes from the same photograph.
"""

import time
from pathlib import Path

import torch
from learning import Learned, convolutions
from photographs import Image
from rich.console import Console
from torch import Tensor, nn

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.cli.preview import draw_rows, write_sheet
from orbbec.data import ImageFolder, Loader, decode_image, live

SIDE, BATCH, TEMPERATURE = 64, 96, 0.2  # pixels, images
END = (T.ToDtype(torch.float32, scale=True), T.Normalize())
STEPS = (
    T.RandomResizedCrop(SIDE, scale=(0.2, 1.0), antialias=False),
    T.RandomHorizontalFlip(),
    T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
    T.RandomGrayscale(0.2),
    T.RandomApply([T.GaussianBlur(7, (0.1, 2.0))], p=0.5),
    *END,
)
PIPELINE, OTHER = T.Compose(STEPS, seed=1), T.Compose(STEPS, seed=2)
WITHOUT_CHANCE = T.Compose([T.Resize((SIDE, SIDE)), *END])


def contrast(first: Tensor, second: Tensor) -> Tensor:
    """A loss that is low if the two views of an image are closer to each other than to all others."""
    features = nn.functional.normalize(torch.cat([first, second]), dim=1)
    likeness = features @ features.T / TEMPERATURE
    likeness.fill_diagonal_(-torch.inf)
    pair_indices = torch.arange(len(features), device=features.device).roll(len(first))
    return nn.functional.cross_entropy(likeness, pair_indices)


@torch.no_grad()
def neighbors_of_one_kind(network: nn.Module, images: list[Image], labels: Tensor, device: str) -> float:
    """The fraction of images whose nearest neighbor has their label."""
    network.eval()
    batch = ImageBatch.from_images(images).to(device)
    features = nn.functional.normalize(network(WITHOUT_CHANCE(batch)), dim=1)
    network.train()
    likeness = (features @ features.T).fill_diagonal_(-2)
    return float((labels[likeness.argmax(1).cpu()] == labels).float().mean())


def learn(source: ImageFolder, epochs: int, device: str, console: Console, sheet: Path) -> Learned:
    """Train on JPEG files of different sizes."""
    begin = time.perf_counter()
    backbone = nn.Sequential(convolutions(3, 16, 32, 64, 96), nn.AdaptiveAvgPool2d(1), nn.Flatten()).to(
        device
    )
    head = nn.Sequential(nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 32)).to(device)
    optimizer = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=2e-3)
    images, labels = [decode_image(sample.data) for sample in source], torch.tensor(source.labels)
    learned = Learned("SimCLR", fall=0.97, measure="nearest neighbors of the same photograph")
    learned.before = neighbors_of_one_kind(backbone, images, labels, device)
    # Two views: two loaders with the same order, and pipelines with different seeds.
    first, second = (
        Loader(source, BATCH, pipeline, device, drop_last=True) for pipeline in (PIPELINE, OTHER)
    )
    for epoch in range(epochs):
        losses = []
        for views in zip(live(first, f"SimCLR {epoch + 1:2d}", console), second, strict=True):
            loss = contrast(*(head(backbone(view.images)) for view in views))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        learned.losses.append(sum(losses) / len(losses))
    console.print(str(first.report()), highlight=False)
    learned.after = neighbors_of_one_kind(backbone, images, labels, device)
    augmenting = first.seconds["augment"] + second.seconds["augment"]
    learned.seconds = augmenting, time.perf_counter() - begin
    shown = {f"photograph {label}": images[source.labels.index(label)] for label in set(source.labels)}
    rows, learned.passes = draw_rows(PIPELINE, shown, draws=8)
    write_sheet(sheet, rows, learned.passes, side=112)
    learned.sheet = sheet
    return learned
