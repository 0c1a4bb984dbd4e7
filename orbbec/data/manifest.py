"""`pack.json`: what `pack` was told to write to a folder, and whether it has ended."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from orbbec.data.tar import write_whole

_NAME = "pack.json"
_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What is packed, and how.

    Args:
        length: of the source; None: it is a stream.
        shard_bytes: what an archive grows to.
        shuffle: whether samples are packed in a shuffled order.
        seed: of that order.
        classes: names of the labels, if the source has them.
        archives: how many samples each holds, by its name; empty until packing has ended.
        ended: whether it has.
    """

    length: int | None
    shard_bytes: int
    shuffle: bool
    seed: int
    classes: list[str] = field(default_factory=list)
    archives: dict[str, int] = field(default_factory=dict)
    ended: bool = False

    def settings(self) -> dict[str, Any]:
        """What is known from the beginning."""
        return {name: value for name, value in asdict(self).items() if name not in ("archives", "ended")}

    def paths(self, folder: Path) -> list[Path]:
        """The archives.

        Raises:
            ValueError: packing has not ended, or an archive is missing.
        """
        if not self.ended:
            raise ValueError(f"Shards: packing to {folder} has not ended: run the same `pack` again")
        missing = [name for name in self.archives if not (folder / name).exists()]
        if missing:
            raise ValueError(f"Shards: {len(missing)} archives are missing, as {folder / missing[0]}")
        return [folder / name for name in self.archives]

    def write(self, folder: Path) -> None:
        """Write it to a folder, as a whole or not at all."""
        write_whole(folder / _NAME, json.dumps({"version": _VERSION, **asdict(self)}, indent=1).encode())


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder, if `pack` wrote to it.

    Raises:
        ValueError: it is malformed.
    """
    path = folder / _NAME
    if not path.exists():
        return None
    try:
        table: dict[str, Any] = json.loads(path.read_bytes())
        if table["version"] != _VERSION:
            raise ValueError(f"it is of version {table['version']}, but this reads {_VERSION}")
        manifest = Manifest(**{entry.name: table[entry.name] for entry in fields(Manifest)})
        _check(manifest)
        return manifest
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"Shards: {path} is no manifest: {error!r}") from error


def _check(manifest: Manifest) -> None:
    """See that archives are files of the folder itself, and names are text."""
    for name in dict(manifest.archives):
        if not isinstance(name, str) or name != Path(name).name or name in ("", ".."):
            raise ValueError(f"expected archives of this folder, but got {name!r:.100}")
    if not isinstance(manifest.classes, list) or not all(isinstance(name, str) for name in manifest.classes):
        raise ValueError("expected a list of names as classes")
