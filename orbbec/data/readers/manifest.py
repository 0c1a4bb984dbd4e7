"""`pack.json`: the arguments of `pack` for a folder, and whether packing is complete."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from orbbec.data.readers.tar import write_whole
from orbbec.data.sample import printable

_NAME = "pack.json"
_VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """The arguments and the state of packing.

    Args:
        length: length of the source; None for a stream.
        shard_bytes: size of an archive.
        shuffle: whether samples are packed in a shuffled order.
        seed: seed of that order.
        classes: names of the labels, if the source has them.
        archives: number of samples by archive name; empty until packing is complete.
        ended: whether packing is complete.
    """

    length: int | None
    shard_bytes: int
    shuffle: bool
    seed: int
    classes: list[str] = field(default_factory=list)
    archives: dict[str, int] = field(default_factory=dict)
    ended: bool = False

    def settings(self) -> dict[str, Any]:
        """The values known from the beginning."""
        return {name: value for name, value in asdict(self).items() if name not in ("archives", "ended")}

    def paths(self, folder: Path) -> list[Path]:
        """The archives.

        Raises:
            ValueError: packing is incomplete, or an archive is missing.
        """
        if not self.ended:
            raise ValueError(
                f"Shards: packing to {printable(folder)} is incomplete: run the same `pack` again"
            )
        missing = [name for name in self.archives if not (folder / name).exists()]
        if missing:
            raise ValueError(
                f"Shards: {len(missing)} archives are missing, such as {printable(folder / missing[0])}"
            )
        return [folder / name for name in self.archives]

    def write(self, folder: Path) -> None:
        """Write the manifest to a folder atomically."""
        write_whole(folder / _NAME, json.dumps({"version": _VERSION, **asdict(self)}, indent=1).encode())


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None if `pack` did not write to it.

    Raises:
        ValueError: the manifest is malformed.
    """
    path = folder / _NAME
    if not path.exists():
        return None
    try:
        table: dict[str, Any] = json.loads(path.read_bytes())
        if table["version"] != _VERSION:
            raise ValueError(f"expected version {_VERSION}, but got {table['version']}")
        manifest = Manifest(**{entry.name: table[entry.name] for entry in fields(Manifest)})
        _check(manifest)
        return manifest
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"Shards: {printable(path)} is not a manifest: {error!r}") from error


def _check(manifest: Manifest) -> None:
    """Check that archives are files directly in the folder, and names are strings."""
    for name in dict(manifest.archives):
        if not isinstance(name, str) or name != Path(name).name or name in ("", ".."):
            raise ValueError(f"expected archives of this folder, but got {name!r:.100}")
    if not isinstance(manifest.classes, list) or not all(isinstance(name, str) for name in manifest.classes):
        raise ValueError("expected classes as a list of names")
