"""Prints the report of `python -m orbbec doctor`, even if orbbec cannot be imported; for bug reports.

Usage: python tools/collect_env.py [--json]
"""

import importlib.util
import json
import sys
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]


def load_doctor() -> ModuleType:
    """The module orbbec/cli/doctor without orbbec, whose binary may be broken."""
    folder = ROOT / "orbbec" / "cli" / "doctor"
    spec = importlib.util.spec_from_file_location("orbbec_doctor", folder / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> int:
    if set(arguments) - {"--json"}:
        print(__doc__, file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT))
    doctor = load_doctor()
    facts = doctor.collect()
    advice = doctor.advise(facts)
    print(
        json.dumps({**asdict(facts), "advice": [asdict(one) for one in advice]}, indent=2)
        if arguments
        else doctor.report(facts, advice)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
