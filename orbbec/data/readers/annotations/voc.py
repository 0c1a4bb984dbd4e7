"""Images with annotations of Pascal VOC: one XML file per image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from orbbec.data.files import AnnotatedFiles
from orbbec.data.readers.folders import EXTENSIONS
from orbbec.data.readers.literals import to_number
from orbbec.data.readers.paths import by_stem, check_path, listed_lines
from orbbec.data.sample import Sample, faults_named, printable
from orbbec.transforms.base.checks import choice, flag

_CORNERS = ("xmin", "ymin", "xmax", "ymax")
_MAX_PIXELS = 1e9  # farthest coordinate


class _Object(NamedTuple):
    box: list[float]
    label: int
    difficult: bool
    truncated: bool


class Voc(AnnotatedFiles):
    """A folder with images and XML files of Pascal VOC, as labelImg, CVAT and Roboflow also write them.

    The targets of an image with K objects:

    - `boxes` float32 `[K, 4]`, (x0, y0, x1, y1) in pixels,
    - `labels` int64 `[K]`, indices into `classes`,
    - `difficult` and `truncated` bool `[K]`, false if the file does not say so.

    VOC counts pixels from 1, and `xmax` is the last column of an object: its box is from `xmin` - 1 to
    `xmax`.

    Images are sorted by name, or in the order of the list; the sample id of an image is its index. A `Loader`
    refuses an image whose size is not that of the XML file; see `Sample.size`. A malformed XML file makes its
    image a bad sample.

    Args:
        root: the folder, such as `VOC2012`.
        split: name of a list `ImageSets/Main/{split}.txt` of image names; None: all XML files.
        images: the folder of the images in `root`; may be "".
        annotations: the folder of the XML files in `root`; may be "".
        classes: names of the classes. None: all names in the files, sorted, for which they are all read.
        keep_difficult: False drops difficult objects, which VOC's evaluation does not count.
        one_based: False: coordinates count from 0, and `xmax` is the right edge.
        labels: "from_zero": indices into `classes`; "from_one": these plus 1, which leaves 0 for the
            background, as torchvision's detectors expect.

    Raises:
        OSError: a folder or a list cannot be read.
        ValueError: there is no XML file, a line of the list is no name, two images have one name, or
            `classes` is None and an XML file is malformed; the message names the file.

    Example:
        >>> from tempfile import mkdtemp
        >>> root = Path(mkdtemp())
        >>> box = "<bndbox><xmin>1</xmin><ymin>2</ymin><xmax>4</xmax><ymax>6</ymax></bndbox>"
        >>> xml = f"<annotation><object><name>cat</name>{box}</object></annotation>"
        >>> _ = (root / "1.xml").write_text(xml), (root / "1.jpg").write_bytes(b"...")
        >>> voc = Voc(root, images="", annotations="")
        >>> voc.classes, voc[0].targets["boxes"].tolist()
        (['cat'], [[0.0, 1.0, 4.0, 6.0]])
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        split: str | None = None,
        *,
        images: str = "JPEGImages",
        annotations: str = "Annotations",
        classes: Sequence[str] | None = None,
        keep_difficult: bool = True,
        one_based: bool = True,
        labels: str = "from_zero",
    ) -> None:
        self._first = int(choice("Voc", "labels", labels, ("from_zero", "from_one")) == "from_one")
        self._keep_difficult = flag("Voc", "keep_difficult", keep_difficult)
        self._one_based = flag("Voc", "one_based", one_based)
        folder = Path(root, annotations)
        files = by_stem("Voc", folder, (".xml",))
        if split is None and not files:
            raise ValueError(f"Voc: expected XML files in {printable(folder)}, but got none")
        names = list(files) if split is None else _listed(Path(root, "ImageSets/Main", f"{split}.txt"))
        self.files = [files.get(name) or str(folder / f"{name}.xml") for name in names]
        known = by_stem("Voc", Path(root, images), EXTENSIONS)
        self.paths = [known.get(name) or str(Path(root, images, f"{name}.jpg")) for name in names]
        self.classes = self._names() if classes is None else list(classes)
        self._labels = {name: self._first + label for label, name in enumerate(self.classes)}

    def _names(self) -> list[str]:
        names: set[str] = set()
        for file in self.files:
            try:
                names |= {_text(each, "name") for each in _annotation(file).iterfind("object")}
            except (ElementTree.ParseError, ValueError) as error:
                raise ValueError(
                    f"Voc: expected an annotation in {printable(file)}, but got {error}; with classes=[...] "
                    "it is a bad sample"
                ) from error
        return sorted(names)

    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of an image from the bytes of its file."""
        file = self.files[index]
        with faults_named(index, file, ValueError, ElementTree.ParseError):
            tree = _annotation(file)
            objects = [self._object(number, each) for number, each in enumerate(tree.iterfind("object"))]
            if not self._keep_difficult:
                objects = [each for each in objects if not each.difficult]
            targets: dict[str, Any] = {
                "boxes": np.array([each.box for each in objects], np.float32).reshape(-1, 4),
                "labels": np.array([each.label for each in objects], np.int64),
                "difficult": np.array([each.difficult for each in objects], bool),
                "truncated": np.array([each.truncated for each in objects], bool),
            }
            return Sample(record, targets, index, self.paths[index], _size(tree), (str(file),))

    def _object(self, number: int, tree: ElementTree.Element) -> _Object:
        try:
            name = _text(tree, "name")
            if name not in self._labels:
                raise ValueError(f"expected one of {len(self._labels)} classes, but got '{name:.60}'")
            flags = _flag(tree, "difficult"), _flag(tree, "truncated")
            return _Object(self._box(tree), self._labels[name], *flags)
        except ValueError as error:
            raise ValueError(f"object {number}: {error}") from error

    def _box(self, tree: ElementTree.Element) -> list[float]:
        left, top, right, bottom = (to_number(_text(tree, f"bndbox/{name}")) for name in _CORNERS)
        if self._one_based:
            if min(left, top) < 1:
                raise ValueError(
                    f"expected coordinates from 1, but got {min(left, top):g}; one_based=False counts from 0"
                )
            left, top = left - 1, top - 1
        if not (left <= right < _MAX_PIXELS and top <= bottom < _MAX_PIXELS):
            raise ValueError(f"expected xmin to xmax and ymin to ymax, but got {[left, top, right, bottom]}")
        return [left, top, right, bottom]


def _annotation(file: str) -> ElementTree.Element:
    """The root of an XML file; another one is that of another format, whose objects are elsewhere."""
    root = ElementTree.parse(file).getroot()
    if root.tag != "annotation":
        raise ValueError(f"expected the root element 'annotation', but got '{root.tag:.60}'")
    return root


def _listed(file: Path) -> list[str]:
    names = []
    for name, source in listed_lines(file):
        if len(name.split()) != 1:
            raise ValueError(f"Voc: expected the name of an image, but {source} has {name!r:.80}")
        check_path("Voc", file.parent, name, source)
        names.append(name)
    if not names:
        raise ValueError(f"Voc: expected names of images in {printable(file)}, but got none")
    return names


def _text(tree: ElementTree.Element, name: str) -> str:
    text = tree.findtext(name)
    if text is None or not text.strip():
        raise ValueError(f"expected an element '{name}', but there is none")
    return text.strip()


def _flag(tree: ElementTree.Element, name: str) -> bool:
    text = (tree.findtext(name) or "0").strip()
    if text not in ("0", "1"):
        raise ValueError(f"expected '{name}' as 0 or 1, but got '{text:.60}'")
    return text == "1"


def _size(tree: ElementTree.Element) -> tuple[int, int] | None:
    """Height and width; None if the file does not say them, or says 0."""
    if tree.find("size") is None:
        return None
    height, width = (to_number(_text(tree, f"size/{name}")) for name in ("height", "width"))
    if height == width == 0:
        return None
    if min(height, width) < 1 or not (height.is_integer() and width.is_integer()):
        raise ValueError(f"expected a size from 1, but got {height:g}x{width:g}")
    return int(height), int(width)
