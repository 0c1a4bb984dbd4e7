"""A sample as named fields of bytes, the files of a tar shard: `000000042.jpg`, `000000042.json`.

Names follow WebDataset: the files of a sample share the name up to the first dot, its key; the rest of the
name is the kind of the field.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from orbbec.bridge.arguments import Array
from orbbec.data.readers.literals import to_integer
from orbbec.data.sample import Sample

# First bytes of encoded images, as many as distinguish them; RIFF is taken as WebP.
_BEGINNINGS = (
    (b"\xff\xd8\xff", "jpg"),
    (b"\x89PNG", "png"),
    (b"RIFF", "webp"),
    (b"BM", "bmp"),
    (b"II*\0", "tif"),
    (b"MM\0*", "tif"),
    (b"P6", "ppm"),
    (b"P5", "pgm"),
    (b"P4", "pbm"),
)
_ENCODED = ("jpg", "jpeg", "png", "webp", "bmp", "tif", "tiff", "ppm", "pgm", "pbm", "img")
ARRAY = "npy"  # an image array
LABEL = "cls"
Value = TypeVar("Value")
_SIZE = "image_size.json"  # height and width that the targets were annotated for
_NAMES = "image_names.json"  # of several images; the number of frames of a clip
_MOST_FRAMES = 1 << 20
_MAGIC = b"\x93NUMPY\1\0"
_MAGIC_BYTES = len(_MAGIC)
_MOST_BYTES = 1 << 30  # unpacked arrays per field: zip files compress zeros 1,000 times


def pack_fields(sample: Sample) -> dict[str, bytes]:
    """The fields of a sample.

    The image is `jpg`, `png` ... by its first bytes, `img` if they are unknown, or `npy` for an array. An
    integer `label` is `cls`. Other arrays and tensors are `<name>.npy`, lists of them `<name>.npz`, and all
    other targets are in `json`. `Sample.size` is `image_size.json`. Of several images, `image_names.json` is
    the list of names, and each has its fields under its name: `left.jpg`, `left.boxes.npy`. Of a clip, it is
    the number of frames, which are named `0`, `1` ...

    Raises:
        TypeError: a target has another type, its name or that of an image has a dot or slash, one name is
            that of both, or one of several images is a clip; the message names it.

    Example:
        >>> sample = Sample(b"P5 1 1 255 a", {"label": 3, "boxes": np.zeros((0, 4)), "text": "dot"})
        >>> sorted(pack_fields(sample))
        ['boxes.npy', 'cls', 'json', 'pgm']
    """
    fields = _image_fields(sample)
    others = {}
    for name, value in sample.targets.items():
        _check_name("target", name)
        if isinstance(value, (np.ndarray, Tensor)):
            fields[f"{name}.npy"] = _array_bytes(name, value)
        elif _is_list_of_arrays(value):
            fields[f"{name}.npz"] = _arrays_bytes(name, value)
        elif name == "label" and _is_whole(value) and -(2**63) <= value < 2**63:
            fields[LABEL] = str(int(value)).encode()
        else:
            others[name] = value
    if others:
        fields["json"] = _json_bytes(others)
    if sample.size is not None:
        fields[_SIZE] = json.dumps(sample.size).encode()
    return fields


def _image_fields(sample: Sample) -> dict[str, bytes]:
    """The fields of the image of a sample, or of several images."""
    if isinstance(sample.data, (dict, tuple)):
        return _several_fields(sample, sample.data)
    if isinstance(sample.data, (bytes, bytearray, memoryview)):
        data = bytes(sample.data)
        return {next((name for beginning, name in _BEGINNINGS if data.startswith(beginning)), "img"): data}
    return {ARRAY: _array_bytes("data", sample.data)}


def _several_fields(sample: Sample, data: dict[str, Any] | tuple[Any, ...]) -> dict[str, bytes]:
    names: list[str] | int
    if isinstance(data, tuple):
        names, images = len(data), {str(frame): image for frame, image in enumerate(data)}
    else:
        names, images = list(data), data
    fields = {_NAMES: json.dumps(names).encode()}
    for name, image in images.items():
        _check_name("image", name)
        part = image if isinstance(image, Sample) else Sample(image)
        if isinstance(part.data, (dict, tuple)):
            raise TypeError(
                f"pack: expected one image as {name} of sample {sample.sample_id}, but got several"
            )
        if name in sample.targets:
            raise TypeError(f"pack: expected targets of other names than images, but got {name!r}")
        fields |= {f"{name}.{kind}": value for kind, value in pack_fields(part).items()}
    return fields


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and bool(name) and not set(name) & set("./\0")


def _check_name(what: str, name: Any) -> None:
    if not _is_name(name):
        raise TypeError(f"pack: expected {what} names without dots and slashes, but got {name!r}")


def unpack_fields(fields: Mapping[str, bytes], sample_id: int) -> Sample:
    """The sample of fields written by `pack_fields` or other tools.

    The image is the field with an image's name, or the first whose name ends with one; there are several if
    `image_names.json` names them. `cls` and `txt` are the targets `label` and `txt`. The entries of `json`
    are targets, or `json` itself if it is not an object. `image_size.json` is `Sample.size`. Unknown fields
    are targets of bytes under their own names. Kinds may be in any case: `JPG`, `Cls`.

    Raises:
        ValueError: there is no image, a field does not match its name, or two fields differ in one target;
            the message names it.

    Example:
        >>> unpack_fields({"jpg": b"...", "cls": b"3", "json": b'{"text": "dot"}'}, 7)
        Sample(data=b'...', targets={'label': 3, 'text': 'dot'}, sample_id=7)
    """
    fields = with_lower_kinds(fields)
    if _NAMES in fields:
        return _several_of(fields, sample_id)
    image = image_of(fields)
    targets, size = _targets_and_size(fields, image)
    data = targets.pop(ARRAY) if image == ARRAY else fields[image]
    return Sample(data, targets, sample_id, size=size)


def _several_of(fields: dict[str, bytes], sample_id: int) -> Sample:
    """A sample of several images, or a clip."""
    names = _names_of(fields.pop(_NAMES))
    rest, images = dict(fields), dict[str, Any]()
    for name in map(str, range(names)) if isinstance(names, int) else names:
        parts = [field for field in fields if field.startswith(f"{name}.")]
        try:
            image = unpack_fields({field[len(name) + 1 :]: rest.pop(field) for field in parts}, sample_id)
        except ValueError as error:
            raise ValueError(f"image {name}: {error}") from error
        images[name] = image if image.targets or image.size else image.data
    targets, size = _targets_and_size(rest, "")
    data = tuple(images.values()) if isinstance(names, int) else images
    return Sample(data, targets, sample_id, size=size)


def _names_of(data: bytes) -> list[str] | int:
    """The names of several images, or the number of frames of a clip."""
    names: Any
    with suppress(ValueError):
        names = json.loads(data)
        if type(names) is int and 0 <= names <= _MOST_FRAMES:
            return names
        if isinstance(names, list) and all(map(_is_name, names)) and len({*names}) == len(names):
            return names
    raise ValueError(f"expected the names of images in the field '{_NAMES}', but got {data!r:.60}")


def _targets_and_size(
    fields: Mapping[str, bytes], image: str
) -> tuple[dict[str, Any], tuple[int, int] | None]:
    targets: dict[str, Any] = {}
    size = _size_of(fields[_SIZE]) if _SIZE in fields else None
    for name, value in fields.items():
        if name == image != ARRAY or name == _SIZE:
            continue
        stem, _, kind = name.rpartition(".")
        try:
            read = _READERS.get(kind, _as_bytes)(stem or kind, value)
        except Exception as error:  # NumPy and zipfile raise many kinds of errors on malformed files
            raise ValueError(f"the field '{name}' is not valid {kind}: {error}") from error
        for target in targets.keys() & read.keys():
            if not np.array_equal(targets[target], read[target]):
                raise ValueError(f"the field '{name}' has another '{target}' than a field before it")
        targets.update(read)
    return targets, size


def _size_of(data: bytes) -> tuple[int, int]:
    try:
        height, width = json.loads(data)
        if type(height) is type(width) is int and min(height, width) > 0:
            return height, width
    except (ValueError, TypeError):
        pass
    raise ValueError(f"expected height and width in the field '{_SIZE}', but got {data!r:.60}")


def with_lower_kinds(fields: Mapping[str, Value]) -> dict[str, Value]:
    """The fields, with known kinds in lower case.

    Raises:
        ValueError: two names are the same then.
    """
    lowered: dict[str, Value] = {}
    for field, value in fields.items():
        stem, dot, kind = field.rpartition(".")
        name = stem + dot + (kind.lower() if kind.lower() in _KINDS else kind)
        if name in lowered:
            raise ValueError(f"expected fields of distinct names, but got '{name}' twice")
        lowered[name] = value
    return lowered


def image_of(fields: Collection[str]) -> str:
    """The name of the field with the image.

    Raises:
        ValueError: there is none.
    """
    named = [name for name in fields if name == ARRAY or name in _ENCODED]
    ending = [name for name in fields if name.rpartition(".")[2] in _ENCODED]
    if not named and not ending:
        raise ValueError(f"expected a field with an image, but got {', '.join(fields) or 'none'}")
    return (named or ending)[0]


def _is_list_of_arrays(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple))
        and len(value) > 0
        and all(isinstance(entry, (np.ndarray, Tensor)) for entry in value)
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _array_of(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except TypeError as error:  # of bfloat16, or of tensors on a device
        raise TypeError(f"pack: '{name}' cannot be stored: {error}") from error
    if array.dtype.hasobject:  # NumPy would pickle them, which no reader here unpacks
        raise TypeError(f"pack: '{name}' cannot be stored: an array of Python's objects")
    return array


def _array_bytes(name: str, value: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, _array_of(name, value))
    return file.getvalue()


def _arrays_bytes(name: str, values: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, *(_array_of(name, value) for value in values))
    return file.getvalue()


def _json_bytes(targets: dict[str, Any]) -> bytes:
    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(f"a {type(value).__name__} is not JSON")

    for name, value in targets.items():
        try:
            json.dumps(value, default=plain)
        except (TypeError, ValueError) as error:
            raise TypeError(f"pack: target '{name}' cannot be stored: {error}") from error
    return json.dumps(targets, default=plain).encode()


def _read_array(data: bytes) -> Array:
    begin = _MAGIC_BYTES + 2 + int.from_bytes(data[_MAGIC_BYTES : _MAGIC_BYTES + 2], "little")
    if data.startswith(_MAGIC):
        shape, is_fortran, dtype = _array_header(data[_MAGIC_BYTES:begin])
        count = math.prod(shape)
        if count * dtype.itemsize == len(data) - begin and not (is_fortran or dtype.hasobject):
            return np.frombuffer(data, dtype, count, begin).reshape(shape).copy()
    array: Array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


@lru_cache
def _array_header(header: bytes) -> Any:
    """The shape, whether in Fortran's order, and the type; NumPy takes 40 us to evaluate the text."""
    return np.lib.format.read_array_header_1_0(io.BytesIO(header))


def _read_arrays(data: bytes) -> list[Array]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        size = sum(entry.file_size for entry in file.infolist())
        if size > _MOST_BYTES:
            raise ValueError(f"expected at most {_MOST_BYTES} bytes of arrays, but got {size}")
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return [arrays[f"arr_{index}"] for index in range(len(arrays.files))]


def _read_json(name: str, data: bytes) -> dict[str, Any]:
    value = json.loads(data)
    return value if isinstance(value, dict) and name == "json" else {name: value}


def read_label(data: bytes) -> int:
    """An integer, as the only line of a text."""
    return to_integer(data.decode().removesuffix("\n").removesuffix("\r"))


def _as_bytes(name: str, data: bytes) -> dict[str, Any]:
    return {name: data}


_READERS: dict[str, Callable[[str, bytes], dict[str, Any]]] = {
    LABEL: lambda name, data: {"label" if name == LABEL else name: read_label(data)},
    "txt": lambda name, data: {name: data.decode()},
    "json": _read_json,
    "npy": lambda name, data: {name: _read_array(data)},
    "npz": lambda name, data: {name: _read_arrays(data)},
}
_KINDS = {*_READERS, *_ENCODED}
