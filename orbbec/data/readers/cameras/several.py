"""Sources joined to one whose samples have an image of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbbec.data.concat import with_distinct_ids
from orbbec.data.sample import Sample, Source


class SeveralImages:
    """Samples of several images: sample `index` has the images of sample `index` of each source.

    They are stereo pairs, the cameras of a robot, color and infrared, or two frames for optical flow. A
    `Loader` transforms the images of a sample with the same random parameters, each at its own size, as
    `Compose(images=...)` does. The images of a batch are a dict by name. Its targets are those of the first
    image, which transforms such as RandomIoUCrop read; targets of another image follow it, and are a dict
    under its name.

    The sample id is that of all sources: sources with other ids are out of step. An image that is damaged or
    missing makes the sample a bad one.

    Args:
        sources: sources of the same length, by the name of their image; at least one.

    Raises:
        TypeError: a name is no text, or a source has no index.
        ValueError: there is no source, or one has another length than the first; names it.

    Example:
        >>> left, right = ([Sample(b"a JPEG", {"label": 3}, 7)], [Sample(b"another", sample_id=7)])
        >>> pairs = SeveralImages({"left": left, "right": right})
        >>> len(pairs), list(pairs[0].data), pairs[0].data["right"].data, pairs[0].sample_id
        (1, ['left', 'right'], b'another', 7)
    """

    def __init__(self, sources: Mapping[str, Any]) -> None:
        if not isinstance(sources, Mapping) or not sources:
            raise ValueError(f"SeveralImages: expected a dict of at least 1 source, but got {sources!r:.80}")
        for name, source in sources.items():
            if not isinstance(name, str):
                raise TypeError(f"SeveralImages: expected names as str, but got {name!r}")
            if not isinstance(source, Source):
                kind = type(source).__name__
                raise TypeError(f"SeveralImages: expected a source with an index as {name}, but got {kind}")
        first, length = next((name, len(source)) for name, source in sources.items())
        for name, source in sources.items():
            if len(source) != length:
                raise ValueError(
                    f"SeveralImages: expected {length} samples of {name}, as of {first}, "
                    f"but got {len(source)}"
                )
        self.sources: dict[str, Any] = {name: with_distinct_ids(source) for name, source in sources.items()}
        self._length = length

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Sample:
        index = range(len(self))[index]
        images = {name: self._image(name, index) for name in self.sources}
        names, samples = list(images), list(images.values())
        first = samples[0]
        for name, sample in zip(names, samples, strict=True):
            if sample.sample_id != first.sample_id:
                raise ValueError(
                    f"SeveralImages: expected sample id {first.sample_id} of {name} at index {index}, as of "
                    f"{names[0]}, but got {sample.sample_id}: the sources are out of step"
                )
        return Sample(images, {}, first.sample_id, first.path)

    def _image(self, name: str, index: int) -> Sample:
        sample = self.sources[name][index]
        if not isinstance(sample, Sample):
            kind = type(sample).__name__
            raise TypeError(
                f"SeveralImages: expected a Sample as {name}, but that at index {index} is a {kind}: "
                "use as_source or open_source"
            )
        return sample
