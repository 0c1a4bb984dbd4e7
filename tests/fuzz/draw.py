"""Draws calls of any operator: valid ones, valid ones with a few changed arguments, and random ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from random import Random
from typing import Any

import torch

from tests.fuzz.call import LIBRARY, MOST_ELEMENTS, Call, TensorSpec
from tests.fuzz.plausible import BORDERS, CV2_SIZES, PILLOW_SIZES, Scene, plausible

DTYPES = (
    *(torch.uint8, torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.float16),
    *(torch.bfloat16, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16),
    *(torch.complex64, torch.complex128, torch.float8_e4m3fn),
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 255.0, 1e-45, 1e-30, 3e9, 2.0**31, -(2.0**31), 2.0**53, 1e30, -1e300),
    *(float("inf"), float("-inf"), float("nan")),
)
INTEGERS = (
    *(
        -(2**63),
        -(2**62),
        -(2**31),
        -65536,
        -9,
        -2,
        -1,
        0,
        1,
        2,
        3,
        4,
        5,
        7,
        16,
        64,
        100,
        224,
        255,
        256,
        1000,
    ),
    *(
        4096,
        32767,
        32768,
        65535,
        65536,
        2**20,
        2**24,
        2**30,
        2**31 - 1,
        2**31,
        2**32,
        2**33,
        2**59,
        2**62,
        2**63 - 1,
    ),
)
SIDES = (0, 0, 1, 1, 2, 3, 4, 5, 7, 9, 16, 17, 33, 256, 2**15, 2**16, 2**31 - 1, 2**31, 2**32, 2**40)
WORDS = (
    "",
    "none",
    "NEAREST",
    "420",
    "RGB",
    "uniform",
    "linear",
    "iou",
    "a" * 300,
    "\x00",
    "é",
    *BORDERS,
    *CV2_SIZES,
    *PILLOW_SIZES,
)
# Documented work that grows with these numbers: only small values are tried.
COSTLY = {
    "sampling_ratio": (4, 4096),
    "kernel_size": (255, 32767),
    "median_blur.kernel_size": (31, 32767),
}
MOST_READ = (
    1 << 28
)  # elements of a tensor with strides of 0, for operators that read everything and write little
MOST_OF_NMS = 1 << 15  # number of boxes that are compared with all others
REFUSED = 1 << 45  # too many elements for any operator
READ_ALL = ("by_histogram", "channel_sums", "gray_sums", "histogram")
LEFT_OUT = {"set_emulation"}  # the switch of the test build


def operators(library: str = LIBRARY) -> list[str]:
    """All operators that the library registers."""
    prefix = f"{library}::"
    registered = torch._C._dispatch_get_all_op_names()
    names = {name.removeprefix(prefix) for name in registered if name.startswith(prefix)}
    return sorted(names - LEFT_OUT)


def schema(library: str, op: str) -> list[tuple[str, str]]:
    """(name, type) of each argument, with types as in schemas."""
    arguments = getattr(getattr(torch.ops, library), op).default._schema.arguments
    return [(argument.name, _kind(str(argument.real_type))) for argument in arguments]


def _kind(text: str) -> str:
    if text.startswith("Optional["):
        return _kind(text[9:-1]) + "?"
    if text.startswith("List["):
        return _kind(text[5:-1]) + "[]"
    return {"number": "float", "SymInt": "int", "ScalarType": "int"}.get(text, text)


def draw_call(op: str, seed: int, index: int, library: str = LIBRARY, most: int | None = None) -> Call:
    """The call with this number, the same on every machine.

    Args:
        op: the operator.
        seed: seed of all calls.
        index: number of the call among those of the operator.
        library: library of the operator.
        most: limit on the elements of a tensor, including strides of 0, for a slow device; None: by operator.
    """
    random = Random(f"{seed}/{op}/{index}")
    kinds = schema(library, op)
    scene = Scene(random, op, [name for name, _ in kinds])
    wild = random.random() < 0.05
    arguments = [_first(scene, name, kind, wild) for name, kind in kinds]
    for _ in range(0 if wild else random.choice((0, 0, 1, 1, 1, 2, 3))):
        i = random.randrange(len(kinds)) if kinds else -1
        if i >= 0:
            arguments[i] = _changed(random, arguments[i], kinds[i][1], i)
    arguments = [_cheap(op, name, argument) for (name, _), argument in zip(kinds, arguments, strict=True)]
    bound = most or (MOST_READ if op in READ_ALL else MOST_OF_NMS if "nms" in op else None)
    if bound is not None:
        arguments = [_bounded(argument, bound) for argument in arguments]
    if random.random() < 0.15:
        arguments = [_with_gradient(random, argument) for argument in arguments]
    if random.random() < 0.02:
        arguments = [_on_meta(argument) for argument in arguments]
    return Call(op, tuple(arguments), library)


def _cheap(op: str, name: str, argument: Any) -> Any:
    few, most = COSTLY.get(f"{op}.{name}") or COSTLY.get(name, (0, 0))
    if isinstance(argument, list) and few:
        return [few if few < number <= most else number for number in argument]
    return few if isinstance(argument, int) and few < argument <= most else argument


def _bounded(argument: Any, most: int) -> Any:
    """A tensor within a limit of elements, or with so many that it is refused immediately."""
    if not isinstance(argument, TensorSpec) or not most < prod(argument.shape) < REFUSED:
        return argument
    shape = list(argument.shape)
    while prod(shape) > most:
        longest = shape.index(max(shape))
        shape[longest] = -(-shape[longest] // 2)
    return replace(argument, shape=tuple(shape))


def _first(scene: Scene, name: str, kind: str, wild: bool) -> Any:
    if not wild:
        try:
            return plausible(scene, name, kind)
        except KeyError:
            pass
    return WILD[kind](scene.random)


def _with_gradient(random: Random, argument: Any) -> Any:
    if isinstance(argument, TensorSpec) and argument.dtype.is_floating_point and argument.shares is None:
        return replace(argument, requires_grad=random.random() < 0.7)
    return argument


def _on_meta(argument: Any) -> Any:
    if not isinstance(argument, TensorSpec):
        return argument
    return replace(argument, device="meta", requires_grad=False, shares=None)


def _number(random: Random) -> float:
    return random.choice(FLOATS) if random.random() < 0.7 else round(random.uniform(-50, 50), 2)


def _integer(random: Random) -> int:
    return random.choice(INTEGERS) if random.random() < 0.7 else random.randint(-10, 300)


def _items(random: Random, one: Callable[[Random], Any]) -> list[Any]:
    return [one(random) for _ in range(random.choice((0, 0, 1, 1, 2, 2, 3, 4, 6, 40)))]


def _tensor(random: Random) -> TensorSpec:
    shape = tuple(random.choice(SIDES) for _ in range(random.choice((0, 1, 1, 2, 2, 3, 4, 4, 5))))
    spec = TensorSpec(shape, random.choice(DTYPES), _values(random))
    return _relaid(random, spec) if random.random() < 0.3 else spec


def _values(random: Random) -> tuple[float, ...]:
    one = _integer if random.random() < 0.4 else _number
    return tuple(one(random) for _ in range(random.randint(1, 12)))


def _relaid(random: Random, spec: TensorSpec) -> TensorSpec:
    """The same shape with another memory layout: order of dimensions, gaps, strides of 0, overlaps."""
    order = random.sample(range(len(spec.shape)), len(spec.shape))
    strides, step = [0] * len(spec.shape), 1
    for d in order:
        strides[d] = random.choice((step, step, step, 0, 1, 2 * step)) if step <= MOST_ELEMENTS else 0
        step *= max(spec.shape[d], 1)
    relaid = replace(spec, strides=tuple(strides), offset=random.choice((0, 0, 1, 3)))
    return relaid if relaid.elements() <= 4 * MOST_ELEMENTS else spec


def _reshaped(random: Random, spec: TensorSpec) -> TensorSpec:
    shape, change = list(spec.shape), random.randrange(4)
    if change == 0 and shape:
        shape.pop(random.randrange(len(shape)))
    elif change == 1:
        shape.insert(random.randint(0, len(shape)), random.choice((0, 1, 1, 2, 3)))
    elif change == 2 and shape:
        d = random.randrange(len(shape))
        shape[d] = max(shape[d] + random.choice((-1, 1)), 0)
    elif shape:
        shape[random.randrange(len(shape))] = random.choice(SIDES)
    return replace(spec, shape=tuple(shape), strides=None)


def _revalued(random: Random, spec: TensorSpec) -> TensorSpec:
    if random.random() < 0.4:
        return replace(spec, values=_values(random))
    values = list(spec.values)
    for _ in range(random.randint(1, 3)):
        special = _number if spec.dtype.is_floating_point else _integer
        values[random.randrange(len(values))] = special(random)
    return replace(spec, values=tuple(values))


def _changed_tensor(random: Random, spec: TensorSpec, position: int) -> TensorSpec:
    change = random.random()
    if change < 0.3:
        return _reshaped(random, spec)
    if change < 0.45:
        return replace(spec, dtype=random.choice(DTYPES))
    if change < 0.62:
        return _relaid(random, spec)
    if change < 0.9:
        return _revalued(random, spec)
    if change < 0.93:
        return replace(spec, device="meta", requires_grad=False, shares=None)
    if change < 0.97 and position > 0:
        return replace(spec, shares=0, device="cpu")
    return _tensor(random)


def _changed_list(random: Random, given: list[Any], one: Callable[[Random], Any]) -> list[Any]:
    change = random.random()
    if given and change < 0.5:
        changed = list(given)
        changed[random.randrange(len(changed))] = one(random)
        return changed
    if given and change < 0.6:
        return given[:-1]
    if change < 0.7:
        return [*given, one(random)]
    return _items(random, one)


WILD: dict[str, Callable[[Random], Any]] = {
    "Tensor": _tensor,
    "Tensor?": lambda random: _tensor(random) if random.random() < 0.7 else None,
    "int": _integer,
    "float": _number,
    "bool": lambda random: random.random() < 0.5,
    "str": lambda random: random.choice(WORDS),
    "int[]": lambda random: _items(random, _integer),
    "float[]": lambda random: _items(random, _number),
    "Tensor[]": lambda random: _items(random, _tensor),
}


def _changed(random: Random, given: Any, kind: str, position: int) -> Any:
    """Another value of an argument, usually almost valid."""
    if isinstance(given, TensorSpec) and random.random() < 0.9:
        return _changed_tensor(random, given, position)
    if isinstance(given, list):
        return _changed_list(random, given, {"int[]": _integer, "Tensor[]": _tensor}.get(kind, _number))
    if kind == "int" and isinstance(given, int) and random.random() < 0.3:
        return given + random.choice((-1, 1))
    return WILD[kind](random)
