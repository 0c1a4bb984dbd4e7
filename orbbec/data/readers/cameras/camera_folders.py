"""Images of several cameras, in one folder each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from orbbec.data.readers.cameras.depth_folder import DEPTH_EXTENSIONS, LEAST_UNIT, depth_map
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.paths import Folder, files_of_names
from orbbec.data.sample import Sample, read_bytes
from orbbec.transforms.base.checks import number


class CameraFolders:
    """Images of several cameras: `root/left/a/1.png` and `root/right/a/1.png`; see `SeveralImages`.

    Files with one path in the folders of their cameras are a sample. Samples are sorted by path, and the id
    of a sample is its index.

    Args:
        root: the folder of all cameras.
        cameras: the folder of each camera in `root`, by name.
        depth: the folders of depth maps in `root`, by name of their camera; see `DepthFolder`.
        unit: see `DepthFolder`.
        endings: the end of the names of images before the extension, by name of the camera, such as
            `{"left": "_L", "right": "_R"}`; other files are skipped.
        depth_ending: the same for depth maps.

    Raises:
        OSError: a folder cannot be read.
        TypeError: an argument has a wrong type.
        ValueError: there is no camera or no image, a file has no counterpart, `unit` is out of range, or an
            ending or a folder of depth maps belongs to no camera; the message names it.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> for name in ("image_2", "image_3"):
        ...     (root / name).mkdir()
        ...     _ = (root / name / "000000.png").write_bytes(name.encode())
        >>> stereo = CameraFolders(root, {"left": "image_2", "right": "image_3"})
        >>> {name: image.data for name, image in stereo[0].data.items()}
        {'left': b'image_2', 'right': b'image_3'}
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        cameras: Mapping[str, str],
        *,
        depth: Mapping[str, str] | None = None,
        unit: float = 1.0,
        endings: Mapping[str, str] | None = None,
        depth_ending: str = "",
    ) -> None:
        if not isinstance(cameras, Mapping) or not cameras:
            raise ValueError(f"CameraFolders: expected a dict of at least 1 folder, but got {cameras!r:.80}")
        depth, endings = _of_cameras("depth", depth, cameras), _of_cameras("endings", endings, cameras)
        self.unit = number("CameraFolders", "unit", unit, LEAST_UNIT)
        folders = [
            Folder(Path(root, folder), EXTENSIONS, endings.get(name, ""), f"an image of {name}")
            for name, folder in cameras.items()
        ]
        maps = [
            Folder(Path(root, folder), DEPTH_EXTENSIONS, depth_ending, f"a depth map of {name}")
            for name, folder in depth.items()
        ]
        files = files_of_names("CameraFolders", [*folders, *maps])
        self.paths: dict[str, list[str]] = dict(zip(cameras, files, strict=False))
        self.depths: dict[str, list[str]] = dict(zip(depth, files[len(cameras) :], strict=True))

    def __len__(self) -> int:
        return len(next(iter(self.paths.values())))

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        images = {name: self._image(name, index) for name in self.paths}
        return Sample(images, {}, index, next(iter(images.values())).path)

    def _image(self, name: str, index: int) -> Sample:
        path, maps = self.paths[name][index], self.depths.get(name)
        data = read_bytes(path, index)
        if maps is None:
            return Sample(data, {}, index, path)
        depth = depth_map(maps[index], index, self.unit)
        return Sample(data, {"depth": depth}, index, path, files=(maps[index],))


def _of_cameras(
    argument: str, values: Mapping[str, str] | None, cameras: Mapping[str, str]
) -> Mapping[str, str]:
    """An argument by name of the camera."""
    for name in values or {}:
        if name not in cameras:
            raise ValueError(f"CameraFolders: expected {argument} of {', '.join(cameras)}, but got {name}")
    return values or {}
