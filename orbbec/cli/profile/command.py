"""The command `python -m orbbec profile`."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import torch
import typer

from orbbec.batch import ImageBatch
from orbbec.cli.preview import read_images, read_pipeline
from orbbec.cli.profile.profile import FEWEST_ROUNDS, profile


def profile_command(
    pipeline: Annotated[Path, typer.Option(exists=True, help="The pipeline: .yaml or .json of a Compose.")],
    images: Annotated[
        list[Path] | None, typer.Argument(exists=True, dir_okay=False, help="Image files; none: noise.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, help="Images of noise.")] = 64,
    size: Annotated[
        str, typer.Option(help="Size of the images of noise: height and width in pixels.")
    ] = "375x500",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    rounds: Annotated[
        int, typer.Option(min=FEWEST_ROUNDS, help="How many rounds the medians are taken over.")
    ] = 11,
    json_file: Annotated[Path | None, typer.Option("--json", help="A file for all numbers.")] = None,
) -> None:
    """Time a pipeline pass by pass, and compare it with a copy of the bytes that it must move."""
    try:
        compose = read_pipeline(pipeline)
        pixels = [torch.from_numpy(image) for image in read_images(images or []).values()]
        given = ImageBatch.from_images(pixels or noise(batch, size)).to(device)
        found = profile(compose, given, rounds=rounds)
    except (ImportError, OSError, RuntimeError, TypeError, ValueError) as error:
        print(error, file=sys.stderr)
        raise typer.Exit(1) from error
    print(found)
    if json_file is not None:
        json_file.write_text(json.dumps(found.to_dict(), indent=1) + "\n")


def noise(count: int, size: str) -> list[torch.Tensor]:
    """Images of noise: uint8 `[H, W, 3]`.

    Raises:
        ValueError: `size` is not like 375x500.

    Example:
        >>> [image.shape for image in noise(1, "4x5")]
        [torch.Size([4, 5, 3])]
    """
    if re.fullmatch(r"[1-9]\d*x[1-9]\d*", size) is None:
        raise ValueError(f"profile: expected --size like 375x500, but got {size}")
    height, width = map(int, size.split("x"))
    draw = torch.Generator().manual_seed(0)
    shape = height, width, 3
    return [torch.randint(0, 256, shape, dtype=torch.uint8, generator=draw) for _ in range(count)]
