"""Runs torchvision's own tests of `transforms.v2.functional` on orbbec's functions of the same names.

    python tools/torchvision_functional.py DIR [arguments of pytest]

DIR is the folder `test` of torchvision's source. The tests of `test_transforms_v2.py` that name one of the
functions, except those of kernels and classes, run on the CPU, once with torchvision and once with orbbec.
`torchvision_functional.json` lists the tests that pass with torchvision and may fail with orbbec, with
reasons. The exit status is 1 if another test fails, or if a listed one passes.

torch.jit is not tested, and references are torchvision's: calls in a function named as a reference, and calls
with a Pillow image in a test of correctness.
"""

import functools
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import types
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import torch
import torchvision.transforms.v2
from torchvision.transforms.v2 import functional as theirs

from orbbec.transforms import functional as ours

TABLE = Path(__file__).with_suffix(".json")
TESTS = "test_transforms_v2.py"


@functools.wraps(theirs.clamp_bounding_boxes)
def clamp_bounding_boxes(inpt: Any, *arguments: Any, **options: Any) -> Any:
    """As tests older than `clamping_mode` call it, for tensors too."""
    default = "soft" if type(inpt) is torch.Tensor else "auto"
    return theirs.clamp_bounding_boxes(inpt, *arguments, **{"clamping_mode": default, **options})


REFERENCES = {name: value for name, value in vars(theirs).items() if name[:2] != "__"}
REFERENCES["clamp_bounding_boxes"] = clamp_bounding_boxes


