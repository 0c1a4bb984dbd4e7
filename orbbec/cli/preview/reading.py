"""Reads images, pipelines and targets from files."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.sample import printable
from orbbec.transforms import Compose

_DISTRIBUTIONS = {"PIL": "pillow", "yaml": "pyyaml"}


def module(name: str) -> Any:
    """Import an optional module.

    Raises:
        ModuleNotFoundError: the module is not installed; the message says what to install.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        distribution = _DISTRIBUTIONS[name.partition(".")[0]]
        raise ModuleNotFoundError(
            f"preview: needs {distribution}, which is not installed: pip install {distribution}"
        ) from error


def read_images(paths: Sequence[Path]) -> dict[str, Array]:
    """Read image files as RGB, uint8 `[H, W, 3]`, by file name.

    Raises:
        ValueError: two files have the same name.
    """
    images = {}
    for path in paths:
        if path.name in images:
            raise ValueError(f"preview: expected files with distinct names, but got {path.name} twice")
        with module("PIL.Image").open(path) as picture:
            images[path.name] = np.array(picture.convert("RGB"))
    return images


def read_pipeline(path: Path) -> Compose:
    """Read a pipeline written by `Compose.to_yaml` or `Compose.to_json`, by file extension.

    Raises:
        ValueError: the extension is not .yaml, .yml or .json, or the file does not describe a pipeline.
    """
    if path.suffix == ".json":
        return Compose.from_dict(read_json(path))
    if path.suffix not in (".yaml", ".yml"):
        raise ValueError(f"preview: expected a pipeline in .yaml, .yml or .json, but got {path.name}")
    return Compose.from_dict(read_yaml(path))


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        ValueError: the file is not JSON; the message names it.
    """
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"preview: expected JSON in {printable(path)}: {error}") from error


def read_yaml(path: Path, *, as_texts: bool = False) -> Any:
    """Read a YAML file; `as_texts`: every scalar as text, also `no`, `007` and `1_11`.

    Raises:
        ValueError: the file is not YAML; the message names it and the line.
    """
    yaml = module("yaml")
    try:
        return yaml.load(path.read_bytes(), yaml.BaseLoader if as_texts else yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"preview: expected YAML in {printable(path)}: {reason}") from error


def read_targets(path: Path, images: dict[str, Array]) -> list[dict[str, Any]]:
    """Read the targets of images from a JSON file.

    The file is an object of image file names and their targets: an object of `boxes`, `keypoints`,
    `landmarks` (lists of numbers), `polygons` (a list of points for each), `masks` (names of image files in
    the folder of the JSON file, one per row, nonzero inside the object), `mask` (one such name; its levels
    are classes) and other entries, such as `labels`, which are kept. Images that are not listed have no
    targets.

    Raises:
        ValueError: the file has another structure or targets of none of the images, or a mask has another
            size than its image.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise ValueError(f"preview: expected {path.name} to contain an object of objects, one per image")
    if images and not images.keys() & content.keys():
        raise ValueError(
            f"preview: expected targets of an image, such as {next(iter(images))}, in {path.name}"
        )
    return [_target(content.get(name, {}), path.parent, image) for name, image in images.items()]


def _target(entry: dict[str, Any], folder: Path, image: Array) -> dict[str, Any]:
    target = dict(entry)
    for key in ("boxes", "keypoints", "landmarks"):
        if key in entry:
            target[key] = np.array(entry[key], np.float64)
    if "polygons" in entry:
        target["polygons"] = [np.array(points, np.float64).reshape(-1, 2) for points in entry["polygons"]]
    if "masks" in entry:
        masks = [_read_mask(folder / name, image) > 127 for name in entry["masks"]]
        target["masks"] = np.stack(masks) if masks else np.zeros((0, *image.shape[:2]), bool)
    if "mask" in entry:
        target["mask"] = _read_mask(folder / entry["mask"], image)
    return target


def _read_mask(path: Path, image: Array) -> Array:
    with module("PIL.Image").open(path) as picture:
        mask = np.array(picture if picture.mode in ("L", "P") else picture.convert("L"))
    if mask.shape != image.shape[:2]:
        height, width = image.shape[:2]
        raise ValueError(
            f"preview: expected {path.name} of size {height}x{width}, like its image, "
            f"but got {mask.shape[0]}x{mask.shape[1]}"
        )
    return mask
