"""The command line: `python -m orbbec doctor | preview | profile | pack | index | bench-data`."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from orbbec.cli.doctor import advise, collect, report
from orbbec.cli.pack import index_command, pack_command
from orbbec.cli.preview import draw_rows, read_images, read_pipeline, read_targets, write_sheet
from orbbec.cli.profile.command import profile_command

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def commands() -> None:
    """Image augmentation operators for PyTorch."""


app.command("pack")(pack_command)
app.command("index")(index_command)
app.command("profile")(profile_command)


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print facts and advice as JSON.")] = False,
) -> None:
    """Show versions, the binary, GPUs and whether CUDA works, with advice on problems."""
    facts = collect()
    advice = advise(facts)
    print(json.dumps({**asdict(facts), "advice": advice}, indent=2) if as_json else report(facts, advice))


@app.command()
def preview(
    images: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Image files.")],
    pipeline: Annotated[Path, typer.Option(exists=True, help="The pipeline: a Compose as .yaml or .json.")],
    out: Annotated[Path, typer.Option(help="Output file: .png, .jpg, .webp or .html.")],
    targets: Annotated[
        Path | None,
        typer.Option(exists=True, help="Boxes, points, masks: a .json file keyed by image file name."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Number of epochs to show per image.")] = 6,
    seed: Annotated[int | None, typer.Option(min=0, help="Overrides the pipeline's seed.")] = None,
    epoch: Annotated[int, typer.Option(min=0, help="First epoch to show.")] = 0,
    side: Annotated[int, typer.Option(min=16, help="Side of each picture in pixels.")] = 192,
) -> None:
    """Draw images next to their augmentations, with boxes, points and masks."""
    try:
        loaded = read_pipeline(pipeline)
        loaded = loaded if seed is None else replace(loaded, seed=seed)
        pixels = read_images(images)
        given = None if targets is None else read_targets(targets, pixels)
        rows, plan = draw_rows(loaded, pixels, given, draws, epoch)
        write_sheet(out, rows, plan, side, loaded.target_options.box_format)
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"{out}: {len(rows)} images, {draws} draws of each")


@app.command("bench-data")
def bench_data(
    folder: Annotated[str, typer.Argument(help="Folder whose JPEGs are read, recursively.")],
    threads: Annotated[
        str, typer.Option(help="Numbers of threads, such as 1,2: one table for each.")
    ] = "1,2",
    images: Annotated[int, typer.Option(min=1, help="Images per round.")] = 512,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds per contender, after one warm-up round.")] = 5,
) -> None:
    """Time JPEGs on disk to batches: the Loader, thread pools with cv2, and torchvision with a DataLoader."""
    from orbbec.cli.bench_data import jpegs_below, measure, table

    try:
        paths = jpegs_below(folder)
    except ValueError as error:
        raise SystemExit(f"{error}") from error
    for count in map(int, threads.split(",")):
        print(f"\n{len(paths)} JPEGs to [64, 3, 224, 224] float32, {count} threads on {count} cores")
        print(table(measure(paths, count, images, rounds)), flush=True)


if __name__ == "__main__":
    app(prog_name="python -m orbbec")