def parameters_of(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


Results = dict[str, dict[str, Any]]  # outcome, message and calls of each test

NAMES = [
    name
    for name in ours.__all__
    if name != "InterpolationMode" and hasattr(theirs, name)
    if parameters_of(getattr(ours, name)) == parameters_of(getattr(theirs, name))
]
OTHERS = [
    name for name in ours.__all__ if hasattr(theirs, name) and name not in (*NAMES, "InterpolationMode")
]
NAMED = re.compile(rf"\bF\.({'|'.join(NAMES)})\b")


class Plugin:
    """A pytest plugin that replaces torchvision's functions by orbbec's and records the results."""

    def __init__(self) -> None:
        self.results: dict[str, dict[str, Any]] = {}
        self.functions: list[Any] = []
        self.seeks_reference = False
        self.calls = 0  # of orbbec, by a test

    def pytest_addoption(self, parser: Any) -> None:
        parser.addoption("--orbbec", action="store_true")
        parser.addoption("--results")

    def pytest_configure(self, config: Any) -> None:
        module = types.ModuleType(theirs.__name__)
        vars(module).update(REFERENCES)
        if config.getoption("--orbbec"):
            vars(module).update({name: self.replaced(name) for name in NAMES})
        torchvision.transforms.v2.functional = module

    def replaced(self, name: str) -> Any:
        own, reference = getattr(ours, name), REFERENCES[name]
        known = [function for function, other, _ in self.functions if other is own]
        if known:  # by an alias
            return known[0]

        @functools.wraps(own)
        def function(*arguments: Any, **options: Any) -> Any:
            is_pil = bool(arguments) and isinstance(arguments[0], PIL.Image.Image)
            if (self.seeks_reference and is_pil) or is_called_by_reference():
                return reference(*arguments, **options)
            self.calls += 1
            torch._C._log_api_usage_once(f"{function.__module__}.{function.__name__}")
            return own(*arguments, **options)

        self.functions.append((function, own, reference))
        return function

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        torchvision.transforms.v2.functional = theirs
        functions = {function for function, _, _ in self.functions} | {REFERENCES[name] for name in NAMES}
        chosen = [item for item in items if names_functional(item, functions)]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen
        for module in {item.module for item in items}:
            module._check_functional_scripted_smoke = lambda *_, **__: None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        # In some tests, warnings are errors, and newer versions of torch warn about torch.jit.
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        self.calls = 0
        self.seeks_reference = "correctness" in item.originalname
        for function, own, reference in self.functions if "signature" in item.originalname else ():
            function.__signature__ = annotated(own, reference)  # a new one, since the test writes to it
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            message = str(getattr(crash, "message", ""))[:300]
            self.results[report.nodeid] = {"outcome": report.outcome, "message": message, "calls": self.calls}

    def pytest_sessionfinish(self, session: Any) -> None:
        Path(session.config.getoption("--results")).write_text(json.dumps(self.results))


def is_called_by_reference() -> bool:
    """Whether a reference function of the tests is running."""
    frame = sys._getframe(2)
    while frame is not None and Path(frame.f_code.co_filename).name == TESTS:
        if "reference" in getattr(frame.f_code, "co_qualname", frame.f_code.co_name):  # from Python 3.11 on
            return True
        frame = frame.f_back
    return False


def names_functional(item: Any, functions: set[Any]) -> bool:
    """Whether a test calls one of the functions, or gets one as an argument."""
    if item.originalname.startswith(("test_kernel", "test_transform")):
        return False
    parameters = getattr(item, "callspec", None)
    values = parameters.params.values() if parameters else ()
    if parameters and "fn" in parameters.params:
        return parameters.params["fn"] in functions
    is_given = any(isinstance(value, types.FunctionType) and value in functions for value in values)
    return is_given or NAMED.search(inspect.getsource(item.function)) is not None


def annotated(own: Any, reference: Any) -> inspect.Signature:
    """The signature of `own` with torchvision's annotations, which are those of torch.jit."""
    signature, known = inspect.signature(own), inspect.signature(reference).parameters
    entries = signature.parameters.values()
    return signature.replace(parameters=[p.replace(annotation=known[p.name].annotation) for p in entries])


def results_of(tests: Path, arguments: list[str]) -> Results:
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        options = ["-q", "--tb=no", "-p", "no:cacheprovider", f"--results={results}"]
        subprocess.run(
            [sys.executable, __file__, "--pytest", *options, TESTS, *arguments],
            cwd=tests,
            env={
                **os.environ,
                "OMP_NUM_THREADS": "1",
                "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            },
            stdout=subprocess.DEVNULL,
            check=False,
        )
        found: Results = json.loads(results.read_text())
        return found


def judged(before: Results, after: Results) -> list[str]:
    """The unexpected outcomes; prints a summary of the tests."""
    table = json.loads(TABLE.read_text())
    reasons, wrong, passed = Counter[str](), [], 0
    for name, result in after.items():
        test = name.partition("::")[2]
        known = [row["reason"] for row in table if any(re.search(p, test) for p in row["tests"])]
        if before[name]["outcome"] != "passed" or (result["outcome"] == "passed" and not result["calls"]):
            continue
        if result["outcome"] == "passed":
            passed += 1
            wrong += [f"passes, though listed: {test}"] if known else []
        elif known:
            reasons[known[0]] += 1
        else:
            wrong.append(f"fails: {test}: {result['message']}")
    print(f"torchvision {torchvision.__version__}, {len(NAMES)} functions; with other arguments: {OTHERS}")
    print(f"{passed:5} pass")
    for reason, count in reasons.most_common():
        print(f"{count:5} fail: {reason}")
    others = Counter(result["outcome"] for result in before.values())
    print(f"{others['skipped']:5} are not run: torchvision skips them, most of them for want of a GPU")
    print(f"{others['failed']:5} are not counted: they fail with torchvision itself")
    return wrong


def main() -> int:
    tests, arguments = Path(sys.argv[1]), sys.argv[2:]
    with ThreadPoolExecutor() as pool:
        before, after = pool.map(results_of, 2 * [tests], (arguments, ["--orbbec", *arguments]))
    wrong = judged(before, after)
    print(*wrong, sep="\n")
    return int(bool(wrong) or not before)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pytest"]:
        sys.exit(pytest.main(sys.argv[2:], plugins=[Plugin()]))
    sys.exit(main())
