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
from orbbec.data.readers.pack import SHARD_BYTES, pack
from orbbec.data.readers.shards import index_archives
from orbbec.data.sample import BadSample, Source

_MIB = 1 << 20


def pack_command(
    src: Annotated[Path, typer.Argument(help="A folder or file of images.")],
    dst: Annotated[Path, typer.Argument(help="Folder to write the archives to.")],
    images: Annotated[
        Path | None, typer.Option(help="Folder of the images listed in a .csv or .json file.")
    ] = None,
    split: Annotated[str, typer.Option(help="CIFAR split: train or test.")] = "train",
    trust_paths: Annotated[
        bool,
        typer.Option(
            "--trust-paths", help="Accept paths in a .csv or .json file that leave the image folder."
        ),
    ] = False,
    shard_mib: Annotated[int, typer.Option(help="Size of an archive in MiB.", min=1)] = SHARD_BYTES // _MIB,
    shuffle: Annotated[bool, typer.Option("--shuffle", help="Pack in a shuffled order.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the shuffled order.", min=0)] = 0,
    on_error: Annotated[str, typer.Option(help="Unreadable samples: raise, or skip and list.")] = "raise",
) -> None:
    """Write samples to tar archives with an index and checksums. The same command resumes after a stop."""
    with _said():
        source = open_source(src, images=images, split=split, trust_paths=trust_paths)
        with _bar(len(source) if isinstance(source, Source) else None) as progress:
            packed = pack(
                source,
                dst,
                shard_bytes=shard_mib * _MIB,
                shuffle=shuffle,
                seed=seed,
                on_error=on_error,
                progress=progress,
            )
    before = f", {packed.resumed} of them before" if packed.resumed else ""
    typer.echo(f"{packed.samples} samples in {packed.archives} archives in {dst}{before}")
    for sample_id, path, reason in packed.skipped:
        typer.echo(f"skipped sample {sample_id} ({path}): {reason}")


def index_command(
    folder: Annotated[Path, typer.Argument(help="A folder of .tar files.")],
) -> None:
    """Write the index of each tar archive of a folder, for random access and exact shuffling."""
    with _said():
        count = index_archives(folder)
    typer.echo(f"indexed {count} samples in {folder}")


@contextmanager
def _said() -> Iterator[None]:
    """Report errors that the user can fix in one line, without a traceback."""
    try:
        yield
    except (BadSample, OSError, ValueError, TypeError, ImportError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error


@contextmanager
def _bar(total: int | None) -> Iterator[Callable[[int], None]]:
    columns = TextColumn("packing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.update(task, completed=done)
