"""The command line: `python -m orbbec doctor`."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from orbbec.doctor import advise, collect, report

app = typer.Typer(no_args_is_help=True, add_completion=False)


@app.callback()
def commands() -> None:
    """Image augmentation operators for PyTorch."""


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print facts and advice as JSON.")] = False,
) -> None:
    """Show versions, the binary, GPUs and whether CUDA works here, and give advice for what is off."""
    facts = collect()
    advice = advise(facts)
    print(json.dumps({**asdict(facts), "advice": advice}, indent=2) if as_json else report(facts, advice))


if __name__ == "__main__":
    app(prog_name="python -m orbbec")
