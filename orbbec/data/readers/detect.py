"""Choice of the reader for a path."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orbbec.data.readers.annotations.mask_folder import MaskFolder
from orbbec.data.readers.annotations.voc import Voc
from orbbec.data.readers.annotations.yolo import Yolo
from orbbec.data.readers.arrays import Arrays, Hdf5, NpyFile
from orbbec.data.readers.cifar import Cifar
from orbbec.data.readers.coco import Coco
from orbbec.data.readers.folders import EXTENSIONS, FileList, ImageFolder
from orbbec.data.readers.hugging_face import HuggingFace
from orbbec.data.readers.parquet import Parquet
from orbbec.data.readers.paths import has_images, visible_files, visible_folders
from orbbec.data.readers.record_io import RecordIo
from orbbec.data.readers.records import Lmdb, TfRecords
from orbbec.data.readers.shard_index import index_path
from orbbec.data.readers.shards import Shards, ShardStream
from orbbec.data.sample import printable

# Files of other tools next to TFRecord files: DALI's lists of offsets, descriptions, checksums.
_INDICES = (".idx", ".index", ".json", ".txt", ".csv", ".md5", ".sha256")


def open_source(
    path: str | os.PathLike[str],
    *,
    images: str | os.PathLike[str] | None = None,
    split: str = "train",
    trust_paths: bool = False,
) -> Any:
    r"""Open a folder or file with the matching reader.

    | path | reader |
    | --- | --- |
    | a folder of `.tar` files, all with an index | `Shards` |
    | a folder of `.tar` files, or one of them | `ShardStream` |
    | a folder of `.tfrecord` files, or one of them, also `a.tfrecord-00000-of-00010` | `TfRecords` |
    | a folder with `data.mdb`, or a file `.mdb` or `.lmdb` | `Lmdb` |
    | a folder with CIFAR's files | `Cifar` |
    | a folder with `data.yaml`, or a file `.yaml` or `.yml` | `Yolo` |
    | a folder with the folders `Annotations` and `JPEGImages` | `Voc`, with its list `split` if any |
    | a folder with the folders `images` and `masks` | `MaskFolder` |
    | a folder of `.parquet` files, or one of them | `Parquet` |
    | a folder with `dataset_info.json` and `state.json` | `HuggingFace` |
    | any other folder | `ImageFolder` |
    | `.rec` | `RecordIo` |
    | `.csv` | `FileList` |
    | `.json` | `Coco` |
    | `.h5`, `.hdf5` | `Hdf5` |
    | `.npz` | `Arrays` |
    | `.npy` | `NpyFile` |

    Endings may be in any case. Hidden files and the index files of other tools, such as `a.tfrecord.idx`, are
    no data.

    Args:
        path: the folder or file.
        images: the folder of the images, for `FileList` and `Coco`, and for `Yolo` their `root`; None: the
            folder of the file.
        split: for `Cifar`, "train" or "test"; for `Yolo` and `Voc`, see there.
        trust_paths: for `FileList`, `Coco` and `Yolo`: accept paths that leave the folder of the images.

    Raises:
        OSError: the path does not exist or cannot be read.
        ValueError: no reader matches, several match a folder, or the reader refuses it.

    Example:
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp(), "list.csv")
        >>> _ = file.write_text("path,label\na.jpg,cat\n")
        >>> open_source(file).classes
        ['cat']
    """
    path = Path(path)
    if path.is_dir():
        return _open_folder(path, split, trust_paths)
    if not path.exists():
        raise FileNotFoundError(
            f"open_source: expected a folder or file, but {printable(path)} does not exist"
        )
    readers: dict[str, Callable[[], Any]] = {
        ".csv": lambda: FileList(path, images, trust_paths=trust_paths),
        ".json": lambda: Coco(path.parent if images is None else images, path, trust_paths=trust_paths),
        ".tar": lambda: ShardStream(path),
        ".tfrecord": lambda: TfRecords(path),
        ".mdb": lambda: Lmdb(path),
        ".lmdb": lambda: Lmdb(path),
        ".h5": lambda: Hdf5(path),
        ".hdf5": lambda: Hdf5(path),
        ".npz": lambda: Arrays.load(path),
        ".npy": lambda: NpyFile(path),
        ".yaml": lambda: Yolo(path, split, root=images, trust_paths=trust_paths),
        ".yml": lambda: Yolo(path, split, root=images, trust_paths=trust_paths),
        ".parquet": lambda: Parquet(path),
        ".rec": lambda: RecordIo(path),
    }
    suffix = path.suffix.lower()
    if suffix not in readers and _is_records(path):
        suffix = ".tfrecord"
    if suffix not in readers:
        raise ValueError(f"open_source: expected one of {', '.join(readers)}, but got {printable(path)}")
    return readers[suffix]()


def _is_records(path: Path) -> bool:
    """Whether a file has a name of TFRecord files, and not of a list of their records."""
    return ".tfrecord" in path.name.lower() and path.suffix.lower() not in _INDICES


def _open_folder(path: Path, split: str, trust_paths: bool) -> Any:
    readers = _readers_of_layout(path, split, trust_paths) | _readers_of_files(path, split)
    is_layout = not {"Yolo", "Voc", "MaskFolder"}.isdisjoint(readers)
    if not readers or (not is_layout and any(has_images(each, EXTENSIONS) for each in visible_folders(path))):
        readers["ImageFolder"] = lambda: ImageFolder(path)
    if len(readers) > 1:
        raise ValueError(
            f"open_source: expected one kind of data in {printable(path)}, but got that of "
            f"{' and '.join(readers)}: call the reader that you mean"
        )
    [(_, reader)] = readers.items()
    return reader()


def _readers_of_layout(path: Path, split: str, trust_paths: bool) -> dict[str, Callable[[], Any]]:
    """Readers whose data has folders of certain names."""
    readers: dict[str, Callable[[], Any]] = {}
    if (path / "data.yaml").exists():
        readers["Yolo"] = lambda: Yolo(path / "data.yaml", split, trust_paths=trust_paths)
    if (path / "Annotations").is_dir() and (path / "JPEGImages").is_dir():
        has_list = (path / "ImageSets/Main" / f"{split}.txt").exists()
        readers["Voc"] = lambda: Voc(path, split if has_list else None)
    if (path / "images").is_dir() and (path / "masks").is_dir():
        readers["MaskFolder"] = lambda: MaskFolder(path)
    if (path / "dataset_info.json").exists() and (path / "state.json").exists():
        readers["HuggingFace"] = lambda: HuggingFace(path)
    return readers


def _readers_of_files(path: Path, split: str) -> dict[str, Callable[[], Any]]:
    """Readers whose data are files in the folder itself."""
    archives = visible_files(path, "*.tar")
    records = [file for file in visible_files(path, "*.tfrecord*") if _is_records(file)]
    readers: dict[str, Callable[[], Any]] = {}
    if archives or (path / "pack.json").exists():
        is_indexed = all(index_path(archive).exists() for archive in archives)
        readers["Shards"] = lambda: Shards(path) if is_indexed else ShardStream(archives)
    if records:
        readers["TfRecords"] = lambda: TfRecords(records)
    if (path / "data.mdb").exists():
        readers["Lmdb"] = lambda: Lmdb(path)
    if split in ("train", "test") and Cifar.is_in(path, split):
        readers["Cifar"] = lambda: Cifar(path, split)
    if tables := visible_files(path, "*.parquet"):
        readers["Parquet"] = lambda: Parquet(tables)
    return readers
