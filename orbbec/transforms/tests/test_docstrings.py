"""The docstring of each public transform has an example that runs, and says what its constructor raises."""

import doctest
import inspect
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch

from orbbec import transforms as T

OTHERS = (
    "InterpolationMode",
    "TargetReport",
    "Targets",
    "Transform",
)  # an enumeration, results, the base class
PUBLIC = [name for name in T.__all__ if isinstance(getattr(T, name), type) and not name.startswith("_")]
NAMES = [name for name in PUBLIC if name not in OTHERS]


def sections(kind):
    """The sections of a docstring by name, such as "Raises"."""
    found, name = {}, "text"
    for line in inspect.cleandoc(kind.__doc__).splitlines():
        if line in ("Args:", "Raises:", "Returns:", "Source:", "Example:"):
            name = line[:-1]
        else:
            found.setdefault(name, []).append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def error_of(kind):
    """The error of a constructor whose arguments are all of a wrong type; None if it takes no argument."""
    arguments = {field.name: object() for field in fields(kind) if field.init}
    try:
        kind(**arguments)
    except (TypeError, ValueError) as error:
        return error
    assert not arguments
    return None


def test_all_transforms_are_listed():
    transforms = [name for name in PUBLIC if issubclass(getattr(T, name), T.Transform)]
    assert set(transforms) - {"Transform"} <= set(NAMES)
    assert len(NAMES) > 55


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_transform_runs(name):
    kind = getattr(T, name)
    example = sections(kind).get("Example", "")
    names = {"np": np, "torch": torch, **vars(sys.modules[kind.__module__])}
    test = doctest.DocTestParser().get_doctest(example, names, name, None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(test).failed == 0
    uses = [one.source for one in test.examples if name in one.source]
    assert uses, "an example that calls the transform"
    assert any(one.want for one in test.examples)


@pytest.mark.parametrize("name", NAMES)
def test_a_transform_says_what_its_constructor_raises(name):
    kind = getattr(T, name)
    error = error_of(kind)
    raises = next(filter(None, (sections(one).get("Raises") for one in kind.mro() if one.__doc__)), "")
    assert bool(raises) >= (error is not None)
    assert error is None or f"{type(error).__name__}: " in raises


@pytest.mark.parametrize("name", NAMES)
def test_the_sections_of_a_transform_are_in_order(name):
    order = ["text", "Args", "Returns", "Raises", "Source", "Example"]
    found = [order.index(section) for section in sections(getattr(T, name))]
    assert found == sorted(found)
