"""`record_peer.py NAME`, run in .venv-NAME: records in docs/parity/peers.json that its tests passed today.

`make parity` runs it after those tests.
"""

import json
import platform
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path

NAMES = {
    "albumentations": "Albumentations",
    "albumentationsx": "AlbumentationsX",
    "ray": "Ray",
    "torchvision": "torchvision",
}


def main() -> None:
    path = Path(__file__).parents[2] / "docs" / "parity" / "peers.json"
    name = sys.argv[1]
    found = json.loads(path.read_text()) if path.exists() else {}
    found[NAMES[name]] = {
        **{"version": version(name), "date": date.today().isoformat()},
        **{"torch": version("torch"), "python": platform.python_version()},
    }
    path.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
