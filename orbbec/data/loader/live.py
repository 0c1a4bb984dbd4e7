"""A progress bar of a loader with the state of its queue."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from orbbec.data.loader.loader import Batch, Loader

if TYPE_CHECKING:
    from rich.console import Console

_PAUSE = 0.1  # seconds between two updates


def live(loader: Loader, label: str = "", console: Console | None = None) -> Iterator[Batch]:
    """The batches of an epoch, with a progress bar that shows `loader.report().line`.

    Args:
        loader: the loader to iterate over.
        label: text before the bar.
        console: rich console to draw on; None: standard output. Without a terminal, only the last state is
            printed.

    Yields:
        The loader's batches.

    Example:
        >>> from orbbec.data import Sample
        >>> source = [Sample(np.zeros((8, 8, 3), np.uint8), {}, i) for i in range(6)]
        >>> sum(len(batch.images) for batch in live(Loader(source, 2), "epoch 1"))  # doctest: +ELLIPSIS
        epoch 1 ━...━ 3/3 ... images/s, ...
        6
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.table import Column

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=8),
        MofNCompleteColumn(),
        TextColumn("{task.fields[line]}", table_column=Column()),  # wraps if it does not fit
    )
    # No auto-refresh: rich's thread would be joined wherever the garbage collector drops this generator.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        task = progress.add_task(label, total=None, line="")
        if loader.order is not None:
            progress.update(task, total=len(loader), completed=len(loader) - loader._count())
        drawn = 0.0
        for batch in loader:
            yield batch
            progress.update(task, advance=1, line=loader.report().line)
            if perf_counter() - drawn >= _PAUSE:
                progress.refresh()
                drawn = perf_counter()
