"""The base class of passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

from orbbec.bridge.arguments import Array, StoredPlanes
from orbbec.plan.batches import Work
from orbbec.plan.parameters import ParameterTable, common_size
from orbbec.plan.rules import Block, Rule

Columns: TypeAlias = dict[str, Array]
Size: TypeAlias = tuple[int, int]
ALIKE = (-1, -1)  # as a size: equal for images of equal sizes
VARIES = (0, 0)  # as a size: it depends on the image or on the draws
_Pass = TypeVar("_Pass", bound="Pass")
_Value = TypeVar("_Value")


class drawn_property(Generic[_Value]):
    """A property that follows from the parameters of a pass; it is computed once, when it is read."""

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self.function, self.name = function, function.__name__
        self.__doc__ = function.__doc__

    def __get__(self, step: Any, _: Any = None) -> _Value:
        value = self.function(step)
        object.__setattr__(step, self.name, value)
        return value


class NoiseKey(NamedTuple):
    """Determines the noise of a batch."""

    sample_ids: Array  # int64 [N]
    seed: int
    epoch: int
    frame_ids: Array | None = None  # of frames whose noise is their own


class Context(NamedTuple):
    """Arguments of all passes of a plan."""

    key: NoiseKey
    tables: Iterator[Mapping[str, Any]]  # one per pass in order; each pass takes the next
    is_fixed: bool = False  # only the tables are read, so that a CUDA graph can be captured
    is_temporary: bool = False  # a preceding pass made the input, so it may be overwritten
    following: Any = None  # the next pass, if there is one


@dataclass(eq=False, kw_only=True)
class Pass:
    """A pass over the pixels of a batch.

    A program has passes without parameters; `of` gives those of a batch. By default a pass leaves pixels in
    place, and draws no noise.

    Args:
        out: its first register.
        dtype: name of the dtype of its output.
        why: why the pipeline was split before it; empty if it was not.
        holds: names of the transforms that it runs.
        static_size: of its outputs: (height, width), `ALIKE` or `VARIES`.

    Attributes:
        parameters: the parameters of the batch.
        name: name of its operator.
        runs: whether `run` runs it.
        blocks: its blocks of words.
        partial_blocks: those of which an image may have fewer rows.
        resamples: whether it warps images by a matrix, to outputs of other sizes.
        draws_noise: whether it draws noise from seed, epoch and sample ids.
        keeps_numbers: whether it casts bytes to floats from 0 to 255.
        mix: the pass that mixes images: itself, or the mix at its end; None: no images are mixed.
    """

    out: int
    dtype: str
    why: str = ""
    holds: tuple[str, ...] = ()
    static_size: Size = VARIES

    parameters: ParameterTable = field(init=False, repr=False)

    name: ClassVar[str]
    runs: ClassVar[bool] = False
    blocks: ClassVar[Sequence[Block]] = ()
    partial_blocks: ClassVar[Sequence[Block]] = ()
    resamples: ClassVar[bool] = False
    draws_noise: ClassVar[bool] = False
    keeps_numbers: ClassVar[bool] = False
    mix: ClassVar[Any] = None
    _from_parameters: ClassVar[Sequence[str]] = ()  # what is computed once from parameters

    def __init_subclass__(cls) -> None:
        every = (item for base in cls.__mro__ for item in vars(base).items())
        cls._from_parameters = [name for name, value in every if isinstance(value, drawn_property)]

    def of(self: _Pass, parameters: ParameterTable) -> _Pass:
        """The pass with the parameters of a batch."""
        step = object.__new__(type(self))
        step.__dict__.update(self.__dict__)
        for name in self._from_parameters:
            step.__dict__.pop(name, None)
        step.parameters = parameters
        return step

    def compute(self) -> None:
        """Compute all that follows from its parameters."""
        for name in self._from_parameters:
            value = getattr(self, name)
            if isinstance(value, Pass):
                value.compute()

    @drawn_property
    def sizes(self) -> Array:
        """Sizes of its outputs: int64 `[N, 2]`."""
        return self.parameters.sizes(self.out)

    @drawn_property
    def size(self) -> Size | None:
        """The common size of its outputs, or None."""
        return self.static_size if self.static_size > VARIES else common_size(self.sizes)

    @drawn_property
    def matrix(self) -> Array:
        """Output pixels to input pixels: float64 `[N, 3, 3]`."""
        return self.parameters.matrices(self.out)

    @property
    def known_size(self) -> Size:
        """The size of its outputs; zeros if it is not known before they are drawn."""
        return max(self.static_size, VARIES)

    def end(self) -> Sequence[Rule]:
        """The rules that write its numbers."""
        return [Rule("end_pass", (-1, -1, 0, -1, -1), out=self.out)]

    def row(self) -> Mapping[str, float | Sequence[float]]:
        """The numbers of its row in the program, by the names of binding_passes.h."""
        return {"out": self.out, "static_size": self.known_size}

    def columns(self) -> Columns:
        """Its parameters by name, each `[N]` or `[N, ...]`."""
        raise NotImplementedError

    def describe(self) -> str:
        """A description in one line."""
        raise NotImplementedError

    def tables(self, key: NoiseKey) -> Columns:
        """The tables that its operator takes, by argument name, with a row per image."""
        raise NotImplementedError

    def run(self, work: Work, sizes: Array, context: Context, out: Any = None) -> Work:
        """Run the pass.

        Args:
            work: the images.
            sizes: int64 `[N, 2]`: sizes of the images.
            context: its next table is that of this pass.
            out: output buffer that may be used.
        """
        raise NotImplementedError

    def reads_planes(self, planes: StoredPlanes) -> bool:
        """Whether it converts planes to RGB as it reads them."""
        return False

    def before_normalizing(self, values: Array) -> Array:
        """Undo the normalization of results `[..., C]`, if the pass normalizes."""
        return values

    def unfolded(self) -> Iterator[Pass]:
        """This pass and the passes within it."""
        yield self

    def fixed(self) -> Pass | None:
        """An equivalent pass in which only tables depend on the draws; None if there is none."""
        return self

    def region(self, sizes: Array, can_shrink: bool, least: Array | None = None) -> Array | None:
        """The part of each image that it reads, int64 `[N, 4]`: left, top, right, bottom; None: all of it.

        Args:
            sizes: int64 `[N, 2]`: sizes of the images.
            can_shrink: whether images may be decoded at a reduced size; then regions of whole images are
                returned too.
            least: int64 `[N, 4]`: what is decoded at least, for other plans; an operator may read more then.
        """
        return None

    def needs(self, sizes: Array) -> Array | None:
        """The part of each image on which its results depend; see `region`, without `can_shrink`."""
        return self.region(sizes, can_shrink=False)

    def of_regions(self, boxes: Array, shrinks: Array, to_region: Array) -> Pass:
        """The pass for images of which only boxes around `region` were decoded.

        Args:
            boxes: int64 `[N, 4]`: what was decoded, in pixels of the shrunk images.
            shrinks: int64 `[N]`: factor by which the sides were reduced in decoding.
            to_region: float64 `[N, 3, 3]`: pixels of whole images to decoded pixels.
        """
        raise NotImplementedError


def matrix_columns(matrix: Array, sizes: Array) -> Columns:
    """The elements of matrices and output sizes by name, each `[N]`."""
    columns = {f"m{i}{j}": matrix[:, i, j] for i in range(3) for j in range(3)}
    return {**columns, "height": sizes[:, 0], "width": sizes[:, 1]}
