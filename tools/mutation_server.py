"""Runs tests on mutated code in forks of one process that has collected the tests."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from mutations import Mutation

ROOT = Path(__file__).resolve().parents[1]


def in_child(scratch: Path, work: Callable[[], int], seconds: float) -> int | None:
    """The exit status of `work()` in a fork that runs in the copy; None if it took too long.

    torch is imported once, before forking, and not for each mutation.
    """
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setpgrp()
            os.chdir(scratch)
            sys.path[:] = [str(scratch), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
            os.environ["PYTHONPATH"] = str(scratch)
            sys.dont_write_bytecode = True
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 1)
            os.dup2(silence, 2)
            status = work()
        finally:
            os._exit(int(status))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def changed_functions(old: CodeType, new: CodeType) -> list[tuple[CodeType, CodeType]] | None:
    """The functions of a module whose code changes; None if the module or a class itself changes."""
    before, after = ([each for each in code.co_consts if isinstance(each, CodeType)] for code in (old, new))
    if _statements(old) != _statements(new) or len(before) != len(after):
        return None
    found: list[tuple[CodeType, CodeType]] = []
    for one, other in zip(before, after, strict=True):
        if one.co_flags & inspect.CO_OPTIMIZED:
            inner = [(one, other)] if one != other else []
        else:
            inner = changed_functions(one, other)
        if inner is None:
            return None
        found += inner
    return found


def _statements(code: CodeType) -> tuple[object, ...]:
    """What code does, without the functions and classes in it and without numbers of lines."""
    return code.co_name, code.co_code, code.co_names, *(c for c in code.co_consts if type(c) is not CodeType)


class Server:
    """A pytest plugin that, once the tests are collected, calls `work` and not the tests.

    It runs no test itself, since a fork takes no threads along.
    """

    def __init__(self, scratch: Path, work: Callable[[Server], None]) -> None:
        self.scratch = scratch
        self.work = work
        self.functions: dict[tuple[str, CodeType], list[FunctionType]] = defaultdict(list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.session = session
        self.items = {item.nodeid: item for item in session.items}
        for each in gc.get_objects():
            if type(each) is FunctionType and each.__code__.co_filename.startswith(str(self.scratch)):
                self.functions[each.__code__.co_filename, each.__code__].append(each)
        gc.freeze()
        self.work(self)
        return True

    def replacements(self, mutation: Mutation) -> list[tuple[FunctionType, CodeType]]:
        """Functions that a mutation changes, with their new code; none where a new import is needed."""
        path = self.scratch / mutation.file
        source = path.read_bytes()
        old, new = (
            compile(text, str(path), "exec", dont_inherit=True) for text in (source, mutation.applied(source))
        )
        pairs = [
            (function, after)
            for before, after in changed_functions(old, new) or ()
            for function in self.functions.get((str(path), before), ())
        ]
        fits = all(len(f.__code__.co_freevars) == len(code.co_freevars) for f, code in pairs)
        return pairs if fits else []

    def run(
        self, names: list[str], functions: Sequence[tuple[FunctionType, CodeType]] = (), *, ends: bool = True
    ) -> int:
        """Run tests with new code of functions; 1 as soon as one fails, unless the run goes on to its end."""
        for function, code in functions:
            function.__code__ = code
        items = [self.items[name] for name in names]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if ends and self.session.shouldfail:
                return 1
        return 0
