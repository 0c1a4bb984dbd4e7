"""The command `python -m orbbec preview`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orbbec.cli.preview.draws import draw_rows
from orbbec.cli.preview.presets import PRESETS, preset
from orbbec.cli.preview.reading import read_pipeline, read_targets
from orbbec.cli.preview.sheet import check_type, write_sheet
from orbbec.cli.preview.sources import select, shown_by_class
from orbbec.data.sample import printable
from orbbec.transforms import Compose


def preview_command(
    sources: Annotated[
        list[Path],
        typer.Argument(
            help="Images, folders of images, or data sets: COCO .json, YOLO .yaml, shards, .npz and others."
        ),
    ],
    preset_name: Annotated[
        str | None, typer.Option("--preset", help=f"A ready pipeline: {', '.join(PRESETS)}.")
    ] = None,
    pipeline: Annotated[
        Path | None, typer.Option(help="Your own pipeline: a file of Compose.to_yaml or Compose.to_json.")
    ] = None,
    out: Annotated[
        Path, typer.Option(help="The file to write: .html with a slider for epochs, or .png, .jpg, .webp.")
    ] = Path("preview.html"),
    images: Annotated[
        Path | None, typer.Option(help="The folder of the images that a .json or .csv file lists.")
    ] = None,
    targets: Annotated[
        Path | None,
        typer.Option(help="Boxes, points and masks of image files: a .json file keyed by file name."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Images to show of each folder or data set.")] = 8,
    draws: Annotated[int, typer.Option(min=1, help="Epochs to show.")] = 6,
    epoch: Annotated[int, typer.Option(min=0, help="The first epoch to show.")] = 0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the random draws, in place of the pipeline's.")
    ] = None,
    side: Annotated[int, typer.Option(min=16, help="Largest side of each picture in pixels.")] = 280,
) -> None:
    """Show what a pipeline does to your images, with boxes, points and masks.

    Example: python -m orbbec preview photos/ --preset simclr
    """
    check_type(out)
    chosen = _pipeline(preset_name, pipeline)
    chosen = chosen if seed is None else replace(chosen, seed=seed)
    selection = select(sources, count, images)
    if targets is None:
        options = replace(chosen.target_options, box_format="xyxy")  # as the readers give boxes
        chosen = replace(chosen, target_options=options)
    all_targets = selection.targets if targets is None else read_targets(targets, selection.images)
    rows, plan = draw_rows(chosen, selection.images, all_targets, draws, epoch)
    rows = [[shown_by_class(shown, selection.classes) for shown in row] for row in rows]
    title = preset_name or Path(str(pipeline)).name
    write_sheet(out, rows, plan, side, chosen.target_options.box_format, title=title, epoch=epoch)
    images_shown, epochs = counted(len(rows), "image"), counted(draws, "epoch")
    print(printable(f"{out}: {images_shown}, {epochs}"))


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "image"), counted(2, "image")
        ('1 image', '2 images')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _pipeline(name: str | None, file: Path | None) -> Compose:
    if (name is None) == (file is None):
        count = "neither" if name is None else "both"
        raise ValueError(
            f"preview: expected --preset ({', '.join(PRESETS)}) or --pipeline FILE, but got {count}"
        )
    return preset(name) if name is not None else read_pipeline(Path(str(file)))
