"""Steps that are separate passes: an operator, a mix of images, a blend with altered copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array
from orbbec.bridge.spec import MIXES, OPERATORS, OpSpec
from orbbec.plan.fuse import Fusion, Step
from orbbec.plan.passes import BlendPass, MixPass, OperatorPass, common_size
from orbbec.plan.state import BatchState, identities

_IDENTITY = np.eye(3)


@dataclass(frozen=True, eq=False)
class Operator(Step):
    """A registered operator, with a row of arguments per image.

    Args:
        name: name of the operator.
        table: arrays `[N]` or `[N, ...]`, by argument name.
        options: arguments that are the same for all images.
        drawn: bool `[N]`: the images that it changes; the others keep their bytes.
        matrix: float64 `[N, 3, 3]`, output to source pixels, if it moves pixels.
        sizes: int64 `[N, 2]`: sizes of its output, if it changes sizes.
        why: why it cannot be fused.
        channels: number of output channels, if it changes them.
        least: see `Warp`.
    """

    is_alone = True
    name: str
    table: Mapping[str, Array] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    drawn: Array | None = None
    matrix: Array | None = None
    sizes: Array | None = None
    why: str = "reads neighboring pixels"
    channels: int | None = None
    least: tuple[int, int] = (1, 1)

    @property
    def spec(self) -> OpSpec:
        return OPERATORS[self.name]

    def only(self, chosen: Array, state: BatchState) -> Operator:
        if self.channels is not None:
            raise ValueError(f"{self.name}: images of one batch all get other channels, or none")
        if self.sizes is not None and self.matrix is not None:
            return self._kept_size(chosen, state)
        return replace(self, drawn=chosen if self.drawn is None else chosen & self.drawn)

    def _kept_size(self, chosen: Array, state: BatchState) -> Operator:
        assert self.matrix is not None
        assert self.sizes is not None
        table = dict(self.table)
        if "boxes" in table:
            table["boxes"] = np.where(chosen[:, None], table["boxes"], state.regions.astype(np.float64))
        else:
            rows = table["matrix"].shape[1]
            table["matrix"] = np.where(chosen[:, None, None], table["matrix"], _IDENTITY[:rows])
        return replace(
            self,
            table=table,
            matrix=np.where(chosen[:, None, None], self.matrix, _IDENTITY),
            sizes=np.where(chosen[:, None], self.sizes, state.sizes),
            least=lower(least_after(self, state), state.least),
        )

    def after(self, state: BatchState) -> BatchState:
        if self.channels is not None:
            return replace(state, channels=self.channels)
        return state if self.sizes is None else state.of_sizes(self.sizes, least_after(self, state))

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        self._check(fusion, name)
        fusion.close()
        state, count = fusion.state, len(fusion.state)
        sizes = state.sizes if self.sizes is None else self.sizes
        drawn = np.ones(count, bool) if self.drawn is None else self.drawn
        matrix = identities(count) if self.matrix is None else self.matrix
        step = OperatorPass(
            name=self.name,
            table=self.spec.with_identities(self.table, drawn),
            options=self.options,
            drawn=drawn,
            matrix=matrix,
            sizes=sizes,
            resizes=self.sizes is not None,
            dtype=str(self.options.get("dtype", fusion.dtype)),
            why=f"{self.name} {self.why}",
            holds=(name,),
            conditional=self.drawn is not None,
        )
        fusion.append(step, int(self.matrix is not None))
        if self.matrix is not None:
            fusion.move(matrix, sizes, least_after(self, state))
        fusion.state = self.after(fusion.state)
        fusion.begin(f"{self.name} precedes it")

    def _check(self, fusion: Fusion, name: str) -> None:
        channels, known = fusion.state.channels, self.spec.channels
        if self.spec.dtypes == ("uint8",) and fusion.dtype != "uint8":
            fix = "give images of 8 bits" if fusion.dtype == "uint16" else "put it before ToDtype"
            raise ValueError(f"{name}: expected images of uint8, but got {fusion.dtype}; {fix}")
        if "uint16" not in self.spec.dtypes:
            fusion.check_no_uint16(name)
        if fusion.dtype not in self.spec.dtypes:
            known_dtypes = " or ".join(self.spec.dtypes)
            raise ValueError(f"{name}: expected images of {known_dtypes}, but got {fusion.dtype}")
        if known and channels not in known:
            counts = " or ".join(map(str, known))
            raise ValueError(f"{name}: expected images of {counts} channels, but got {channels}")
        fusion.check_fill(self.options.get("fill", 0.0), name)


@dataclass(frozen=True, eq=False)
class Mix(Step):
    """A mix of images of the batch.

    Args:
        name: name of an operator with a `MixSpec`.
        table: arrays `[N]` or `[N, ...]`, by argument name.
        sizes: int64 `[N, 2]`: sizes of the output, if it changes sizes.
        least: see `Warp`.
    """

    is_alone = True
    name: str
    table: Mapping[str, Array]
    sizes: Array | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    least: tuple[int, int] = (1, 1)

    def only(self, chosen: Array, state: BatchState) -> Mix:
        """The mix for the chosen images; the others are mixed with themselves."""
        own = np.arange(len(state)).reshape(-1, *(1,) * (self.table["pair_indices"].ndim - 1))
        kept: dict[str, Any] = {
            "pair_indices": own,
            "weights": 1.0,
            "boxes": 0,
            "centers": state.sizes[:, ::-1],
        }
        if self.sizes is not None and (self.sizes != state.sizes)[~chosen].any():
            raise ValueError(
                f"{self.name}: expected images of its size where it is not applied to all; "
                "put a resize before it"
            )
        table = {
            name: np.where(chosen.reshape(-1, *(1,) * (values.ndim - 1)), values, kept[name])
            for name, values in self.table.items()
        }
        return replace(self, table=table, least=lower(least_after(self, state), state.least))

    def after(self, state: BatchState) -> BatchState:
        return state if self.sizes is None else state.of_sizes(self.sizes, least_after(self, state))

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        fusion.check_fill(self.options.get("fill", 0.0), name)
        fusion.mix_targets()
        p, given = fusion.open, (self.name, self.table)
        can_fuse = fusion.dtype in MIXES[self.name].fused_dtypes and p.holds and p.mixes is None
        if can_fuse and common_size(p.sizes) is not None:
            p.mixes = MixPass(*given, p.sizes, fusion.dtype, self.options)
            p.holds[name] = None
            return
        fusion.close()
        sizes = fusion.state.sizes if self.sizes is None else self.sizes
        why = f"{name} reads other images of the batch"
        fusion.append(MixPass(*given, sizes, fusion.dtype, self.options, why, (name,)), 0)
        fusion.state = self.after(fusion.state)
        fusion.begin(f"{self.name} precedes it")


@dataclass(frozen=True, eq=False)
class Blend(Step):
    """A blend of images with altered copies of themselves.

    Args:
        weights: float64 `[N, 1 + K]`: weights of an image and of its K copies.
        steps: steps for the K * N copies: the first copies of all images, then the second ones, and so on.
    """

    is_alone = True
    weights: Array
    steps: tuple[Step, ...]

    def only(self, chosen: Array, state: BatchState) -> Blend:
        alone = np.zeros_like(self.weights)
        alone[:, 0] = 1.0
        return replace(self, weights=np.where(chosen[:, None], self.weights, alone))

    def fuse(self, fusion: Fusion, name: str, transform_index: int) -> None:
        fusion.check_no_uint16(name)
        fusion.close()
        sizes = fusion.state.sizes
        copies = Fusion(np.tile(sizes, (self.weights.shape[1] - 1, 1)), fusion.state.channels, fusion.dtype)
        for each in self.steps:
            copies.add(each, name)
        why = f"{name} blends images with altered copies"
        fusion.append(BlendPass(copies.finish(), self.weights, sizes, fusion.dtype, why, (name,)), 0)
        fusion.begin("blend precedes it")


def lower(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), min(one[1], other[1])


def least_after(step: Any, state: BatchState) -> tuple[int, int]:
    """The lower bounds of height and width after a step."""
    return state.least if step.sizes is None or step.sizes is state.sizes else step.least
