"""The base class of steps, and what those that move pixels share."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.plan.build import Build
from orbbec.plan.passes import VARIES, Size
from orbbec.plan.state import BatchState

STEP_WARP = 18  # registers: matrix 9, height, width, box 4, whether flipped, offset 2


class Step:
    """A change to a batch, with one row of parameters per image; subclasses are frozen dataclasses."""

    @property
    def structure(self) -> Hashable:
        """What all batches must have in common, since the pipeline was compiled with it."""
        raise NotImplementedError

    def only(self, chosen: Array, state: BatchState) -> Step:
        """The step applied to the chosen images only."""
        raise NotImplementedError

    def after(self, state: BatchState) -> BatchState:
        """The state of the batch after the step."""
        return state

    def add(self, build: Build, state: BatchState, register: int) -> Any:
        """Add the step to a program.

        Args:
            build: the program so far.
            state: the batch that it is compiled for.
            register: the first of the registers for its `numbers`.

        Raises:
            ValueError: the step does not support the images at this point.
        """
        raise NotImplementedError

    def parts(self, exact: bool) -> Sequence[Step]:
        """The steps that it consists of, by default itself; with `exact`, its operators, if it has some."""
        return (self,)

    def numbers(self) -> Array | None:
        """The numbers of its registers, in order: `[N, registers]`; None if it has none."""
        return None

    @property
    def array(self) -> Any:
        """The table of an operator; None if it has none."""
        return None


class Identity(Step):
    """Leaves images as they are, in a fused pass."""

    structure = None

    def add(self, build: Build, state: BatchState, register: int) -> None:
        build.open.holds[build.name] = None


def warp_numbers(
    matrix: Array,
    sizes: Array | None,
    region: Array | None = None,
    flips: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """The registers of a warp: float64 `[N, 18]`."""
    numbers = np.zeros((len(matrix), STEP_WARP))
    numbers[:, :9] = matrix.reshape(-1, 9)
    if sizes is not None:
        numbers[:, 9:11] = sizes
    for at, width, values in ((11, 4, region), (15, 1, flips), (16, 2, offset)):
        if values is not None:
            numbers[:, at : at + width] = values.reshape(-1, width)
    return numbers


def static_size(step: Any, state: BatchState) -> Size | None:
    """The size of the outputs of a step that is known for every batch; None: that of its inputs."""
    if step.sizes is None or step.sizes is state.sizes:
        return None
    if step.least != (1, 1) and (step.sizes == step.least).all():
        return int(step.least[0]), int(step.least[1])
    return VARIES


def geometry_of(step: Any, chosen: Array, state: BatchState) -> dict[str, Any]:
    """The matrices, sizes and lower bounds of a step that moves the pixels of chosen images only."""
    least = least_after(step, state)
    return {
        "matrix": np.where(chosen[:, None, None], step.matrix, np.eye(3)),
        "sizes": np.where(chosen[:, None], step.sizes, state.sizes),
        "least": (min(least[0], state.least[0]), min(least[1], state.least[1])),
    }


def least_after(step: Any, state: BatchState) -> tuple[int, int]:
    """The lower bounds of height and width after a step."""
    return state.least if step.sizes is None or step.sizes is state.sizes else step.least
