"""The command `python -m orbbec doctor`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from .advice import advise
from .facts import collect
from .report import report


def doctor_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check the installation: versions, GPUs, decoders, and a line that fixes each problem."""
    facts = collect()
    advice = advise(facts)
    content = {**asdict(facts), "advice": [asdict(one) for one in advice]}
    print(json.dumps(content, indent=2) if as_json else report(facts, advice))
