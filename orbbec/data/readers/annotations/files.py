"""Images in files whose annotations are in other files."""

from __future__ import annotations

from abc import abstractmethod

from orbbec.data.files import ImageFiles
from orbbec.data.sample import Sample, read_bytes


class AnnotatedFiles:
    """A source of image files.

    Attributes:
        paths: of the images.
    """

    paths: list[str]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        return self.record_sample(index, read_bytes(self.paths[index], index))

    def table(self) -> ImageFiles:
        """The files, for a `Loader`."""
        return ImageFiles(self.paths, are_records=True)

    @abstractmethod
    def record_sample(self, index: int, record: bytes) -> Sample:
        """The sample of an image from the bytes of its file."""
