"""Times what the host does in a call on a CUDA device: of pipelines as users call them, and of operators.

    python tools/host_cost.py                 pipelines, with launches that are counted and not run
    python tools/host_cost.py --device cuda   pipelines on a GPU: what the host takes to queue a call
    python tools/host_cost.py --counts        what a call of a pipeline does, on the CPU
    python tools/host_cost.py --operators     the cases of tools/gpu_model.py, small

Without `--device cuda` this runs on the emulated device. There the driver's part of a launch is added by its
price on an H100. Not included: torch's CUDA allocator, copies to the device, and the pool of buffers, which
serves the CPU only. Left out of the operators: calls that read results on the host, which are not there, and
those in which torch's kernels compute on the CPU.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
IMAGES, ROUNDS = 8, 9
COUNTS = (1, 16, 64, 256)  # images of a pipeline's call
LAUNCH_MICROSECONDS = 22  # measured on an H100 with torch's profiler, so an upper bound
MAX_QUEUED = 100  # calls; a stream that holds about 1,000 launches makes the host wait
LEFT_OUT = ("nms_1k", "nms_5k", "nms_20k", "soft_nms_80x250", "warp_affine_backward")
# malloc keeps what is freed, as torch's CUDA allocator does.
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34)}
Row = dict[str, Any]


def median_microseconds(
    call: Callable[[], Any], seconds: float = 0.05, wait: Callable[[], None] = lambda: None
) -> float:
    """Median over rounds of the mean time of a call; `wait` runs before each round, untimed."""
    start = time.perf_counter()
    call()
    count = int(seconds / max(time.perf_counter() - start, 1e-6))
    count = min(max(5, count), MAX_QUEUED)
    rounds = []
    for _ in range(ROUNDS):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            call()
        rounds.append((time.perf_counter() - start) / count)
    return round(1e6 * statistics.median(rounds), 1)


def launches() -> int:
    """Launches that the emulated device skipped so far."""
    count = ctypes.CDLL(os.environ["ORBBEC_LIBRARY"]).orbbec_skipped_launches
    count.restype = ctypes.c_uint64
    return int(count())


@contextmanager
def skipped_launches() -> Iterator[None]:
    """A context in which CPU tensors go to CUDA kernels, which are not run."""
    import torch

    order = os.environ.get("ORBBEC_EMULATION_ORDER", "forward")
    torch.ops.orbbec.set_emulation(True)
    os.environ["ORBBEC_EMULATION_ORDER"] = "none"
    try:
        yield
    finally:
        torch.ops.orbbec.set_emulation(False)
        os.environ["ORBBEC_EMULATION_ORDER"] = order


def operator_rows(names: list[str]) -> Iterator[Row]:
    """The host's microseconds and the launches of the model's cases."""
    cases = importlib.import_module("tests.gpu.model.cases")
    importlib.import_module("tests.gpu.model.cases_more")
    setting = cases.Setting(IMAGES, small=True)
    for name in names or [name for name in cases.CASES if name not in LEFT_OUT]:
        work = cases.CASES[name].prepare(setting)
        with skipped_launches():
            before = launches()
            work.call()
            launched = launches() - before
            yield {
                "case": name,
                "launches": launched,
                "host_microseconds": median_microseconds(work.call),
            }


def pipelines(side: int = 224) -> dict[str, Any]:
    """Pipelines of a training loop, by name."""
    import torch

    from orbbec import transforms as T

    crop, flip = T.RandomResizedCrop(side, antialias=False), T.RandomHorizontalFlip()
    floats = [T.ToDtype(torch.float32, scale=True), T.Normalize()]
    colors = [T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomGrayscale(0.2)]
    return {
        "crop": T.Compose([crop, flip, *floats]),
        "antialiased crop": T.Compose([T.RandomResizedCrop(side), flip, *floats]),
        "antialiased colors": T.Compose([T.RandomResizedCrop(side), flip, *colors, *floats]),
        "colors": T.Compose([crop, flip, *colors, *floats]),
        "policy": T.Compose([crop, flip, T.RandAugment(), *floats, T.RandomErasing()]),
        "blur": T.Compose([crop, flip, T.GaussianBlur(5), *floats]),
    }


def inputs(count: int) -> dict[str, Any]:
    """Small images of every kind, by name; arrays and PIL images only for a `count` of 1."""
    import numpy as np
    import torch

    import orbbec

    array = np.zeros((8, 8, 3), np.uint8)
    kinds = {
        "tensor": torch.zeros(count, 3, 8, 8, dtype=torch.uint8),
        "batch": orbbec.ImageBatch.from_images([array] * count),
    }
    return kinds | ({"array": array} if count == 1 else {})


def calls_of(call: Callable[[], Any]) -> Row:
    """The calls of Python and of C functions in one call."""
    call(), call()
    python, native = 0, 0

    def note(frame: Any, event: str, _: Any) -> None:
        nonlocal python, native
        python, native = python + (event == "call"), native + (event == "c_call")

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {"python": python - 1, "native": native - 1}  # without `call` itself, and the end of the count


def operators_of(call: Callable[[], Any]) -> Row:
    """The operators and copies in one call."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        call()
    events = list(profiled.events())
    return {
        "operators": sum(event.name.startswith("orbbec::") for event in events),
        "copies": sum(event.name == "aten::copy_" for event in events),
    }


