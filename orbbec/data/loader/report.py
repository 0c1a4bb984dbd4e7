"""The time report of a loader: a table and advice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orbbec.data.loader.tune import IDLE, KEEPS_UP
from orbbec.data.sample import Fault

_PARTS = ("read", "decode", "augment", "copy")
_NAMES = {**{part: part for part in _PARTS}, "idle": "for model"}  # names in the table
_SEEN = 0.05  # smaller fractions are left out of the line
_IN_LINE = 2  # parts in the line, which fits in 80 columns
_LISTED = 10  # bad samples named in the warning
_ALIKE = 0.12  # difference of two fractions up to which both get advice


@dataclass(frozen=True)
class Report:
    """The measurements of a loader.

    Args:
        images: number of images taken.
        seconds: from the request of the first batch to the last batch, without the time between epochs.
        waited: seconds of these in which the model waited for a batch. On CUDA, a wait at whose end the
            device still had work does not count.
        spent: seconds by activity, summed over all threads: "read", "decode", "augment", "copy", and "idle"
            while waiting for the model.
        threads: number of the loader's threads.
        synthetic: images per second with one repeated batch; 0: not measured.
        cores: number of threads that can run at once; 0: unknown.
        cached: fraction of the samples that came from the cache, from 0 to 1; None: there is no cache.
        most_bytes: the most bytes of decoded pixels at once; 0: unknown.
        on_device: number of images that kernels decoded, with `Decoding(device="cuda")`.
        on_host: number of images that were left to the host then.
        pairs: number of samples that were read as pair images of mixes, in addition to `images`.
        decoded_pairs: number of those that mixes read, and that were decoded.

    Example:
        >>> spent = {"read": 0.1, "decode": 2.4, "augment": 0.5, "idle": 0.1}
        >>> report = Report(1000, 2.0, 0.5, spent, threads=2, synthetic=800.0)
        >>> print(report)
        500 images/s, 75 % of the speed without waiting (the model waited 25 % of the time)
        With one repeated batch: 800 images/s; the loader reaches 62 % of that
        read        0.10 ms per image    3 %
        decode      2.40 ms per image   77 %
        augment     0.50 ms per image   16 %
        for model   0.10 ms per image    3 %
        Decoding takes most: give the loader more threads (2 now), or pack smaller images.
        >>> print(report.line)
        500 images/s, 25 % waiting; decode 77 %, augment 16 %
    """

    images: int
    seconds: float
    waited: float
    spent: Mapping[str, float]
    threads: int
    synthetic: float = 0.0
    cores: int = 0
    cached: float | None = None
    most_bytes: int = 0
    on_device: int = 0
    on_host: int = 0
    pairs: int = 0
    decoded_pairs: int = 0

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
        """What to change, for the part that takes most, or for two that take about as much."""
        if not self.images:
            return "No batch was taken yet."
        if 1 - self.speed_fraction <= KEEPS_UP:
            return self._advice_where_no_one_waits
        if self._fractions.get("idle", 0.0) > IDLE:
            return "Threads wait too: epochs are short, or batch times vary and need a larger prefetch."
        fractions = self._fractions
        first, second = sorted(_PARTS, key=lambda part: -fractions.get(part, 0.0))[:2]
        (most, fix), (next_most, other_fix) = self._fix(first), self._fix(second)
        if fractions.get(first, 0.0) - fractions.get(second, 0.0) > _ALIKE:
            return f"{most} takes most: {fix}."
        return f"{most} and {next_most.lower()} take most.\n{most}: {fix}.\n{next_most}: {other_fix}."

    def _fix(self, part: str) -> tuple[str, str]:
        """The name of a part, and what makes it faster."""
        threads = f"give the loader more threads ({self.threads} now), or pack smaller images"
        cores = f"use more cores ({self.cores} now, each with a thread), or pack smaller images"
        return {
            "read": ("Reading", f"pack the files into shards, or use more threads ({self.threads} now)"),
            "decode": ("Decoding", cores if 0 < self.cores <= self.threads else threads),
            "augment": ("Augmentation", 'pass device="cuda" to the Loader, or remove transforms'),
            "copy": ("Copying", "crop before the copy, or send uint8 and convert on the device"),
        }[part]

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
            f'({self.threads} now) take cores from it; give the loader fewer, or pass device="cuda" to it.'
        )

    @property
    def _fractions(self) -> dict[str, float]:
        """The fraction of the threads' time per activity."""
        whole = sum(self.spent.get(part, 0.0) for part in _NAMES) or 1.0
        return {part: self.spent[part] / whole for part in _NAMES if part in self.spent}

    def __str__(self) -> str:
        lines = [
            f"{self.images_per_second:.0f} images/s, {percent(self.speed_fraction)} of the speed without "
            f"waiting (the model waited {percent(1 - self.speed_fraction)} of the time)"
        ]
        if self.synthetic:
            lines.append(
                f"With one repeated batch: {self.synthetic:.0f} images/s; "
                f"the loader reaches {percent(self.reached)} of that"
            )
        if self.cached is not None:
            lines.append(f"From the cache: {percent(self.cached)} of the samples")
        if self.most_bytes:
            lines.append(f"Batches ahead of the model had at most {self.most_bytes / 1e6:.0f} MB of pixels")
        if decoded := self.on_device + self.on_host:
            lines.append(
                f"Decoded on the device: {self.on_device} of {decoded} images; the host did the others"
            )
        if self.pairs:
            read, used = (count / max(self.images, 1) for count in (self.pairs, self.decoded_pairs))
            lines.append(
                f"Pair images of mixes: {read:.1f} more samples were read per image, {used:.1f} decoded"
            )
        for part, fraction in self._fractions.items():
            each = 1e3 * self.spent[part] / max(self.images, 1)
            lines.append(f"{_NAMES[part]:<10}{each:>6.2f} ms per image {percent(fraction):>6}")
        return "\n".join([*lines, self.advice])

    @property
    def line(self) -> str:
        """The report in one line, for a progress bar: the speed, and what takes most."""
        fractions = self._fractions
        largest = sorted(fractions, key=lambda part: -fractions[part])[:_IN_LINE]
        seen = [part for part in fractions if part in largest and fractions[part] >= _SEEN]
        parts = ", ".join(f"{_NAMES[part]} {percent(fractions[part])}" for part in seen)
        return f"{self.images_per_second:.0f} images/s, {percent(1 - self.speed_fraction)} waiting; {parts}"


