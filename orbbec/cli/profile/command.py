"""The command `python -m orbbec profile`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import torch
import typer

from orbbec.batch import ImageBatch
from orbbec.cli.preview import read_images, read_pipeline
from orbbec.cli.profile.profile import FEWEST_ROUNDS, profile


def profile_command(
    pipeline: Annotated[Path, typer.Option(help="A file of Compose.to_yaml or Compose.to_json.")],
    images: Annotated[list[Path] | None, typer.Argument(help="Image files. Without any: noise.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="Number of images of noise.")] = 64,
    size: Annotated[
        str, typer.Option(help="Height and width of the images of noise, in pixels.")
    ] = "375x500",
    device: Annotated[str, typer.Option(help="The device: cpu or cuda.")] = "cpu",
    rounds: Annotated[int, typer.Option(min=FEWEST_ROUNDS, help="Rounds to take the medians of.")] = 11,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write all numbers to a file.")
    ] = None,
) -> None:
    """Time each pass of a pipeline, and compare it with a copy of the bytes that it must move."""
    compose = read_pipeline(pipeline)
    pixels = [torch.from_numpy(image) for image in read_images(images or []).values()]
    image_batch = ImageBatch.from_images(pixels or noise(batch, size)).to(checked_device(device))
    found = profile(compose, image_batch, rounds=rounds)
    print(found)
    if json_file is not None:
        json_file.write_text(json.dumps(found.to_dict(), indent=1) + "\n")


def checked_device(name: str) -> torch.device:
    """A CPU or a GPU, which must exist.

    Example:
        >>> checked_device("cpu")
        device(type='cpu')
    """
    if re.fullmatch(r"cpu|cuda(:\d+)?", name) is None:
        raise ValueError(f"profile: expected --device cpu, cuda or cuda:N, but got {name}")
    if name != "cpu" and not torch.cuda.is_available():
        raise ValueError(
            f"profile: torch sees no GPU, so --device cannot be {name}: see `python -m orbbec doctor`"
        )
    return torch.device(name)


def noise(count: int, size: str) -> list[torch.Tensor]:
    """Images of noise: uint8 `[H, W, 3]`, of a size like 375x500.

    Example:
        >>> [image.shape for image in noise(1, "4x5")]
        [torch.Size([4, 5, 3])]
    """
    if re.fullmatch(r"[1-9]\d*x[1-9]\d*", size) is None:
        raise ValueError(f"profile: expected --size like 375x500, but got {size}")
    height, width = map(int, size.split("x"))
    draw = torch.Generator(device="cpu").manual_seed(0)
    shape = height, width, 3
    pixels = torch.randint(0, 256, (count, *shape), dtype=torch.uint8, device="cpu", generator=draw)
    return list(pixels)
