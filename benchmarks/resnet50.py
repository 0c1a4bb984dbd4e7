"""Trains a ResNet-50 from JPEG files through the Loader; reports its speed relative to repeating one batch.

    python -m benchmarks.resnet50 [FOLDER] [--device cpu|cuda] [--batch 256] [--steps 60] [--output DIR]

FOLDER contains JPEGs; without it, photographs are made. On CUDA, weights are channels_last and mixed
precision is used. Needs torchvision for the model. Writes DIR/<machine>/resnet50.json and .md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.ops.transforms import classification
from benchmarks.peers.contest import why_missing
from benchmarks.peers.w3_load import photographs
from orbbec.cli.bench_data import Files, jpegs_below
from orbbec.cli.doctor import collect
from orbbec.data import Decoding, Loader
from orbbec.data.loader.loader import Batch
from tests.support.timing.measure import ROOT, machine_name, provenance, row
from tests.support.timing.records import write_records

CLASSES, FILES, WARM_UP = 1000, 2048, 10
NOTE = """A ResNet-50 is trained on parts of 224x224 of JPEG files: decoded, cropped, flipped and normalized
by the Loader. *one batch*: images per second with one repeated batch, which no loader exceeds;
*alone*: those of the Loader without a model. Compared with other loaders: W3 of `make peers`."""


@dataclass
class Speed:
    """Images per second with one way of decoding."""

    decoding: str
    alone: float
    training: float
    one_batch: float
    advice: str


class Trainer:
    """SGD steps; labels are derived from sample ids, since accuracy is not measured."""

    def __init__(self, model: nn.Module, device: str) -> None:
        layout = torch.channels_last if device == "cuda" else torch.contiguous_format
        self.model = model.to(device=device, memory_format=layout).train()
        self.device = device
        self.layout = layout
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()

    def __call__(self, batch: Batch) -> None:
        images: Tensor = batch.images.contiguous(memory_format=self.layout)
        labels = (batch.sample_ids % CLASSES).to(self.device, non_blocking=True)
        with torch.autocast(self.device, enabled=self.device == "cuda"):
            loss = self.loss(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def wait(self) -> float:
        """Seconds on a clock, after the device has finished its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def resnet50() -> nn.Module:
    from torchvision.models import resnet50 as build

    model: nn.Module = build(num_classes=CLASSES)
    return model


def endless(loader: Loader) -> Generator[Batch, None, None]:
    """The batches of endless epochs."""
    epoch = 0
    while True:
        loader.set_epoch(epoch)
        yield from loader
        epoch += 1


def images_a_second(
    batches: Iterable[Batch], steps: int, work: Callable[[Batch], None], wait: Callable[[], float]
) -> float:
    """Images per second over `steps` batches, after a warm-up."""
    taken = iter(batches)
    for batch in islice(taken, WARM_UP):
        work(batch)
    began, images = wait(), 0
    for batch in islice(taken, steps):
        work(batch)
        images += len(batch.sample_ids)
    return images / (wait() - began)


def measure(
    paths: Sequence[str], trainer: Trainer, where: str, decoding: Decoding, batch: int, steps: int
) -> Speed:
    """Time one way of decoding."""

    def loader() -> Loader:
        pipeline = classification("float32", antialias=True)
        return Loader(Files(paths), batch, pipeline, trainer.device, drop_last=True, decoding=decoding)

    with loader() as alone:
        lone = images_a_second(endless(alone), steps, lambda batch: None, trainer.wait)
    with loader() as fed, closing(endless(fed)) as batches:
        first = next(batches)
        for same in fed.synthetic(first, steps):
            trainer(same)
        training = images_a_second(batches, steps, trainer, trainer.wait)
        report = fed.report()
    return Speed(where, lone, training, report.synthetic, report.advice)


def page(about: dict[str, Any], speeds: Sequence[Speed]) -> str:
    """The Markdown of a run."""
    lines = [
        f"# A ResNet-50 compared with its synthetic bound: {about['gpu'] or about['cpu']}, {about['date']}",
        "",
    ]
    lines += [f"orbbec {about['orbbec']} at {about['commit']}, torch {about['torch']}; batches of"]
    lines += [f"{about['batch']}, {about['steps']} steps each.", "", NOTE, ""]
    lines += [row(["decoded", "alone", "training", "one batch", "fraction", "advice"])]
    lines += [row(["---", "---:", "---:", "---:", "---:", "---"])]
    for one in speeds:
        fraction = f"{one.training / one.one_batch:.3f}"
        figures = [f"{value:.0f}" for value in (one.alone, one.training, one.one_batch)]
        lines.append(row([one.decoding, *figures, fraction, one.advice]))
    return "\n".join(lines) + "\n"


def decodings(device: str) -> dict[str, Decoding]:
    """Ways of decoding, by device."""
    found = {"on the host": Decoding()}
    if device == "cuda":
        found["on the host, to planes"] = Decoding(planes=True)
        found["on the device"] = Decoding(device="cuda")
        if not why_missing("nvidia.nvimgcodec"):
            found["on the device, by nvImageCodec"] = Decoding(device="nvimgcodec")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", help="of JPEGs; photographs are made without it")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks")
    options = parser.parse_args()
    paths = jpegs_below(options.folder) if options.folder else photographs(FILES)[1]
    trainer = Trainer(resnet50(), options.device)
    speeds, failed = [], []
    for name, decoding in decodings(options.device).items():
        try:
            speeds.append(measure(paths, trainer, name, decoding, options.batch, options.steps))
            print(speeds[-1], flush=True)
        except Exception as error:  # the other ways are to run
            failed.append(f"{name}: {type(error).__name__}: {error}")
            print(f"FAILED: {failed[-1]}", flush=True)
    facts = collect()
    about = {**provenance(facts, options.device, 1), "batch": options.batch, "steps": options.steps}
    path = options.output / machine_name(facts, options.device) / "resnet50"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {**about, "speeds": [asdict(speed) for speed in speeds]}
    write_records(path.with_suffix(".json"), content)
    path.with_suffix(".md").write_text(page(about, speeds))
    print(path.with_suffix(".md").read_text())
    if failed:
        raise SystemExit("\n".join(failed))


if __name__ == "__main__":
    main()
