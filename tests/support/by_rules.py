"""A transform whose rules a test adds."""

from collections.abc import Callable
from dataclasses import dataclass

from orbbec.plan.build import Build
from orbbec.transforms import Transform


@dataclass(frozen=True, eq=False)
class _ByRules(Transform):
    add: Callable[[Build], None]

    def rules(self, build: Build) -> None:
        self.add(build)


def by_rules(add: Callable[[Build], None]) -> Transform:
    """A transform whose rules a function adds."""
    return _ByRules(add)