def count_rows() -> list[Row]:
    """The counts of every pipeline and kind of input, with 1 and 256 images, and with boxes and masks.

    Calls are counted first: torch's profiler imports its compiler, which adds to them.
    """
    import torch

    calls: dict[str, Callable[[], Any]] = {}
    for name, pipeline in pipelines(side=8).items():
        for count in (1, 256):
            for kind, images in inputs(count).items():
                calls[f"{name}, {kind} of {count}"] = lambda p=pipeline, i=images: p(i)
    crop, image = pipelines(side=8)["crop"], inputs(1)["tensor"][0]
    target = {"boxes": torch.tensor([[1.0, 1, 6, 6]]), "masks": torch.ones(1, 8, 8, dtype=torch.bool)}
    calls["crop with boxes and masks, tensor of 1"] = lambda: crop(image, target)
    boxes, images = {"boxes": target["boxes"], "labels": torch.ones(1)}, inputs(256)["tensor"]
    calls["crop with one image's boxes, tensor of 1"] = lambda: crop(image, boxes)
    calls["crop with boxes, tensor of 256"] = lambda: crop(images, [boxes] * 256)
    counts = {name: calls_of(call) for name, call in calls.items()}
    return [{"case": name, **counts[name], **operators_of(call)} for name, call in calls.items()]


def pipeline_rows(names: list[str], device: str, seconds: float) -> Iterator[Row]:
    """The microseconds in which the host queues a call of a pipeline, and in which it plans one."""
    import torch

    import orbbec
    from tests.support import photograph

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    there = "cuda" if device == "cuda" else "cpu"
    context = skipped_launches if device == "emulated" else nullcontext
    photos = [photograph(330 + 15 * n, 520 - 15 * n, seed=n) for n in range(8)]
    for name, pipeline in pipelines().items():
        if names and name not in names:
            continue
        for count in COUNTS:
            images = orbbec.ImageBatch.from_images([photos[n % 8] for n in range(count)]).to(there)
            call = lambda pipeline=pipeline, images=images: pipeline(images)  # noqa: E731
            plan = lambda pipeline=pipeline, images=images: pipeline.plan(images.sizes)  # noqa: E731
            with context():
                row = {
                    "case": f"{name}, {count} images",
                    "host_microseconds": median_microseconds(call, seconds, wait),
                    "plan_microseconds": median_microseconds(plan, seconds),
                }
                if device == "emulated":
                    before = launches()
                    call()
                    row["launches"] = launches() - before
                    row["priced_microseconds"] = (
                        row["host_microseconds"] + LAUNCH_MICROSECONDS * row["launches"]
                    )
            if device == "cuda":
                row["total_microseconds"] = median_microseconds(lambda c=call: (c(), wait()), seconds, wait)
            yield row


def line_of(row: Row) -> str:
    """A row as a line of text.

    Example:
        >>> line_of({"case": "crop, 1 images", "host_microseconds": 25.0, "plan_microseconds": 6.5})
        'crop, 1 images                  25.0 us      6.5 us to plan'
    """
    line = f"{row['case']:26} {row['host_microseconds']:9.1f} us"
    if "launches" in row:
        line += f" {row['launches']:3} launches"
    if "priced_microseconds" in row:
        line += f" {row['priced_microseconds']:8.1f} us with their price"
    if "plan_microseconds" in row:
        line += f" {row['plan_microseconds']:8.1f} us to plan"
    if "total_microseconds" in row:
        line += f" {row['total_microseconds']:8.1f} us until it is done"
    return line


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", default=[], help="a pipeline or operator; may be repeated")
    parser.add_argument("--operators", action="store_true", help="operators instead of pipelines")
    parser.add_argument("--counts", action="store_true", help="what a call does, instead of its time")
    parser.add_argument("--device", choices=("emulated", "cuda", "cpu"), default="emulated")
    parser.add_argument("--seconds", type=float, default=0.05, help="of each of the rounds")
    parser.add_argument("--json", type=Path, help="write the rows as JSON, after each")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.counts:
        rows = count_rows()
        for row in rows:
            counts = (f"{key} {value:5}" for key, value in row.items() if key != "case")
            print(f"{row['case']:40}", *counts)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
        return 0
    if options.device == "emulated" and "ORBBEC_LIBRARY" not in os.environ:
        from tests.emulation.run import environment

        chosen = environment("plain", "forward") | MALLOC
        chosen.pop("ORBBEC_EMULATION_LIMITS")  # checking them takes longer than a launch
        return subprocess.call([sys.executable, *sys.argv], env=chosen)
    if options.device == "emulated":
        importlib.import_module("orbbec").keep_free_memory(0)
    if options.operators:
        rows = operator_rows(options.case)
    else:
        rows = pipeline_rows(options.case, options.device, options.seconds)
    found = []
    for row in rows:
        found.append(row)
        print(line_of(row), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
