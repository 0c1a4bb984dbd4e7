"""Runs calls in forks of this process: a crash or hang is one failure, and the other calls continue."""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from tests.fuzz.call import Call, Outcome

UNDER_ASAN = "libasan" in os.environ.get("LD_PRELOAD", "")
KINDS = ("", "result", "refusal", "memory", "unbuildable", "failure")
PAST_LIMIT = "a run past the time limit"
MOST_OF_A_REPORT = 3000  # characters of the output of a child that crashed


@dataclass(frozen=True)
class Limits:
    """The limits of a call: CPU seconds, wall seconds, bytes of additional memory."""

    cpu_seconds: float = 10.0
    wall_seconds: float = 200.0
    memory: int = 128 << 20

    def impose(self) -> None:
        """Limit the memory of this process; AddressSanitizer has its own limit."""
        if UNDER_ASAN:
            return
        with open("/proc/self/status") as status:
            used = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + self.memory,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def start(self) -> None:
        """Start the timer of a call: SIGPROF, which is not handled, ends the process."""
        signal.setitimer(signal.ITIMER_PROF, self.cpu_seconds)


@dataclass(frozen=True)
class Runner:
    """How calls are run.

    Attributes:
        active: a context for the calls of a child: the device.
        threads: number of threads of a child.
    """

    limits: Limits = Limits()
    active: Callable[[], AbstractContextManager[object]] = nullcontext
    threads: int = 1

    def outcomes(self, calls: Sequence[Call]) -> Iterator[Outcome]:
        """The outcome of each call; after a call that ended its child, a new child continues."""
        while calls:
            child = _Child(calls, self)
            found = child.outcomes()
            yield from found
            calls = calls[len(found) :]

    def outcome(self, call: Call) -> Outcome:
        return next(self.outcomes([call]))


class _Child:
    """A fork, which writes outcomes to shared memory and the details of failures to a file."""

    def __init__(self, calls: Sequence[Call], runner: Runner) -> None:
        self.calls, self.runner = calls, runner
        self.kinds = mmap.mmap(-1, len(calls))
        with tempfile.TemporaryFile("w+") as self.details, tempfile.TemporaryFile("w+") as self.stderr:
            sys.stdout.flush()
            self.pid = os.fork()
            if self.pid == 0:
                self._work()
            self.status = self._wait()
            self.found = self._found()

    def outcomes(self) -> list[Outcome]:
        return self.found

    def _work(self) -> None:
        try:
            os.dup2(self.stderr.fileno(), 2)
            warnings.simplefilter("ignore")
            torch.set_num_threads(self.runner.threads)
            self.runner.limits.impose()
            with self.runner.active():
                for i, call in enumerate(self.calls):
                    self.runner.limits.start()
                    outcome = call.run()
                    self.kinds[i] = KINDS.index("failure" if outcome.is_failure else outcome.kind)
                    if outcome.is_failure or len(self.calls) == 1:
                        told = [i, outcome.kind, outcome.detail[:MOST_OF_A_REPORT]]
                        self.details.write(json.dumps(told) + "\n")
                        self.details.flush()
        finally:
            os._exit(0)

    def _wait(self) -> int:
        """The status of the child; it is killed if a call exceeds its wall time."""
        done, since, pause = -1, time.monotonic(), 0.0005
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return status
            if self._done() != done:
                done, since = self._done(), time.monotonic()
            if time.monotonic() - since > self.runner.limits.wall_seconds:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def _done(self) -> int:
        at = self.kinds.find(b"\0")
        return len(self.kinds) if at < 0 else at

    def _found(self) -> list[Outcome]:
        self.details.seek(0)
        told = {i: Outcome(*rest) for i, *rest in map(json.loads, self.details)}
        kinds = self.kinds[: self._done()]
        found = [told.get(i, Outcome(KINDS[kind])) for i, kind in enumerate(kinds)]
        if len(found) < len(self.calls):
            found.append(self._death())
        return found

    def _death(self) -> Outcome:
        self.stderr.seek(0)
        report = self.stderr.read()[-MOST_OF_A_REPORT:]
        if not os.WIFSIGNALED(self.status):
            return Outcome(f"an exit with {os.WEXITSTATUS(self.status)}", report)
        number = os.WTERMSIG(self.status)
        if number in (signal.SIGPROF, signal.SIGKILL):
            return Outcome(PAST_LIMIT, report)
        return Outcome(f"a death by {signal.Signals(number).name}", report)
