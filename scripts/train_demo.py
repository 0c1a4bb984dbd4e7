"""Trains a small network on real photographs, from JPEG files to the loss, with augmentation by orbbec.

Variable-size tiles of photographs are written as JPEGs, one folder per photograph; the network learns
which photograph a tile comes from. A `Loader` reads and decodes them, and one call warps each batch on the
device, each image by a random matrix. cv2 also computes everything that the network sees, starting from the
file, and the bytes are compared. Then another network learns without labels with SimCLR's pipeline in the
loader, and a detector with a pipeline that transforms boxes and masks.

Exits with 1 if a byte differs or a loss does not fall.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated

import cv2
import learn_detection
import learn_simclr
import numpy as np
import torch
import typer
from augmentation import SIZE, random_matrices, warp_by_cv2, warp_by_orbbec
from contact_sheet import Row, draw_contact_sheet
from learning import convolutions
from photographs import Image, load_photographs
from rich.console import Console
from rich.table import Table
from torch import nn

import orbbec
from orbbec.batch import collate
from orbbec.data import Batch, ImageFolder, Loader, live

TILES_PER_PHOTOGRAPH = 48
TILE_SIDES = (96, 288)  # pixels: smallest and largest side of a tile
QUALITY = 95  # of their JPEGs
TIMED_BATCHES = 4  # in the comparison of speed
FALL = 0.6  # the last epoch's loss must be below this fraction of the first's
PICTURES = 6  # augmented pictures of a photograph in the contact sheet

console = Console()


def write_tiles(photographs: dict[str, Image], folder: Path) -> ImageFolder:
    """Cut `TILES_PER_PHOTOGRAPH` tiles of random position, size and shape from each photograph."""
    random = np.random.default_rng(0)
    for name, photograph in photographs.items():
        (folder / name).mkdir()
        for number in range(TILES_PER_PHOTOGRAPH):
            tile = cut_tile(photograph, random)[:, :, ::-1]
            cv2.imwrite(str(folder / name / f"{number:02d}.jpg"), tile, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    return ImageFolder(folder)


def read_by_cv2(source: ImageFolder, sample_ids: list[int]) -> list[Image]:
    return [cv2.imread(source.paths[sample_id], cv2.IMREAD_COLOR_RGB) for sample_id in sample_ids]


def cut_tile(photograph: Image, random: np.random.Generator) -> Image:
    height, width = np.minimum(random.integers(*TILE_SIDES, size=2, endpoint=True), photograph.shape[:2])
    top = random.integers(photograph.shape[0] - height, endpoint=True)
    left = random.integers(photograph.shape[1] - width, endpoint=True)
    return np.ascontiguousarray(photograph[top : top + height, left : left + width])


def small_network(classes: int) -> nn.Sequential:
    layers = convolutions(3, 16, 32, 64, 64)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


@dataclass
class History:
    """The mean loss of each epoch, the last accuracy, and the comparison with cv2."""

    losses: list[float] = field(default_factory=list)
    accuracy: float = 0.0
    images: int = 0
    values: int = 0
    largest_difference: int = 0

    def compare(self, actual: torch.Tensor, expected: Image) -> None:
        """Compare `[N, C, H, W]` with `[N, H, W, C]`."""
        ours = actual.permute(0, 2, 3, 1).cpu().numpy()
        assert ours.shape == expected.shape
        self.images += len(ours)
        self.values += ours.size
        self.largest_difference = max(self.largest_difference, int(cv2.norm(ours, expected, cv2.NORM_INF)))


@dataclass
class Training:
    """A network in training, and its input."""

    network: nn.Module
    device: str
    source: ImageFolder
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=3e-3)

    def run(self, loader: Loader, epochs: int) -> History:
        label = ""
        for epoch in range(epochs):
            losses, rights = [], []
            for batch in live(loader, f"epoch {epoch + 1:2d}{label}", console):
                loss, right = self.step(batch, epoch)
                losses.append(loss)
                rights.append(right)
            self.history.losses.append(statistics.mean(losses))
            self.history.accuracy = statistics.mean(rights)
            label = f" (from loss {self.history.losses[-1]:.3f})"
        return self.history

    def step(self, batch: Batch, epoch: int) -> tuple[float, float]:
        """Augment, train, and compare with cv2; the loss, and the fraction of images classified correctly."""
        sample_ids, labels = batch.sample_ids.tolist(), batch.targets["label"]
        matrices = random_matrices(batch.images.sizes.cpu(), sample_ids, epoch)
        augmented = warp_by_orbbec(batch.images, matrices, self.device)
        scores = self.network(augmented.float() / 127.5 - 1)
        loss = nn.functional.cross_entropy(scores, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

        self.history.compare(augmented, warp_by_cv2(read_by_cv2(self.source, sample_ids), matrices))
        return loss.item(), (scores.argmax(1) == labels).float().mean().item()


def work_to_time(batches: list[Batch], device: str) -> dict[str, Callable[[], None]]:
    """Augment some batches, from tiles in memory to one array or tensor per batch."""
    images = [batch.images.to("cpu") for batch in batches]
    arrays = [[image.numpy() for image in batch] for batch in images]
    ids = [batch.sample_ids.tolist() for batch in batches]
    matrices = [random_matrices(batch.sizes, i, epoch=0) for batch, i in zip(images, ids, strict=True)]

    def by_cv2() -> None:
        for batch, matrix in zip(arrays, matrices, strict=True):
            warp_by_cv2(batch, matrix)

    def by_orbbec() -> None:
        for batch, matrix in zip(images, matrices, strict=True):
            warp_by_orbbec(batch, matrix, device)
        wait_for(device)

    def by_orbbec_with_collate() -> None:
        for batch, matrix in zip(arrays, matrices, strict=True):
            warp_by_orbbec(collate(batch), matrix, device)
        wait_for(device)

    return {
        "cv2.warpAffine, image by image": by_cv2,
        "orbbec.warp_affine, a batch per call": by_orbbec,
        "the same, and its collate": by_orbbec_with_collate,
    }


def wait_for(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize(device)


def median_seconds(work: dict[str, Callable[[], None]], threads: int, rounds: int) -> list[float]:
    """The median time of each rival over alternating rounds, after a warm-up."""
    torch.set_num_threads(threads)
    cv2.setNumThreads(threads)
    taken: list[list[float]] = []
    for _ in range(1 + rounds):
        seconds = []
        for function in work.values():
            begin = time.perf_counter()
            function()
            seconds.append(time.perf_counter() - begin)
        taken.append(seconds)
    return [statistics.median(times) for times in zip(*taken[1:], strict=True)]


def speed_table(work: dict[str, Callable[[], None]], images: int, device: str, rounds: int) -> Table:
    """Images per second of each, and the ratio to the first, with one thread and with all threads."""
    table = Table("", title=f"images per second, {device}, median of {rounds} rounds", title_justify="left")
    columns = [list(work)]
    for threads in sorted({1, torch.get_num_threads()}):
        table.add_column("1 thread" if threads == 1 else f"{threads} threads", justify="right")
        table.add_column("ratio", justify="right")
        seconds = median_seconds(work, threads, rounds)
        columns.append([f"{images / each:,.0f}" for each in seconds])
        columns.append([f"{seconds[0] / each:.2f}" for each in seconds])
    for row in zip(*columns, strict=True):
        table.add_row(*row)
    return table


def contact_sheet_rows(tiles: list[Image], labels: list[int], names: list[str], epochs: int) -> list[Row]:
    """The largest tile of each photograph, and its augmented images in the first epochs."""
    rows = []
    for label, name in enumerate(names):
        own = [index for index, other in enumerate(labels) if other == label]
        sample_id = max(own, key=lambda index: tiles[index].size)
        image = tiles[sample_id]
        batch = orbbec.ImageBatch.from_images([image])
        seen = [
            warp_by_orbbec(batch, random_matrices(batch.sizes, [sample_id], epoch), "cpu")[0]
            .permute(1, 2, 0)
            .numpy()
            for epoch in range(min(PICTURES, epochs))
        ]
        rows.append(Row(name, image, seen))
    return rows


def main(
    epochs: Annotated[int, typer.Option(min=2)] = 10,
    batch_size: Annotated[int, typer.Option(min=2)] = 32,
    device: Annotated[str, typer.Option(help="cpu or cuda; by default cuda where there is one.")] = "",
    rounds: Annotated[int, typer.Option(min=1, help="Of the comparison of speed.")] = 11,
    other_epochs: Annotated[int, typer.Option(min=2, help="Epochs of SimCLR and of the detector.")] = 8,
    output: Annotated[Path, typer.Option(help="Folder for the contact sheets.")] = Path("outputs"),
) -> None:
    """Train a small network with orbbec's augmentation in the loop, compared with cv2 all the way."""
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    photographs = load_photographs()
    with tempfile.TemporaryDirectory() as folder:
        source = write_tiles(photographs, Path(folder))
        good = learn_classes(source, batch_size, device, epochs, rounds, output / "train_demo.png")
        trained = [learn_simclr.learn(source, other_epochs, device, console, output / "train_simclr.png")]
    scenes = output / "train_detection.png"
    trained.append(learn_detection.learn(photographs, other_epochs, device, console, scenes))
    for learned in trained:
        text, has_learned = learned.check()
        console.print("[green]✓[/]" if has_learned else "[red]✗[/]", text, highlight=False)
        console.print(learned.pipeline(), highlight=False)
        good &= has_learned
    if not good:
        raise typer.Exit(1)