def percent(fraction: float) -> str:
    """A fraction such as `48 %`."""
    return f"{fraction:.0%}".replace("%", " %")


def fault_report(faults: Sequence[Fault], on_error: str) -> str:
    """The text of a warning of bad samples, which were skipped or replaced as `on_error` says.

    Example:
        >>> print(fault_report([Fault(7, "3.jpg", "the file is empty")], "skip"))
        Loader: 1 bad sample was skipped:
          sample 7 (3.jpg): the file is empty
        >>> print(fault_report([Fault(7, "3.jpg", "the file is empty")] * 3, "skip"))
        Loader: 3 bad samples were skipped:
          sample 7 (3.jpg): the file is empty (3 times)
    """
    counts = Counter(map(str, faults))  # a pair image may be bad for several mixes
    lines = [text if count == 1 else f"{text} ({count} times)" for text, count in counts.items()]
    listed = "".join(f"\n  {line}" for line in lines[:_LISTED])
    more = f"\n  and {len(lines) - _LISTED} more; see Loader.faults" if len(lines) > _LISTED else ""
    done = "replaced" if on_error == "substitute" else "skipped"
    were = "sample was" if len(faults) == 1 else "samples were"
    return f"Loader: {len(faults)} bad {were} {done}:{listed}{more}"
