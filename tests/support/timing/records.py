"""Records of runs as JSON, with one line per value or row, so that diffs are readable."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def as_lines(content: Mapping[str, Any]) -> str:
    """JSON with one line per value, and per row of a table.

    Example:
        >>> print(as_lines({"date": "today", "cores": 2, "rows": [{"ms": 1.5}, {"ms": 2.5}]}))
        {
         "date": "today",
         "cores": 2,
         "rows": [
          {"ms": 1.5},
          {"ms": 2.5}
         ]
        }
    """
    entries = (f" {json.dumps(name)}: {_value(value)}" for name, value in content.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def _value(value: Any) -> str:
    is_table = isinstance(value, list) and value and isinstance(value[0], dict)
    return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if is_table else json.dumps(value)


def write_records(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(as_lines(content) + "\n")
