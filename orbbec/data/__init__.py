"""From files to the model: readers, orders, and what passes between them."""

from orbbec.data.sample import BadSample, Sample, Source

__all__ = [
    "BadSample",
    "Sample",
    "Source",
]
