"""Predicts what limits the CUDA kernels, from what their PTX does on the executor of tests/gpu/ptx.

    python tools/gpu_model.py --case warp_affine_u8_hwc [--gpu h200|a100|l4|t4] [--small] [--json FILE]
    python tools/gpu_model.py --all
    python tools/gpu_model.py --all --page      writes docs/project/gpu_model.md, its chart and data
    python tools/gpu_model.py --rivals [--packages DIR]   the same for torchvision's kernels, from its wheel
    python tools/gpu_model.py --measure         on a machine with a GPU: measured times and the predicted ones

Needs nvcc, but for --measure. docs/project/gpu_model_cases.md explains the figures.
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
    parser.add_argument("--gpu", choices=sorted(GPUS), default="h200")
    parser.add_argument("--small", action="store_true", help="small images and few boxes, for CI")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--page", action="store_true", help="write docs/project/gpu_model.md, for all GPUs")
    parser.add_argument("--rivals", action="store_true", help="cases that torchvision has, with its kernels")
    parser.add_argument("--packages", type=Path, help="a site-packages folder that has torchvision with CUDA")
    parser.add_argument("--measure", action="store_true", help="time the cases on a device")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="of --measure")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.measure:
        measure = importlib.import_module("tests.gpu.model.measure")
        return int(measure.main(options.case, options.device, options.small, options.json))
    return predict(options)


def predict(options: argparse.Namespace) -> int:
    """Executes the cases, prints and writes what the model makes of them; 1 if a result is not the CPU's."""
    from tests.gpu.model.report import rounded, text_of
    from tests.gpu.model.run import executed, modelled

    if [bool(options.case), options.all, options.rivals].count(True) != 1:
        raise SystemExit("gpu_model: expected --all, --rivals or --case NAME")
    if options.rivals:
        rivals = importlib.import_module("tests.gpu.model.rivals")
        found, ptx = rivals.executed(options.packages), rivals.FOLDER
    else:
        found, ptx = executed(options.case, options.small)
    gpus = list(GPUS.values()) if options.page else [GPUS[options.gpu]]
    tables = list(modelled(found, ptx, gpus))
    for rows in tables:
        print(text_of(rows), end="\n\n")
    if options.json:
        options.json.write_text(
            json.dumps([rounded(row) for rows in tables for row in rows], indent=1) + "\n"
        )
    if options.page:
        page = importlib.import_module("tests.gpu.model.page")
        page.write_torchvision(tables) if options.rivals else page.write(found, tables, ptx)
    return 0 if all(row["equal_to_cpu"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
