"""Selection of devices and tests.

The fixture `device` is each device in turn; `accelerator` is each except the CPU, for comparisons with the
CPU.

    pytest                                  the CPU, and CUDA if present
    pytest --device cuda                    CUDA only; tests that use no device are left out
    ORBBEC_REQUIRE_CUDA=1 pytest            fail if there is no CUDA
    pytest --sampled                        a sample of each parameter grid, another one each day
    pytest --share 4                        one in four tests, others each day
    python tests/emulation/run.py           the CUDA kernels executed on the CPU, under sanitizers
"""

import os
import random
from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np
import pytest
import torch

from tests.support import Device

# Importing these replaces torch.cuda.
collect_ignore = ["tests/emulation/lazy"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        action="append",
        choices=("cpu", "emulated", "cuda"),
        help="run on this device (may be repeated); default: cpu, and cuda where there is one",
    )
    parser.addoption("--sampled", action="store_true", help="run a sample of each grid of parameters")
    parser.addoption(
        "--share", type=int, default=1, help="of what is left, run one in so many, others each day"
    )
    parser.addoption(
        "--day", default=str(date.today()), help="the seed of the samples; default: today's date"
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"grids: sampled, --day {config.getoption('day')}" if config.getoption("sampled") else None


def chosen_devices(config: pytest.Config) -> list[str]:
    chosen = config.getoption("device") or (["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"])
    required = os.environ.get("ORBBEC_REQUIRE_CUDA", "")
    if required not in ("", "0", "1"):
        raise pytest.UsageError(f"ORBBEC_REQUIRE_CUDA: expected 0 or 1, but got '{required}'")
    return [*chosen, "cuda"] if required == "1" and "cuda" not in chosen else chosen


def pytest_configure(config: pytest.Config) -> None:
    devices = chosen_devices(config)
    if "cuda" in devices and not torch.cuda.is_available():
        raise pytest.UsageError("CUDA is asked for by --device or ORBBEC_REQUIRE_CUDA=1, and there is none")
    if "emulated" in devices and not hasattr(torch.ops.orbbec, "set_emulation"):
        raise pytest.UsageError("this binary emulates nothing: start with `python tests/emulation/run.py`")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    devices = chosen_devices(metafunc.config)
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", devices, indirect=True)
    if "accelerator" in metafunc.fixturenames:
        others = [name for name in devices if name != "cpu"]
        metafunc.parametrize("accelerator", others or ["none"], indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what another run does; pytest counts it as deselected.

    That is what needs an accelerator where there is none and, on one device alone, what needs no device.
    The sanitizers, where there are some, are also for rows on vectors and for arguments that nobody expected.
    """
    unwanted = [item for item in items if _accelerator_of(item) == "none"]
    if config.getoption("device") == ["emulated"]:
        unwanted += [item for item in items if not (_names_a_device(item) or _is_for_sanitizers(item))]
    if config.getoption("device") == ["cuda"]:
        unwanted += [item for item in items if not (_names_a_device(item) or _needs_cuda(item))]
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="needs CUDA; ORBBEC_REQUIRE_CUDA=1 insists on it"))
    if config.getoption("sampled"):
        unwanted += outside_of_samples(_without(items, unwanted), config.getoption("day"))
    unwanted += outside_of_share(
        _without(items, unwanted), config.getoption("share"), config.getoption("day")
    )
    if unwanted:
        config.hook.pytest_deselected(items=unwanted)
        items[:] = _without(items, unwanted)


def _without(items: list[pytest.Item], unwanted: list[pytest.Item]) -> list[pytest.Item]:
    refused = set(unwanted)
    return [item for item in items if item not in refused]


def outside_of_share(items: list[pytest.Item], share: int, day: str) -> list[pytest.Item]:
    """All but one in `share` of the items."""
    shuffled = random.Random(day).sample(items, len(items))
    return shuffled[len(items) // share :]


def outside_of_samples(items: list[pytest.Item], day: str) -> list[pytest.Item]:
    """Cases of parametrized tests in which nothing is new: each value of each parameter has been seen.

    Those with many new values come first, so that fewer cases have them all.
    """
    cases = {item: _values_of(item) for item in items if hasattr(item, "callspec")}
    shuffled = random.Random(day).sample(list(cases), len(cases))
    seen: set[tuple[str, str, int]] = set()
    for least in range(max(map(len, cases.values()), default=0), 0, -1):
        for item in shuffled:
            if len(cases[item] - seen) >= least:
                seen |= cases.pop(item)
        shuffled = [item for item in shuffled if item in cases]
    return list(cases)


def _values_of(item: pytest.Item) -> set[tuple[str, str, int]]:
    test = item.nodeid.partition("[")[0]
    if item.get_closest_marker("one_a_day"):
        return {(test, "", 0)}
    return {(test, name, id(value)) for name, value in item.callspec.params.items()}


def _names_a_device(item: pytest.Item) -> bool:
    return not {"device", "accelerator"}.isdisjoint(getattr(item, "fixturenames", ()))


def _needs_cuda(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    named = callspec is not None and "cuda" in [
        value for value in callspec.params.values() if isinstance(value, str)
    ]
    return named or item.get_closest_marker("cuda") is not None


def _is_for_sanitizers(item: pytest.Item) -> bool:
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):
        return False
    drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return drawn or item.get_closest_marker("sanitized") is not None


def _accelerator_of(item: pytest.Item) -> object:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("accelerator") if callspec else None


@pytest.fixture(autouse=True, scope="session")
def names_of_examples(doctest_namespace: dict[str, Any]) -> None:
    """What examples in docstrings use without importing it."""
    doctest_namespace.update(np=np, torch=torch)


@pytest.fixture
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """The device of the test; while it runs, the emulated device takes CPU tensors."""
    chosen = Device(request.param)
    with chosen.active():
        yield chosen


@pytest.fixture
def accelerator(request: pytest.FixtureRequest) -> Device:
    """The device to compare with the CPU: `accelerator.active()` is for the test to enter."""
    return Device(request.param)
