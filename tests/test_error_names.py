"""An error of a public operator begins with the name of the function that was called."""

import doctest
import importlib
import inspect

import numpy as np
import pytest
import torch

import orbbec
from orbbec import _library

FUNCTIONS = [
    name for name in orbbec.__all__ if inspect.isroutine(getattr(orbbec, name)) and name != "profile"
]
_WRONG = {
    "a dtype": lambda value: value.to(torch.complex64),
    "bool": lambda value: value.bool(),
    "more dimensions": lambda value: value.reshape(*value.shape, 1, 1, 1, 1, 1),
    "no dimension": lambda value: value.flatten()[:1].reshape(()) if value.numel() else value.new_zeros(()),
    "one value more": lambda value: torch.cat([value.flatten(), value.flatten()[:1]]),
    "a row more": lambda value: torch.cat([value, value[:1]]) if value.dim() else value[None],
    "another type": lambda value: {"values": value},
}


def calls_of(name):
    """The arguments with which the examples of a function call it."""
    function = getattr(orbbec, name)
    found = []

    def recorded(*arguments, **named):
        found.append(inspect.signature(function).bind(*arguments, **named))
        return function(*arguments, **named)

    module = importlib.import_module(function.__module__)
    names = {"np": np, "torch": torch, **vars(module), name: recorded}
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in doctest.DocTestFinder(recurse=False).find(function, name, globs=names):
        runner.run(example)
    return found


_OTHER_VALUES = {"text": "1", "a dict": {"a": 1}, "an object": object()}


def wrong_calls(call):
    """The call with each of its arguments replaced by wrong ones."""
    for argument, value in call.arguments.items():
        if isinstance(value, (torch.Tensor, np.ndarray)):
            for what, wrong in _WRONG.items():
                yield f"{argument} with {what}", {**call.arguments, argument: wrong(torch.as_tensor(value))}
    names = [name for name, each in call.signature.parameters.items() if each.kind is not each.VAR_KEYWORD]
    for argument in names:
        for what, wrong in _OTHER_VALUES.items():
            yield f"{argument} as {what}", {**call.arguments, argument: wrong}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_error_begins_with_the_name_of_the_function(name):
    calls = calls_of(name)
    assert calls, "an example that calls the function"
    unnamed = []
    for call in calls:
        for what, arguments in wrong_calls(call):
            bound = inspect.BoundArguments(call.signature, arguments)
            try:
                getattr(orbbec, name)(*bound.args, **bound.kwargs)
            except Exception as error:
                if not str(error).startswith(f"{name}: "):
                    unnamed.append(f"{what}: {type(error).__name__}: {str(error)[:150]}")
    assert not unnamed, "\n".join(unnamed)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"masks_to_boxes"}))  # it takes any dtype
def test_a_tensor_of_another_dtype_is_a_type_error(name):
    for call in calls_of(name):
        for argument, value in call.arguments.items():
            if isinstance(value, (torch.Tensor, np.ndarray)):
                wrong = torch.as_tensor(value).to(torch.complex64)
                bound = inspect.BoundArguments(call.signature, {**call.arguments, argument: wrong})
                with pytest.raises(TypeError, match=rf"^{name}: expected .*but got (torch\.)?complex64"):
                    getattr(orbbec, name)(*bound.args, **bound.kwargs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_text_is_no_truth_value(name):
    """The text "false" of a configuration file is true to Python."""
    for call in calls_of(name)[:1]:
        for argument, parameter in call.signature.parameters.items():
            if isinstance(parameter.default, bool):
                bound = inspect.BoundArguments(call.signature, {**call.arguments, argument: "false"})
                with pytest.raises((TypeError, ValueError), match=f"{argument} as True or False, but got"):
                    getattr(orbbec, name)(*bound.args, **bound.kwargs)


def _replaced(value, number, kinds):
    if isinstance(value, tuple):
        return tuple(_replaced(each, number, kinds) for each in value)
    return number if type(value) in kinds else value


@pytest.mark.parametrize(
    ("number", "kinds"), [(2**63, (int,)), (10**400, (int, float))], ids=["2^63", "10^400"]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_that_is_too_large_is_named(name, number, kinds):
    unnamed = []
    for call in calls_of(name)[:1]:
        call.apply_defaults()
        for argument, value in call.arguments.items():
            large = _replaced(value, number, kinds)
            if type(value) in (int, float, tuple) and large != value:
                bound = inspect.BoundArguments(call.signature, {**call.arguments, argument: large})
                try:
                    getattr(orbbec, name)(*bound.args, **bound.kwargs)
                except Exception as error:
                    if not str(error).startswith(f"{name}: expected "):
                        unnamed.append(f"{argument}: {type(error).__name__}: {str(error)[:150]}")
    assert not unnamed, "\n".join(unnamed)


def test_a_refusal_is_a_value_error_with_any_torch(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "2.15.0")

    def operator(kernel_size):
        try:
            return torch.ops.orbbec.median_blur(torch.zeros(1, 1, 4, 4), None, 0, kernel_size)
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(str(error)) from error

    operator.name = lambda: "orbbec::median_blur"
    call = _library._refusing(operator)
    assert call([3, 3]).shape == (1, 1, 4, 4)
    with pytest.raises(ValueError, match="median_blur: expected kernel_size of odd numbers"):
        call([2, 3])

    def failing():
        raise RuntimeError("median_blur: not enough memory")

    failing.name = operator.name
    with pytest.raises(RuntimeError, match="not enough memory"):
        _library._refusing(failing)()
