"""The commands `python -m orbbec pack` and `python -m orbbec index`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from orbbec.data.readers.detect import open_source
from orbbec.data.readers.folders import ImageFolder
from orbbec.data.readers.pack import SHARD_BYTES, pack
from orbbec.data.readers.shards import index_archives
from orbbec.data.sample import Fault, Source, printable

_MIB = 1 << 20


def pack_command(
    source: Annotated[Path, typer.Argument(help="A folder of images or a data set.")],
    folder: Annotated[Path, typer.Argument(help="The folder to write the archives to.")],
    images: Annotated[
        Path | None, typer.Option(help="The folder of the images that a .csv or .json file lists.")
    ] = None,
    split: Annotated[str, typer.Option(help="The split of CIFAR: train or test.")] = "train",
    trust_paths: Annotated[
        bool,
        typer.Option("--trust-paths", help="Let a .csv or .json file name images outside of that folder."),
    ] = False,
    shard_mib: Annotated[int, typer.Option(help="Size of an archive in MiB.", min=1)] = SHARD_BYTES // _MIB,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Shuffle the samples.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the shuffled order.", min=0)] = 0,
    on_error: Annotated[
        str, typer.Option(help="At a sample that cannot be read: raise, or skip and list it.")
    ] = "raise",
) -> None:
    """Write a data set to tar archives with an index and checksums; continue after an interruption."""
    opened = open_source(source, images=images, split=split, trust_paths=trust_paths)
    if isinstance(opened, ImageFolder) and folder.resolve().is_relative_to(source.resolve()):
        raise ValueError(
            f"pack: expected a folder outside of {source}, whose folders are classes, but got {folder}"
        )
    with _bar(len(opened) if isinstance(opened, Source) else None) as progress:
        packed = pack(
            opened,
            folder,
            shard_bytes=shard_mib * _MIB,
            shuffle=shuffle,
            seed=seed,
            on_error=on_error,
            progress=progress,
        )
    archives = "1 archive" if packed.archives == 1 else f"{packed.archives} archives"
    before = f", {packed.resumed} of them before" if packed.resumed else ""
    typer.echo(printable(f"{packed.samples} samples in {archives} in {folder}{before}"))
    for sample_id, path, reason in packed.skipped:
        typer.echo(f"skipped {Fault(sample_id, path, reason)}")


def index_command(
    folder: Annotated[Path, typer.Argument(help="A folder of .tar files.")],
) -> None:
    """Write an index of each tar archive in a folder, for random access and exact shuffling."""
    count = index_archives(folder)
    typer.echo(printable(f"indexed {count} samples in {folder}"))


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[int], None]]:
    columns = TextColumn("packing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.update(task, completed=done)
