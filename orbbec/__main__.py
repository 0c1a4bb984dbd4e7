"""The command line: `python -m orbbec doctor | preview | profile | pack | index | bench-data`."""

import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from orbbec.cli.doctor import advise, collect, report
from orbbec.cli.preview import draw_rows, read_chain, read_images, read_targets, write_sheet
from orbbec.cli.profile.command import profile_command
from orbbec.data.commands import index_command, pack_command

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
    """Show versions, the binary, GPUs and whether CUDA works here, and give advice for what is off."""
    facts = collect()
    advice = advise(facts)
    print(json.dumps({**asdict(facts), "advice": advice}, indent=2) if as_json else report(facts, advice))


@app.command()
def preview(
    images: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Image files.")],
    pipeline: Annotated[Path, typer.Option(exists=True, help="The chain: .yaml or .json of a Compose.")],
    out: Annotated[Path, typer.Option(help="What to write: .png, .jpg, .webp or .html.")],
    targets: Annotated[
        Path | None, typer.Option(exists=True, help="Boxes, points, masks: .json by file name of the image.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Epochs shown of each image.")] = 6,
    seed: Annotated[int | None, typer.Option(min=0, help="In place of the chain's own.")] = None,
    epoch: Annotated[int, typer.Option(min=0, help="The first one shown.")] = 0,
    side: Annotated[int, typer.Option(min=16, help="Of each picture, in pixels.")] = 192,
) -> None:
    """Draw images beside what a chain makes of them, with their boxes, points and masks."""
    try:
        chain = read_chain(pipeline)
        chain = chain if seed is None else replace(chain, seed=seed)
        pixels = read_images(images)
        given = None if targets is None else read_targets(targets, pixels)
        rows, plan = draw_rows(chain, pixels, given, draws, epoch)
        write_sheet(out, rows, plan, side, chain.target_options.box_format)
    except (ImportError, OSError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
    print(f"{out}: {len(rows)} images, {draws} draws of each")


@app.command("bench-data")
def bench_data(
    folder: Annotated[str, typer.Argument(help="JPEGs below it are read.")],
    threads: Annotated[str, typer.Option(help="How many, as in 1,2: a table each.")] = "1,2",
    images: Annotated[int, typer.Option(min=1, help="A round.")] = 512,
    rounds: Annotated[int, typer.Option(min=1, help="Of each contender, after one that warms up.")] = 5,
) -> None:
    """Time JPEGs on disk to batches: the Loader beside thread pools of cv2 and torchvision's DataLoader."""
    from orbbec.data.bench_data import jpegs_below, measure, table

    try:
        paths = jpegs_below(folder)
    except ValueError as error:
        raise SystemExit(f"{error}") from error
    for count in map(int, threads.split(",")):
        print(f"\n{len(paths)} JPEGs to [64, 3, 224, 224] float32, {count} threads on {count} cores")
        print(table(measure(paths, count, images, rounds)), flush=True)


if __name__ == "__main__":
    app(prog_name="python -m orbbec")