def learn_classes(
    source: ImageFolder, batch_size: int, device: str, epochs: int, rounds: int, sheet: Path
) -> bool:
    """Train, compare and time; returns whether everything is correct."""
    versions = f"orbbec {orbbec.__version__}, torch {torch.__version__}, OpenCV {cv2.__version__}"
    sides = "{} to {} pixels a side".format(*TILE_SIDES)
    console.print(f"{versions}, on {device}", highlight=False)
    console.print(f"{len(source)} JPEGs of {len(source.classes)} photographs, {sides}", highlight=False)

    loader = Loader(source, batch_size, None, device, drop_last=True)
    training = Training(small_network(len(source.classes)).to(device), device, source)
    history = training.run(loader, epochs)
    console.print(str(loader.report()), highlight=False)
    timed = list(islice(loader, TIMED_BATCHES))
    console.print(speed_table(work_to_time(timed, device), len(timed) * batch_size, device, rounds))

    subtitle = (
        f"Left: a tile of each photograph. Right: what the network saw of it, {SIZE[1]} x {SIZE[0]}. Largest "
        f"difference from OpenCV {cv2.__version__} in {history.images:,} images: {history.largest_difference}"
    )
    rows = contact_sheet_rows(
        read_by_cv2(source, list(range(len(source)))), source.labels, source.classes, epochs
    )
    draw_contact_sheet(sheet, "orbbec: from files to the training loop", subtitle, rows, history.losses)
    return report(history, sheet)


def report(history: History, sheet: Path) -> bool:
    """Print the results; returns whether everything is correct."""
    first, last = history.losses[0], history.losses[-1]
    checks = {
        f"largest difference from cv2: {history.largest_difference}, over {history.images:,} images, "
        f"{history.values:,} bytes": history.largest_difference == 0,
        f"loss {first:.3f} in the first epoch, {last:.3f} in the last; accuracy {history.accuracy:.0%}": (
            last < FALL * first
        ),
    }
    for text, good in checks.items():
        console.print("[green]✓[/]" if good else "[red]✗[/]", text, highlight=False)
    console.print(f"  contact sheet: {sheet}", highlight=False)
    return all(checks.values())


if __name__ == "__main__":
    typer.run(main)
