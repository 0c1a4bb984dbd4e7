"""Writes docs/reference/cli.md: the commands of `python -m orbbec`, from their code.

python scripts/list_commands.py [--check]
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from orbbec.__main__ import app

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"
HEAD = """\
# Command line

Written by `scripts/list_commands.py` from the code. `python -m orbbec COMMAND --help` prints the same.
"""


def shown(parameter: Any) -> str:
    """The name of a parameter, as it is typed."""
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`" + (" ..." if parameter.nargs == -1 else "")
    return ", ".join(f"`{name}`" for name in parameter.opts)


def default(parameter: Any) -> str:
    """The default of a parameter; empty for flags and for parameters without a value."""
    if parameter.required:
        return "required"
    value = parameter.default
    return "" if value is None or value is False else f"`{value}`"


def section(name: str, command: Any) -> Iterator[str]:
    """What a command does, and a table of its parameters."""
    arguments = [
        shown(each).replace("`", "") for each in command.params if each.param_type_name == "argument"
    ]
    options = ["[OPTIONS]"] if len(command.params) > len(arguments) else []
    yield f"## {name}\n"
    yield " ".join((command.help or "").split()) + "\n"
    yield f"```console\n$ {' '.join(['python -m orbbec', name, *options, *arguments])}\n```\n"
    if command.params:
        yield "| parameter | default | meaning |"
        yield "| --- | --- | --- |"
        for each in command.params:
            yield f"| {shown(each)} | {default(each)} | {each.help} |"
        yield ""


def page() -> str:
    """The page as it should be."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return "\n".join([HEAD, *(line for name in sorted(commands) for line in section(name, commands[name]))])


def main(
    check: Annotated[bool, typer.Option(help="Write nothing; fail where the page is stale.")] = False,
) -> None:
    """Write docs/reference/cli.md."""
    if not check:
        PAGE.write_text(page())
    elif page() != PAGE.read_text():
        print(f"{PAGE.name} is stale: python scripts/list_commands.py")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
