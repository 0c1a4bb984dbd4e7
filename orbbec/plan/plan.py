"""Plans: what happens to the images of a batch, in tables that can be printed, saved and applied again.

Split into structure and tables, one captured CUDA graph serves many plans.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from orbbec.bridge.arguments import Array, size_text
from orbbec.plan.parameters import Batch, Column, ParameterTable, common_size, identities
from orbbec.plan.passes import Columns, CropPass, MixPass, NoiseKey, Pass
from orbbec.plan.program import Program
from orbbec.plan.rules import Block

_PARTS = (*Pass.__subclasses__(), CropPass, Block, Column)
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in _PARTS}
_VERSION = 2
_TOLD = ("why", "holds")  # to people


@dataclass(frozen=True, eq=False)
class Plan:
    """The passes over the images of a batch, with their drawn parameters.

    Args:
        sizes: int64 `[N, 2]`: height and width of the images in pixels.
        sample_ids: int64 `[N]`.
        passes: the passes in order.
        notes: how results differ from those of the transforms applied one by one.
        seed: seed of the pipeline.
        epoch: epoch of the draws.
        channels: number of channels of every image.
        dtype: name of the dtype of the images.
        frame_ids: int64 `[N]`: the ids as which frames of clips draw for themselves; None: `sample_ids`.

    Example:
        >>> plan = Plan(np.array([[4, 5]]), np.array([7]), ())
        >>> print(plan)
        Plan of 1 image of 4x5, uint8, 3 channels; seed 0, epoch 0
        >>> Plan.from_json(plan.to_json()).sample_ids.tolist()
        [7]
    """

    sizes: Array
    sample_ids: Array
    passes: tuple[Pass, ...]
    notes: tuple[str, ...] = ()
    seed: int = 0
    epoch: int = 0
    channels: int = 3
    dtype: str = "uint8"
    frame_ids: Array | None = None
    size: tuple[int, int] | None = field(init=False, repr=False)  # the common size of the images, or None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", common_size(self.sizes))

    @classmethod
    def of(cls, program: Program, batch: Batch, channels: int, dtype: str) -> Plan:
        """The plan of a batch by a program.

        Raises:
            ValueError: an image is too small for a transform; names both.
        """
        passes = program.passes_of(program.fill(batch), batch.pairs)
        key = batch.seed, batch.epoch
        frame_ids = batch.ids(per_frame=True) if batch.frames > 1 else None
        return cls(batch.sizes, batch.sample_ids, passes, program.notes, *key, channels, dtype, frame_ids)

    def __len__(self) -> int:
        return len(self.sizes)

    def computed(self) -> Plan:
        """This plan, with all that follows from its parameters, which torch.compile cannot trace."""
        for step in self.passes:
            for each in step.unfolded():
                each.compute()
        return self

    @property
    def output_sizes(self) -> Array:
        """The sizes of the results: int64 `[N, 2]`."""
        return self.passes[-1].sizes if self.passes else self.sizes

    @property
    def output_dtype(self) -> str:
        """The name of the dtype of the results."""
        return self.passes[-1].dtype if self.passes else self.dtype

    @property
    def matrix(self) -> Array:
        """The product of the matrices of all passes: output pixels to image pixels, float64 `[N, 3, 3]`.

        Raises:
            ValueError: the plan mixes images, so there is no such matrix.
        """
        for mix in self.mixes:
            raise ValueError(f"Plan: a plan with {mix.name} has no matrix to one image")
        result = identities(len(self))
        for step in self.passes:
            result = result @ step.matrix
        return result

    @cached_property
    def mixes(self) -> tuple[MixPass, ...]:
        """The mixes of images of the batch, as separate passes and at the end of others."""
        return tuple(mix for mix in (step.mix for step in self.passes) if isinstance(mix, MixPass))

    @property
    def key(self) -> NoiseKey:
        """Determines the noise of the images."""
        return NoiseKey(self.sample_ids, self.seed, self.epoch, self.frame_ids)

    def table(self, index: int) -> Columns:
        """The parameters of pass `index` by name, with a row per image."""
        return self.passes[index].columns()

    def __str__(self) -> str:
        images = "1 image" if len(self) == 1 else f"{len(self)} images"
        described = f"Plan of {images} of {size_text(self.sizes)}, {self.dtype}, {self.channels} channels"
        lines = [f"{described}; seed {self.seed}, epoch {self.epoch}"]
        for number, step in enumerate(self.passes, 1):
            lines.append(f" {number}. {step.describe()}")
            lines.append(f"    holds {', '.join(step.holds)}")
            if step.why:
                lines.append(f"    because {step.why}")
        lines += [f" note: {note}" for note in self.notes]
        return "\n".join(lines)

    def to_json(self) -> str:
        """The plan as text; `from_json` restores it bit for bit."""
        tables: dict[int, Any] = {}
        content = {f.name: _encode(getattr(self, f.name), tables) for f in fields(self) if f.init}
        return json.dumps({"orbbec_plan": _VERSION, **content, "tables": list(tables.values())})

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Restore a plan from the text of `to_json`.

        Raises:
            ValueError: the text is not a plan of this version.
        """
        content = json.loads(text)
        if not isinstance(content, dict) or content.pop("orbbec_plan", None) != _VERSION:
            raise ValueError(f"Plan.from_json: expected a plan of version {_VERSION}")
        tables: list[ParameterTable] = []
        for table in content.pop("tables"):
            tables.append(ParameterTable(**_decode(table, tables)))
        return cls(**{name: _decode(value, tables) for name, value in content.items()}).computed()


