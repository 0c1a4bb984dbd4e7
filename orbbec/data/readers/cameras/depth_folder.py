"""Images and their depth maps, in two folders."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.unchanged import decode_unchanged
from orbbec.data.files import FileSource
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import Folder, files_of_names
from orbbec.data.sample import faults_named, read_bytes
from orbbec.transforms.base.checks import number

DEPTH_EXTENSIONS = (".png", ".tif", ".tiff", ".pgm", ".npy", ".npz")  # lossless
LEAST_UNIT = 1e-9
_MAX_PIXELS = 1 << 28


class DepthFolder(FileSource):
    """Images with a depth map each: `rgb/a/1.jpg` and `depth/a/1.png`.

    The target `depth`, float32 `[H, W]`, is what the file stores times `unit`. Files are PNG and PGM of 8 or
    16 bits, TIFF, also of floats, and `.npy` or `.npz` of one array `[H, W]`. Pipelines move depth at the
    pixels of masks, without interpolation, so that 0, which most sensors write where they measure nothing,
    stays 0; see `TargetOptions`. Images are sorted by path, and the sample id of an image is its index. A
    depth map of another size than its image makes a bad sample. Orientations of EXIF in depth maps are
    ignored.

    Args:
        root: the folder of both.
        images: the folder of the images in `root`.
        depth: the folder of the depth maps in `root`.
        unit: depth of the number 1, such as 0.001 for millimeters that become meters, or 1 / 256 for
            KITTI.
        image_ending: end of the names of images before the extension; other files are skipped.
        depth_ending: the same for depth maps.

    Raises:
        OSError: a folder cannot be read.
        TypeError: an argument has a wrong type.
        ValueError: there is no image, an image or a depth map has no counterpart, or `unit` is out of range;
            the message names it.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> (root / "rgb").mkdir(), (root / "depth").mkdir()
        (None, None)
        >>> _ = (root / "rgb/1.jpg").write_bytes(b"the bytes of a JPEG")
        >>> np.save(root / "depth/1.npy", np.array([[0, 384]], np.uint16))
        >>> DepthFolder(root, unit=1 / 256)[0].targets["depth"].tolist()
        [[0.0, 1.5]]
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        images: str = "rgb",
        depth: str = "depth",
        unit: float = 1.0,
        image_ending: str = "",
        depth_ending: str = "",
    ) -> None:
        self.unit = number("DepthFolder", "unit", unit, LEAST_UNIT)
        folders = [
            Folder(Path(root, images), EXTENSIONS, image_ending, "an image"),
            Folder(Path(root, depth), DEPTH_EXTENSIONS, depth_ending, "a depth map"),
        ]
        self.paths, self.depths = files_of_names("DepthFolder", folders)

    def targets(self, index: int) -> dict[str, Any]:
        """The depth map of an image.

        Raises:
            BadSample: it cannot be read, or is none.
        """
        return {"depth": depth_map(self.depths[index], index, self.unit)}

    def target_files(self, index: int) -> tuple[str, ...]:
        return (self.depths[index],)


def depth_map(path: str, sample_id: int, unit: float) -> Array:
    """The depth map of a file: float32 `[H, W]`.

    Raises:
        BadSample: it cannot be read, or is none.
    """
    data = read_bytes(path, sample_id)
    with faults_named(sample_id, path, ValueError):
        pixels = decode_unchanged(data, _MAX_PIXELS, False)
        if pixels.shape[2] != 1:
            raise ValueError(f"expected a depth map [H, W], but got {pixels.shape[2]} channels")
    return pixels[..., 0].astype(np.float32) * np.float32(unit)
