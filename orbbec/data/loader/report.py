"""The time report of a loader: a table and one sentence of advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from orbbec.data.loader.tune import IDLE, KEEPS_UP

_PARTS = ("read", "decode", "augment", "copy")
_NAMES = {**{part: part for part in _PARTS}, "idle": "for model"}  # names in the table
_SEEN = 0.01  # smaller fractions are left out of the line


@dataclass(frozen=True)
class Report:
    """The measurements of a loader.

    Args:
        images: number of images taken.
        seconds: from the request of the first batch to the last batch, without the time between epochs.
        waited: seconds of these in which the model waited for a batch.
        spent: seconds by activity, summed over all threads: "read", "decode", "augment", "copy", and "idle"
            while waiting for the model.
        threads: number of the loader's threads.
        synthetic: images per second with one repeated batch; 0: not measured.

    Example:
        >>> spent = {"read": 0.1, "decode": 2.4, "augment": 0.5, "idle": 0.1}
        >>> report = Report(1000, 2.0, 0.5, spent, threads=2, synthetic=800.0)
        >>> print(report)
        500 images/s; the model waited 25 % of the time: 75 % of what it reaches without waiting
        One batch repeated: 800 images/s, of which 62 % are reached
        read        0.10 ms per image    3 %
        decode      2.40 ms per image   77 %
        augment     0.50 ms per image   16 %
        for model   0.10 ms per image    3 %
        Decoding takes most: give the loader more threads (2 now), or pack smaller images.
        >>> print(report.line)
        500 images/s, 25 % waiting; read 3 %, decode 77 %, augment 16 %, for model 3 %
    """

    images: int
    seconds: float
    waited: float
    spent: Mapping[str, float]
    threads: int
    synthetic: float = 0.0

    @property
    def images_per_second(self) -> float:
        """Throughput seen by the model."""
        return self.images / self.seconds if self.seconds else 0.0

    @property
    def speed_fraction(self) -> float:
        """The fraction of the speed that the model reaches without waiting for batches, from 0 to 1.

        Threads that share cores with the model also slow down its steps; `Loader.synthetic` measures the
        speed without them.
        """
        return 1 - self.waited / self.seconds if self.seconds else 1.0

    @property
    def advice(self) -> str:
        """Advice in one sentence."""
        if not self.images:
            return "No batch was taken yet."
        if 1 - self.speed_fraction <= KEEPS_UP:
            return self._advice_where_no_one_waits
        if self._fractions.get("idle", 0.0) > IDLE:
            return "Threads wait too: epochs are short, or batch times vary and need a larger prefetch."
        now = f"({self.threads} now)"
        most = max(_PARTS, key=lambda part: self.spent.get(part, 0.0))
        return {
            "read": f"Reading takes most: pack the files into shards, or use more threads {now}.",
            "decode": f"Decoding takes most: give the loader more threads {now}, or pack smaller images.",
            "augment": "Augmentation takes most: set the loader's device to the GPU, or remove steps.",
            "copy": "Copying takes most: crop before the copy, or send bytes and cast on the device.",
        }[most]

    @property
    def reached(self) -> float:
        """The fraction of the speed with one repeated batch, from 0 to 1; 1 if that was not measured."""
        return min(self.images_per_second / self.synthetic, 1.0) if self.synthetic else 1.0

    @property
    def _advice_where_no_one_waits(self) -> str:
        if 1 - self.reached <= KEEPS_UP:
            return "The loader keeps up: a faster model or a larger batch is what remains."
        return (
            "The model seldom waits, but its steps are slower than alone: the loader's threads "
            f"({self.threads} now) take cores from it; give the loader fewer, or put its device on the GPU."
        )

    @property
    def _fractions(self) -> dict[str, float]:
        """The fraction of the threads' time per activity."""
        whole = sum(self.spent.get(part, 0.0) for part in _NAMES) or 1.0
        return {part: self.spent[part] / whole for part in _NAMES if part in self.spent}

    def __str__(self) -> str:
        lines = [
            f"{self.images_per_second:.0f} images/s; the model waited {_percent(1 - self.speed_fraction)} of "
            f"the time: {_percent(self.speed_fraction)} of what it reaches without waiting"
        ]
        if self.synthetic:
            lines.append(
                f"One batch repeated: {self.synthetic:.0f} images/s, of which "
                f"{_percent(self.reached)} are reached"
            )
        for part, fraction in self._fractions.items():
            each = 1e3 * self.spent[part] / max(self.images, 1)
            lines.append(f"{_NAMES[part]:<10}{each:>6.2f} ms per image {_percent(fraction):>6}")
        return "\n".join([*lines, self.advice])

    @property
    def line(self) -> str:
        """The report in one line, for a progress bar."""
        seen = {
            _NAMES[part]: _percent(fraction)
            for part, fraction in self._fractions.items()
            if fraction >= _SEEN
        }
        parts = ", ".join(f"{name} {fraction}" for name, fraction in seen.items())
        return f"{self.images_per_second:.0f} images/s, {_percent(1 - self.speed_fraction)} waiting; {parts}"


def _percent(fraction: float) -> str:
    return f"{fraction:.0%}".replace("%", " %")
