"""Errors of the command line: one line that says what is wrong and how to fix it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from orbbec.data.sample import BadSample, SourceError, printable

PROGRAM = "python -m orbbec"
# What a user can fix. Anything else is a fault of orbbec, and shows its traceback.
OF_USERS = (BadSample, SourceError, ImportError, OSError, RuntimeError, TypeError, ValueError)


def run(app: typer.Typer, arguments: Sequence[str] | None = None) -> int:
    """Run the command line, by default with the arguments of the process.

    Returns:
        The exit status: 0, 1 for an error, 2 for wrong arguments, 130 if interrupted.
    """
    try:
        status: Any = typer.main.get_command(app).main(arguments, prog_name=PROGRAM, standalone_mode=False)
    except (typer.Abort, KeyboardInterrupt):
        return _say("interrupted", 130)
    except Exception as error:
        # Some versions of Typer carry a copy of click; the errors of both have this method.
        if hasattr(error, "format_message"):
            return _say(_usage(error), getattr(error, "exit_code", 2))
        if not isinstance(error, OF_USERS):
            raise
        return _say(text_of(error), 1)
    return status if isinstance(status, int) else 0


def _usage(error: Any) -> str:
    """What is wrong with the arguments; empty if the help was printed for lack of any."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context else PROGRAM
    return f"{message}: see `{command} --help`" if message else ""


def text_of(error: BaseException) -> str:
    r"""An error in one line.

    Example:
        >>> text_of(FileNotFoundError(2, "No such file or directory", "a.jpg"))
        'a.jpg: No such file or directory'
        >>> text_of(ValueError("expected a number,\n  but got none"))
        'expected a number, but got none'
    """
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _say(line: str, status: int) -> int:
    if line:
        print(printable(f"error: {line}"), file=sys.stderr)
    return status
