"""Images and their masks of classes, in two folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.data.decode.pillow import open_image
from orbbec.data.files import FileSource
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import Folder, files_of_names
from orbbec.data.sample import BadSample, read_bytes, reason_of
from orbbec.transforms.base.checks import whole

_MODES = ("1", "L", "P", "I", "I;16")  # one number per pixel
_MASK_EXTENSIONS = (".png", ".bmp", ".tif", ".tiff", ".pgm", ".gif")  # lossless
_PNG, _PNG_DEPTH = b"\x89PNG", 24  # and where its bits per value are
_MAX_PIXELS = 1 << 28
_MAX_CLASS = 1 << 16


class MaskFolder(FileSource):
    """Images with a mask of classes each: `images/a/1.jpg` and `masks/a/1.png`.

    The target `mask` `[H, W]` has the class of each pixel: the index of the palette, if the file has one, or
    else its gray value; uint8, or int32 for files of more than 8 bits. Images are sorted by path, and the
    sample id of an image is its index. A mask of another size than its image, or with a class that is none,
    makes a bad sample.

    Args:
        root: the folder of both.
        images: the folder of the images in `root`.
        masks: the folder of the masks in `root`.
        image_ending: end of the names of images before the extension, such as "_leftImg8bit"; other files are
            skipped.
        mask_ending: the same for masks, such as "_gtFine_labelTrainIds".
        classes: names of the classes; None: any number is accepted.
        ignore_index: a number in masks that is no class, such as 255. `TargetOptions(mask_fill=255)` also
            gives it to pixels outside the image.

    Raises:
        OSError: a folder cannot be read.
        ValueError: there is no image, or an image or mask has no counterpart; the message names it.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> (root / "images").mkdir(), (root / "masks").mkdir()
        (None, None)
        >>> _ = (root / "images/1.jpg").write_bytes(b"the bytes of a JPEG")
        >>> _ = (root / "masks/1.pgm").write_bytes(b"P5 2 1 255 " + bytes([1, 255]))
        >>> MaskFolder(root, classes=["road", "sky"], ignore_index=255)[0].targets["mask"].tolist()
        [[1, 255]]
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        images: str = "images",
        masks: str = "masks",
        image_ending: str = "",
        mask_ending: str = "",
        classes: Sequence[str] | None = None,
        ignore_index: int | None = None,
    ) -> None:
        self.classes = list(classes or ())
        if ignore_index is not None:
            ignore_index = whole("MaskFolder", "ignore_index", ignore_index, 0, _MAX_CLASS - 1)
        self.ignore_index = ignore_index
        folders = [
            Folder(Path(root, images), EXTENSIONS, image_ending, "an image"),
            Folder(Path(root, masks), _MASK_EXTENSIONS, mask_ending, "a mask"),
        ]
        self.paths, self.masks = files_of_names("MaskFolder", folders)

    def targets(self, index: int) -> dict[str, Any]:
        """The mask of an image.

        Raises:
            BadSample: it cannot be read, or has a class that is none.
        """
        path = self.masks[index]
        data = read_bytes(path, index)
        try:
            mask = _mask_of(data)
            self._check_classes(mask)
        except Exception as error:  # plugins of Pillow raise many types of errors
            raise BadSample(index, path, reason_of(error)) from error
        return {"mask": mask}

    def _check_classes(self, mask: Array) -> None:
        if not self.classes:
            return
        is_known = mask < len(self.classes)
        if self.ignore_index is not None:
            is_known |= mask == self.ignore_index
        if not is_known.all():
            row, column = np.argwhere(~is_known)[0].tolist()
            ignored = "" if self.ignore_index is None else f" or {self.ignore_index}"
            raise ValueError(
                f"expected classes from 0 to {len(self.classes) - 1}{ignored}, but pixel "
                f"[{row}, {column}] has {mask[row, column]}"
            )

    def target_files(self, index: int) -> tuple[str, ...]:
        return (self.masks[index],)


def _mask_of(data: bytes) -> Array:
    with open_image(data, _check_size) as image:
        if image.mode not in _MODES:
            raise ValueError(f"expected a mask with a palette or of gray, but got mode {image.mode}")
        pixels: Array = np.array(image)
    if (
        pixels.dtype.kind not in "iub"
        or int(pixels.max(initial=0)) >= _MAX_CLASS
        or pixels.min(initial=0) < 0
    ):
        raise ValueError(f"expected classes below {_MAX_CLASS}, but got {pixels.max()}")
    if image.mode == "L" and data.startswith(_PNG):
        pixels = pixels >> (8 - data[_PNG_DEPTH])  # Pillow repeats the bits of gray of 2 and 4 bits
    return pixels.astype(np.uint8 if image.mode in ("1", "L", "P") else np.int32)


def _check_size(height: int, width: int) -> None:
    if height * width > _MAX_PIXELS:
        raise ValueError(f"expected a mask of at most {_MAX_PIXELS} pixels, but got {height}x{width}")