def _encode(value: Any, tables: dict[int, Any]) -> Any:
    """A value for JSON; tables of parameters, which passes share, are added to `tables` by their `id`."""
    encode = partial(_encode, tables=tables)
    if isinstance(value, np.ndarray) and value.dtype == bool:
        return {"runs": _runs(value), "shape": list(value.shape)}
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "shape": list(value.shape), "values": value.ravel().tolist()}
    if isinstance(value, Mapping):
        return {"columns": {name: encode(entry) for name, entry in value.items()}}
    if isinstance(value, ParameterTable):
        if id(value) not in tables:  # those of copies come before it
            tables[id(value)] = encode({f.name: getattr(value, f.name) for f in fields(value)})
        return {"table": list(tables).index(id(value))}
    if type(value).__name__ in _KINDS:
        names = value._fields if isinstance(value, Column) else [f.name for f in fields(value) if f.init]
        names = [*names, "parameters"] if hasattr(value, "parameters") else names
        return {"type": type(value).__name__, **{name: encode(getattr(value, name)) for name in names}}
    if isinstance(value, (tuple, list)):
        return [encode(entry) for entry in value]
    return value


def _runs(values: Array) -> list[int]:
    """The lengths of the runs of equal values, the first one of False."""
    flat = np.concatenate([[False], values.ravel()])
    ends = np.flatnonzero(flat[1:] != flat[:-1])
    lengths: list[int] = np.diff(ends, prepend=0, append=values.size).tolist()
    return lengths


def _decode(value: Any, tables: Sequence[ParameterTable]) -> Any:
    if isinstance(value, list):
        return tuple(_decode(entry, tables) for entry in value)
    if not isinstance(value, dict):
        return value
    if "type" in value:
        content = {name: _decode(entry, tables) for name, entry in value.items() if name != "type"}
        parameters = content.pop("parameters", None)
        if value["type"] not in _KINDS:
            raise ValueError(f"Plan.from_json: expected the passes of this version, but got {value['type']}")
        decoded = _KINDS[value["type"]](**content)
        return decoded if parameters is None else decoded.of(parameters)
    if "array" in value:
        return np.array(value["values"], value["array"]).reshape(value["shape"])
    if "runs" in value:
        return (np.repeat(np.arange(len(value["runs"])), value["runs"]) % 2 == 1).reshape(value["shape"])
    if "table" in value:
        return tables[value["table"]]
    return {name: _decode(entry, tables) for name, entry in value["columns"].items()}


