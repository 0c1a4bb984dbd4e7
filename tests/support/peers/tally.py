"""Counts of the values that differ between two implementations."""

from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from tests.support.compare import same_bytes


@dataclass
class Tally:
    """The differences found in a set of cases.

    Values for which the reference gives no meaningful result are undefined.

    Example:
        >>> tally = Tally()
        >>> tally.add(np.array([1.0, 2.5]), np.array([1.0, 2.0]))
        >>> tally.values, tally.different_values, tally.largest_difference
        (2, 1, 0.5)
    """

    cases: int = 0
    values: int = 0
    different_cases: int = 0
    different_values: int = 0
    largest_difference: float = 0.0
    undefined_values: int = 0
    undefined_different_values: int = 0

    def add(self, actual: Array, expected: Array, defined: Array | None = None, unit: float = 1.0) -> None:
        """Count one case; `defined` broadcasts to the results, and differences are measured in `unit`."""
        different = ~same_bytes(actual, expected)
        undefined = ~np.broadcast_to(np.True_ if defined is None else defined, different.shape)
        self.cases += 1
        self.values += different.size
        self.undefined_values += int(undefined.sum())
        self.undefined_different_values += int((different & undefined).sum())
        different &= ~undefined
        if not different.any():
            return
        self.different_cases += 1
        self.different_values += int(different.sum())
        apart = np.abs(actual[different].astype(np.float64) - expected[different].astype(np.float64)).max()
        self.largest_difference = max(self.largest_difference, float(apart) / unit)
