"""Runs the command line in this process."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from orbbec.__main__ import app
from orbbec.cli.errors import run


@dataclass(frozen=True)
class Finished:
    """The exit status and the output of a command."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


def run_command(*arguments: object) -> Finished:
    """Run `python -m orbbec` with arguments."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run(app, list(map(str, arguments)))
    return Finished(status, out.getvalue(), err.getvalue())
