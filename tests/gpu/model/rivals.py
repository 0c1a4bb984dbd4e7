"""Kernels of torchvision on the same executor and in the same model, from the PTX that its wheel embeds.

``python tools/gpu_model.py --rivals`` prints what the model predicts for both. torch 2.13 embeds no PTX, and
CV-CUDA 0.19 only that of linear algebra.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.gpu.model.cases import CASES, Setting
from tests.gpu.model.cases_more import regions
from tests.gpu.model.report import Row
from tests.gpu.ptx.compile import ROOT
from tests.gpu.ptx.executor import Array, Module, counts_of
from tests.gpu.ptx.launched import kernels_of
from tests.support.boxes import random_boxes
from tools.machine_code.cubins import tool

FOLDER = ROOT / "build" / "ptx" / "torchvision"


def torchvision_library(packages: Path | None) -> Path:
    """The library with torchvision's kernels, of this interpreter or in a folder of packages.

    Raises:
        FileNotFoundError: there is none.
    """
    spec = None if packages else importlib.util.find_spec("torchvision")
    folders = (
        [packages / "torchvision"]
        if packages
        else list(spec.submodule_search_locations or [])
        if spec
        else []
    )
    found = [path for folder in folders for path in sorted(Path(folder).glob("_C*.so"))]
    if not found:
        raise FileNotFoundError("no torchvision with CUDA: name a folder that has it by --packages")
    return found[0]


def extract(library: Path) -> None:
    """Writes the PTX of a library to `FOLDER`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = [tool("cuobjdump"), "-xptx", "all", str(library.resolve())]
    subprocess.run(command, cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
    for path in FOLDER.glob("*.ptx"):
        # Nothing newer is in it, and an older ptxas then reads it.
        path.write_text(re.sub(r"^\.version 9\.\d", ".version 9.0", path.read_text(), flags=re.MULTILINE))


@dataclass(frozen=True)
class Kernel:
    """A kernel of torchvision by its C++ name, and the first letter of a template argument."""

    name: str

    def launch(self, grid: tuple[int, ...], block: int, arguments: list[Any], shared_bytes: int = 0) -> Row:
        """Runs it and returns what it did."""
        for path in sorted(FOLDER.glob("*.ptx")):
            text = path.read_text()
            for name in kernels_of(text):
                if re.search(rf"\d{self.name}", name):
                    return counts_of(Module(text), name, grid, (block,), arguments, shared_bytes=shared_bytes)
        raise LookupError(f"torchvision has no kernel {self.name}")


def nms(count: int) -> Callable[[], tuple[list[Row], bool]]:
    """The launches of `torchvision.ops.nms`, and whether it keeps the boxes that orbbec keeps."""

    def run() -> tuple[list[Row], bool]:
        import orbbec

        boxes, scores = random_boxes(count)
        order = scores.argsort(descending=True, stable=True)
        ranked = np.ascontiguousarray(boxes[order].numpy())
        words = -(-count // 64)
        mask, keep = np.zeros((count, words), np.uint64), np.zeros(count, np.bool_)
        number = np.int32(count)
        launches = [
            Kernel("nms_kernel_implIf").launch((words, words), 64, [number, np.float64(0.5), ranked, mask]),
            Kernel("gather_keep_from_mask").launch(
                (1,), min(words, 64), [keep.view(np.uint8), mask, number], 8 * words
            ),
        ]
        kept = order[np.flatnonzero(keep)]
        return launches, bool((kept == orbbec.nms(boxes, scores, 0.5)).all())

    return run


def roi_align() -> tuple[list[Row], bool]:
    """The launch of `torchvision.ops.roi_align`, and whether its values are those of orbbec to 1e-5."""
    import orbbec

    maps, boxes = regions(Setting(1))
    channels, height, width = maps.shape[1:]
    out = np.zeros((len(boxes), channels, 7, 7), np.float32)
    scale, sizes = np.float32(0.125), [np.int32(n) for n in (channels, height, width, 7, 7, 2)]
    arrays: list[Array] = [maps.numpy(), boxes.numpy()]
    arguments = [np.int32(out.size), arrays[0], scale, *sizes, np.bool_(True), arrays[1], out]
    grid = min(-(-out.size // 512), 4096)
    launches = [Kernel("roi_align_forward_kernel_implIf").launch((grid,), 512, arguments)]
    ours = orbbec.roi_align(maps, boxes, 7, 0.125, 2).numpy()
    return launches, bool(np.abs(out - ours).max() <= 1e-5)


RIVALS: dict[str, Callable[[], tuple[list[Row], bool]]] = {
    "nms_1k": nms(1000),
    "nms_5k": nms(5000),
    "nms_20k": nms(20000),
    "roi_align": roi_align,
}


def executed(packages: Path | None) -> list[Row]:
    """What torchvision's kernels did, in the form of `run.executed`."""
    extract(torchvision_library(packages))
    rows = []
    for name, run in RIVALS.items():
        case, (launches, equal) = CASES[name], run()
        work = case.prepare(Setting(case.executed))
        pixels = work.outputs(work.call())
        factor = case.modelled / case.executed
        rows.append(
            {
                "case": name,
                "what": f"torchvision: {case.what}",
                "unit": work.unit,
                "small": False,
                "equal_to_cpu": equal,
                "factor": factor,
                "executed_pixels": pixels,
                "modelled_pixels": round(pixels * factor),
                "minimal_bytes": work.read_bytes,
                "launches": launches,
            }
        )
    return rows
