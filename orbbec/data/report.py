"""Where the time of a loader goes, in a table and one sentence of advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_PARTS = ("read", "decode", "augment", "copy")
_KEEPS_UP = 0.05  # of the time may be spent waiting


@dataclass(frozen=True)
class Report:
    """What was measured of a loader.

    Args:
        images: that were taken.
        seconds: from the first batch asked for to the last one taken, without the time between epochs.
        waited: of them, seconds in which the model waited for a batch.
        spent: seconds by what threads spent them on, all threads together: "read", "decode", "augment",
            "copy".
        threads: of the loader.

    Example:
        >>> report = Report(1000, 2.0, 0.5, {"read": 0.1, "decode": 2.4, "augment": 0.5}, threads=2)
        >>> print(report)
        500 images/s; the model waited 25 % of the time: 75 % of what it reaches without waiting
        read      0.10 ms an image    3 %
        decode    2.40 ms an image   80 %
        augment   0.50 ms an image   17 %
        Decoding takes most: give the loader more threads (2 now), or pack smaller images.
    """

    images: int
    seconds: float
    waited: float
    spent: Mapping[str, float]
    threads: int

    @property
    def images_per_second(self) -> float:
        """As the model took them."""
        return self.images / self.seconds if self.seconds else 0.0

    @property
    def share(self) -> float:
        """Of the speed that the same model reaches with batches that are always there, from 0 to 1."""
        return 1 - self.waited / self.seconds if self.seconds else 1.0

    @property
    def advice(self) -> str:
        """What to do, in one sentence."""
        if not self.images:
            return "No batch was taken yet."
        if 1 - self.share <= _KEEPS_UP:
            return "The loader keeps up: a faster model or a larger batch is what remains."
        now = f"({self.threads} now)"
        most = max(_PARTS, key=lambda part: self.spent.get(part, 0.0))
        return {
            "read": f"Reading takes most: pack the files into shards, or use more threads {now}.",
            "decode": f"Decoding takes most: give the loader more threads {now}, or pack smaller images.",
            "augment": "Augmentation takes most: put the loader's device on the GPU, or take steps out.",
            "copy": "Copying takes most: crop before the copy, or send bytes and cast on the device.",
        }[most]

    def __str__(self) -> str:
        lines = [
            f"{self.images_per_second:.0f} images/s; the model waited {100 - 100 * self.share:.0f} % of the "
            f"time: {100 * self.share:.0f} % of what it reaches without waiting"
        ]
        total = sum(self.spent.get(part, 0.0) for part in _PARTS)
        for part in _PARTS:
            if part in self.spent:
                each = 1e3 * self.spent[part] / max(self.images, 1)
                lines.append(
                    f"{part:<8}{each:>6.2f} ms an image {self.spent[part] / total:>4.0%}".replace("%", " %")
                )
        return "\n".join([*lines, self.advice])

    @property
    def line(self) -> str:
        """The same in one line, for a progress bar."""
        return f"{self.images_per_second:.0f} images/s, {100 - 100 * self.share:.0f} % waiting"
