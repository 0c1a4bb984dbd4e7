"""A call of an operator as data, which can be run, judged, and written as Python."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

LIBRARY = "orbbec"
# The size of the result depends on values.
NO_FAKE = {"selected_indices", "run", "run_seed", "motion_kernels"}
MOST_ELEMENTS = 1 << 16  # elements of a tensor; larger shapes have strides of 0

# torch's own errors: arguments that do not match the schema, devices without a kernel, lack of memory.
_OF_SCHEMA = re.compile(r"^(\w+::\w+\(\) |Could not run ')")
_OF_MEMORY = re.compile(r"out of memory|not enough memory|can't allocate memory|bad_alloc|bad_array_new")
_NAMED = re.compile(r"^[a-z][a-z0-9_]*: ")


@dataclass(frozen=True)
class TensorSpec:
    """A tensor with any memory layout, whose elements repeat `values`.

    Attributes:
        strides: None if contiguous.
        shares: position of another argument whose memory it uses.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    values: tuple[float, ...] = (0,)
    strides: tuple[int, ...] | None = None
    offset: int = 0
    device: str = "cpu"
    requires_grad: bool = False
    shares: int | None = None

    def steps(self) -> tuple[int, ...]:
        """The strides, including those of 0 that keep the tensor small."""
        if self.strides is not None:
            return self.strides
        steps, step = [], 1
        for side in reversed(self.shape):
            steps.append(step if step * max(side, 1) <= MOST_ELEMENTS else 0)
            step = step * max(side, 1) if steps[-1] else step
        return tuple(reversed(steps))

    def elements(self) -> int:
        """The number of elements of its memory."""
        if 0 in self.shape:
            return self.offset + 1
        reach = sum((side - 1) * step for side, step in zip(self.shape, self.steps(), strict=True))
        return self.offset + 1 + reach

    def build(self, built: list[Any]) -> Tensor:
        """The tensor; `built` are the preceding arguments."""
        if self.shares is not None and isinstance(built[self.shares], Tensor):
            other = built[self.shares]
            return other if other.shape == self.shape else other.as_strided(self.shape, self.steps())
        if self.device == "meta":
            return torch.empty(self.shape, dtype=self.dtype, device="meta")
        elements = self.elements()
        if elements > 4 * MOST_ELEMENTS:
            raise Unbuildable
        whole = not self.dtype.is_floating_point and all(isinstance(v, int) for v in self.values)
        if whole and self.dtype == torch.int64:
            values = torch.tensor(self.values, dtype=torch.int64)
        else:
            values = torch.tensor(self.values, dtype=torch.float64).to(self.dtype)
        memory = values.repeat(-(-elements // len(self.values)))[:elements]
        tensor = memory.as_strided(self.shape, self.steps(), self.offset)
        return tensor.requires_grad_() if self.requires_grad else tensor

    def source(self, call: Call, is_shared: bool = False) -> str:
        """A Python expression for it, as an argument of a call, whose memory others may use."""
        shape, suffix = list(self.shape), ".requires_grad_()" if self.requires_grad else ""
        if self.shares is not None:
            other = call.arguments[self.shares]
            same = isinstance(other, TensorSpec) and other.shape == self.shape
            return f"a{self.shares}" + ("" if same else f".as_strided({shape}, {list(self.steps())})")
        if self.device == "meta":
            return f"torch.empty({shape}, dtype={self.dtype}, device='meta')"
        plain = self.steps() == TensorSpec(self.shape, self.dtype).steps() and self.offset == 0
        is_empty = 0 in self.shape and _product(side or 1 for side in self.shape) < 1 << 62
        if plain and is_empty and not is_shared:
            return f"torch.empty({shape}, dtype={self.dtype}){suffix}"
        fits = self.dtype.is_floating_point or 0 <= self.values[0] < 128
        if plain and fits and len(self.values) == 1 and self.elements() == _product(self.shape):
            return f"torch.full({shape}, {self.values[0]}, dtype={self.dtype}){suffix}"
        kind = "int64" if all(isinstance(v, int) for v in self.values) else "float64"
        elements = self.elements()
        repeats = -(-elements // len(self.values))
        memory = f"torch.tensor({list(self.values)}, dtype=torch.{kind}).to({self.dtype})"
        memory += f".repeat({repeats})[:{elements}]" if repeats > 1 or elements != len(self.values) else ""
        if plain and len(self.shape) == 1 and self.elements() == self.shape[0]:
            return memory + suffix
        return f"{memory}.as_strided({shape}, {list(self.steps())}, {self.offset}){suffix}"


class Unbuildable(Exception):
    """These arguments cannot be built."""


def _product(shape: Iterable[int]) -> int:
    total = 1
    for side in shape:
        total *= side
    return total


@dataclass(frozen=True)
class Outcome:
    """The outcome of a call: `kind` is "result", "refusal", or the name of a failure."""

    kind: str
    detail: str = ""

    @property
    def is_failure(self) -> bool:
        return self.kind not in ("result", "refusal", "memory", "unbuildable")


@dataclass(frozen=True)
class Call:
    """`torch.ops.<library>.<op>(*arguments)`, followed by the backward pass if there is a gradient."""

    op: str
    arguments: tuple[Any, ...]
    library: str = field(default=LIBRARY)

    def optional(self, i: int) -> bool:
        """Whether argument `i` may be omitted."""
        operator = getattr(getattr(torch.ops, self.library), self.op).default
        return str(operator._schema.arguments[i].real_type).startswith("Optional")

    def build(self) -> list[Any]:
        built: list[Any] = []
        for argument in self.arguments:
            built.append(_built(argument, built))
        return built

    def run(self) -> Outcome:
        """Run the call in this process, which it may crash."""
        try:
            built = self.build()
        except (RuntimeError, OverflowError, TypeError, ValueError, Unbuildable):
            return Outcome("unbuildable")  # torch refuses to make such a tensor
        try:
            result = getattr(getattr(torch.ops, self.library), self.op)(*built)
            _differentiate(result, built)
        except Exception as error:
            return outcome_of(error, any(isinstance(a, Tensor) and a.is_meta for a in built))
        return self._compared_with_fake(result, built)

    def _compared_with_fake(self, result: Any, built: list[Any]) -> Outcome:
        """A result, if the fake kernel predicts its shapes and dtypes."""
        tensors = [a for a in built if isinstance(a, Tensor)]
        if self.library != LIBRARY or self.op in NO_FAKE or not tensors or any(t.is_meta for t in tensors):
            return Outcome("result")
        operator = getattr(getattr(torch.ops, self.library), self.op)
        try:
            promised = _forms(operator(*map(_without_memory, built)))
        except Exception as error:
            return Outcome("a fake kernel that refuses", f"{type(error).__name__}: {error}")
        found = _forms(result)
        return (
            Outcome("result")
            if found == promised
            else Outcome("a fake kernel that errs", f"{promised} {found}")
        )

    def source(self) -> str:
        """A program that runs the call."""
        lines = ["import torch", "import orbbec", "from math import inf, nan", ""]
        shared = {a.shares for a in self.arguments if isinstance(a, TensorSpec)} - {None}
        written = []
        for i, argument in enumerate(self.arguments):
            text = _source(argument, self, i in shared)
            if i in shared:
                lines.append(f"a{i} = {text}")
                text = f"a{i}"
            written.append(text)
        call = f"torch.ops.{self.library}.{self.op}({', '.join(written)})"
        if any(isinstance(a, TensorSpec) and a.requires_grad for a in self.arguments):
            lines += [
                f"result = {call}",
                "results = result if isinstance(result, tuple) else (result,)",
                "results = [r for r in results if r is not None and r.requires_grad]",
                "torch.autograd.backward(results, [torch.ones_like(r) for r in results])",
            ]
        else:
            lines.append(call)
        return "\n".join(lines) + "\n"


def _built(argument: Any, built: list[Any]) -> Any:
    """An argument, whose tensors are made; `built` are those before it."""
    if isinstance(argument, list):
        return [_built(item, built) for item in argument]
    return argument.build(built) if isinstance(argument, TensorSpec) else argument


def _source(argument: Any, call: Call, is_shared: bool) -> str:
    if isinstance(argument, list):
        return f"[{', '.join(_source(item, call, is_shared) for item in argument)}]"
    return argument.source(call, is_shared) if isinstance(argument, TensorSpec) else repr(argument)


def _forms(result: Any) -> list[tuple[list[int], torch.dtype]]:
    results = result if isinstance(result, (tuple, list)) else [result]
    return [(list(r.shape), r.dtype) for r in results if isinstance(r, Tensor)]


def _without_memory(argument: Any) -> Any:
    if isinstance(argument, list):
        return list(map(_without_memory, argument))
    if not isinstance(argument, Tensor):
        return argument
    return torch.empty_strided(argument.shape, argument.stride(), dtype=argument.dtype, device="meta")


def _differentiate(result: Any, inputs: list[Any]) -> None:
    results = result if isinstance(result, (tuple, list)) else [result]
    results = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
    asked = [t for t in inputs if isinstance(t, Tensor) and t.requires_grad]
    if asked and results:
        torch.autograd.grad(results, asked, [torch.ones_like(r) for r in results], allow_unused=True)


def outcome_of(error: Exception, on_meta: bool) -> Outcome:
    """Classify an exception: a refusal that names the operator, torch's own error, or a failure.

    Args:
        error: the exception.
        on_meta: whether there are tensors without memory, whose sizes torch checks itself.
    """
    message = str(error)
    text = f"{type(error).__name__}: {message}"
    if isinstance(error, MemoryError) or _OF_MEMORY.search(message):
        return Outcome("memory", text)
    if on_meta and isinstance(error, (TypeError, RuntimeError)):
        return Outcome("refusal", text)
    if isinstance(error, (ValueError, TypeError, RuntimeError)):
        if _NAMED.search(message) or _OF_SCHEMA.search(message):
            return Outcome("refusal", text)
        return Outcome("an error without a name", text)
    return Outcome(f"a bare {type(error).__name__}", text)
