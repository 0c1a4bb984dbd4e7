"""Pillow with limits of its own: `PIL`, imported a second time as submodules of this module.

Pillow's limits are variables of its modules, such as `ImageFile.LOAD_TRUNCATED_IMAGES` and
`Image.MAX_IMAGE_PIXELS`. They belong to the program. Changing them here would change them for all of its
threads, and obeying them would let them decide which pixels are decoded. The limit of the call replaces
that of pixels.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from threading import local
from typing import Any

import PIL
from PIL import UnidentifiedImageError, __version__, _plugins

__all__ = ["UnidentifiedImageError", "__version__", "_plugins", "image_of_array", "open_image"]

__path__ = list(PIL.__path__)
_RUNS_PROGRAMS = "EPS"  # by Ghostscript


def _submodule(name: str) -> Any:
    return import_module(f"{__name__}.{name}")


def _share_libraries() -> None:
    """Libraries in C have no limits, and some cannot be loaded twice."""
    for name in ("_imaging", "_imagingcms", "_webp", "_avif"):
        with suppress(ImportError):
            sys.modules[f"{__name__}.{name}"] = import_module(f"PIL.{name}")


_share_libraries()
_image = _submodule("Image")
_image.preinit()  # the usual formats first, in the order in which they are tried
for _plugin in _plugins:
    with suppress(ImportError):
        _submodule(_plugin)
_FORMATS = tuple(_image.ID)


class _Calls(local):
    """The check of sizes of the call that runs in this thread."""

    check: Callable[[int, int], None] | None = None


_calls = _Calls()


def _check_size(size: tuple[int, int], **_: Any) -> None:
    """In place of Pillow's check, which plugins also call for images inside others, before decoding them."""
    if _calls.check is not None:
        _calls.check(size[1], size[0])


_image._decompression_bomb_check = _check_size


class _Exif(_image.Exif):  # type: ignore[misc, name-defined]
    """EXIF that reads no file; Pillow writes to it the rotation of an AVIF."""

    def load(self, data: bytes) -> None:
        pass

    def load_from_fp(self, *_: Any, **__: Any) -> None:
        pass

    def get_ifd(self, tag: int) -> dict[int, Any]:
        return {}


_image.Exif = _Exif
_submodule("ImageOps").exif_transpose = lambda image, *, in_place=False: None  # called for TIFF


@contextmanager
def open_image(data: bytes, check: Callable[[int, int], None]) -> Iterator[Any]:
    """Open a file of any format that Pillow or a registered plugin decodes in-process; not oriented.

    Args:
        data: the file.
        check: called with height and width of the image and of images inside it; it raises if they are too
            large.

    Raises:
        Exception: the file is damaged or of unknown format; plugins raise many types of errors.
    """
    registered = getattr(sys.modules.get("PIL.Image"), "OPEN", {})
    plugins = {name: opener for name, opener in tuple(registered.items()) if name not in _FORMATS}
    _image.OPEN.update(plugins)
    formats = [name for name in (*_FORMATS, *plugins) if name != _RUNS_PROGRAMS]
    _calls.check = check
    try:
        with _image.open(io.BytesIO(data), formats=formats) as image:
            yield image
    finally:
        _calls.check = None


def image_of_array(pixels: Any) -> Any:
    """A PIL image of uint8 `[H, W]` or `[H, W, C]`."""
    return _image.fromarray(pixels)
