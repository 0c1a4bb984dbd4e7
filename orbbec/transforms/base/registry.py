"""Transforms by name, for pipelines that are read from text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

import torch

from orbbec.transforms.base.transform import Transform


def known_transforms() -> dict[str, type[Transform]]:
    """Every defined transform, users' included, by name."""
    return {kind.__name__: kind for kind in _subclasses(Transform) if not kind.__name__.startswith("_")}


def _subclasses(kind: type[Transform]) -> Iterator[type[Transform]]:
    for child in kind.__subclasses__():
        yield child
        yield from _subclasses(child)


def check_arguments(kind: type[Any], arguments: Mapping[str, Any]) -> None:
    """Refuse unknown and missing arguments of a dataclass."""
    unknown = arguments.keys() - {f.name for f in fields(kind) if f.init}
    if unknown:
        raise ValueError(f"{kind.__name__}: there is no argument {', '.join(sorted(unknown))}")
    required = (f.name for f in fields(kind) if f.init and f.default is f.default_factory is MISSING)
    missing = [name for name in required if name not in arguments]
    if missing:
        raise ValueError(f"{kind.__name__}: expected argument {', '.join(missing)}")


def transform_of(content: Any) -> Transform:
    """Build a transform from the result of `Transform.to_dict`.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: the transform is unknown, or an argument is unknown or missing.

    Example:
        >>> from orbbec.transforms import RandomHorizontalFlip
        >>> transform_of({"name": "RandomHorizontalFlip", "p": 0.25})
        RandomHorizontalFlip(p=0.25)
    """
    if not isinstance(content, dict) or "name" not in content:
        raise ValueError(f"Compose: expected a transform as a dict with a name, but got {content!r}")
    arguments = {name: value for name, value in content.items() if name != "name"}
    kind = known_transforms().get(content["name"])
    if kind is None:
        raise ValueError(f"Compose: there is no transform {content['name']!r}")
    check_arguments(kind, arguments)
    for name, value in arguments.items():
        arguments[name] = _value(name, value)
    return kind(**arguments)


def _value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(name, entry) for entry in value)
    if isinstance(value, dict) and "name" in value:
        return transform_of(value)
    if name == "dtype" and isinstance(value, str):
        return getattr(torch, value, value)
    return value