def tables_of(plan: Plan) -> list[Columns]:
    """The tables of each pass, by argument name of its operator.

    The passes within a blend follow the blend.

    Example:
        >>> from orbbec.transforms import Compose, RandomHorizontalFlip
        >>> [list(tables) for tables in tables_of(Compose([RandomHorizontalFlip()]).plan([(4, 6)]))]
        [['matrix']]
    """
    key = plan.key
    keys = (key._replace(sample_ids=key.sample_ids[: len(step.parameters)]) for step in _unfolded(plan))
    return [step.tables(key) for step, key in zip(_unfolded(plan), keys, strict=True)]


def _unfolded(plan: Plan) -> Iterator[Pass]:
    return (each for step in plan.passes for each in step.unfolded())


def fixed(plan: Plan) -> Plan | None:
    """An equivalent plan in which only the numbers in the tables depend on the draws.

    Args:
        plan: a plan for images of any sizes.

    Returns:
        The plan. None if the first pass does not give all images one size, or if the window sizes drawn for a
        blur differ.

    Example:
        >>> from orbbec.transforms import Compose, GaussianBlur, RandomHorizontalFlip, Resize
        >>> fixed(Compose([RandomHorizontalFlip()]).plan([(4, 6), (5, 5)])) is None
        True
        >>> plan = fixed(Compose([Resize((4, 4)), GaussianBlur(3)]).plan([(4, 6), (5, 5)]))
        >>> list(tables_of(plan)[1]), plan.passes[1].options
        (['sigma', 'drawn'], {'kernel_size': (3, 3)})
    """
    resamples = bool(plan.passes) and plan.passes[0].resamples
    if not resamples or any(step.size is None for step in plan.passes):
        return None
    settled = tuple(each for each in (step.fixed() for step in plan.passes) if each is not None)
    return replace(plan, passes=settled) if len(settled) == len(plan.passes) else None


def structure_of(plan: Plan) -> Hashable:
    """All that defines a plan of `fixed`, except the numbers in its tables.

    `apply_fixed` makes the same calls for plans of equal structure. Operators that draw noise also read seed
    and epoch.

    Example:
        >>> from orbbec.transforms import CenterCrop, Compose, RandomHorizontalFlip
        >>> pipeline = Compose([CenterCrop(4), RandomHorizontalFlip()])
        >>> one, other, larger = (fixed(pipeline.plan(sizes)) for sizes in ([(4, 6)], [(9, 5)], [(4, 6)] * 2))
        >>> structure_of(one) == structure_of(other), structure_of(one) == structure_of(larger)
        (True, False)
    """
    noisy = any(step.draws_noise for step in _unfolded(plan))
    drawn_by = (plan.seed, plan.epoch) if noisy else None
    tables = [(name, t.dtype.str, t.shape) for columns in tables_of(plan) for name, t in columns.items()]
    return len(plan), plan.channels, plan.dtype, drawn_by, _frozen(plan.passes), tuple(tables)


def _frozen(value: Any) -> Hashable:
    """A value that can be hashed; passes include the common size of their outputs."""
    if isinstance(value, Pass):
        arguments = [_frozen(getattr(value, f.name)) for f in fields(value) if f.init and f.name not in _TOLD]
        return type(value).__name__, getattr(value, "parameters", None) and value.size, *arguments
    if isinstance(value, Block):
        return value.numbers, value.rows, value.offset
    if isinstance(value, Mapping):
        return tuple((name, _frozen(entry)) for name, entry in value.items())
    if isinstance(value, (tuple, list)):
        return tuple(map(_frozen, value))
    result: Hashable = value
    return result
