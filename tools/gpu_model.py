"""Counts what the CUDA kernels move and execute, on the executor of tests/gpu/ptx, and its least time.

    python tools/gpu_model.py --case warp_affine_u8_hwc [--gpu h100|h200|a100|l4|t4] [--small] [--json FILE]
    python tools/gpu_model.py --all
    python tools/gpu_model.py --all --page      also writes docs/project/gpu_model_cases.md, for an H100
    python tools/gpu_model.py --measure         on a machine with a GPU: measured times

Needs nvcc, but for --measure. docs/project/gpu_model.md explains the figures.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.gpu.model.gpus import GPUS


def arguments() -> argparse.Namespace:
    lines = __doc__.splitlines()
    parser = argparse.ArgumentParser(
        description=lines[0],
        epilog="\n".join(lines[1:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--case", action="append", default=[], help="may be repeated")
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument("--gpu", choices=sorted(GPUS), default="h100")
    parser.add_argument("--small", action="store_true", help="small images and few boxes, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--page", action="store_true", help="write docs/project/gpu_model_cases.md")
    parser.add_argument("--measure", action="store_true", help="time the cases on a device")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="of --measure")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.measure:
        measure = importlib.import_module("tests.gpu.model.measure")
        return int(measure.main(options.case, options.device, options.small, options.json))
    return count(options)


def count(options: argparse.Namespace) -> int:
    """Executes the cases, prints and writes what they did; 1 if a result is not the CPU's."""
    from tests.gpu.model.report import rounded, text_of
    from tests.gpu.model.run import executed, modelled

    if bool(options.case) == options.all:
        raise SystemExit("gpu_model: expected --all or --case NAME")
    found, ptx = executed(options.case, options.small)
    rows = [rounded(row) for row in modelled(found, ptx, GPUS[options.gpu])]
    print("\n\n".join(map(text_of, rows)))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.page:
        importlib.import_module("tests.gpu.model.page").write(
            rows, {row["case"]: row["what"] for row in found}
        )
    return 0 if all(row["equal_to_cpu"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
