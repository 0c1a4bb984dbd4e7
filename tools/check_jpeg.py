"""Decodes JPEGs by kernels, compares every byte with the host's, and times them beside nvJPEG.

    python tools/check_jpeg.py FOLDER                             on CUDA
    python tools/check_jpeg.py FOLDER --device cpu --drawn 20     to test this script

Decodes the JPEGs of a folder, which are timed, and JPEGs of many encodings, which are drawn. Needs Pillow;
torchvision and nvidia-nvimgcodec-cu13 are timed where they are installed. The exit status is 1 if a byte
differs.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFile
from torch import Tensor

sys.path.insert(0, str(Path(__file__).parents[1]))
from orbbec.cli.bench_data import jpegs_below
from orbbec.data import decode_jpeg
from orbbec.data.decode.on_device import planes_on_device
from orbbec.data.decode.planes import FileRules, planes_on_host
from tests.support import photograph

RULES = FileRules()
BATCHES, UNITS, ROUNDS = (64, 256), (2048, 4096, 8192), 9
PIECE = 128  # files compared at once
ImageFile.MAXBLOCK = 1 << 22  # bytes, or optimized files of noise do not fit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="of JPEGs")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--drawn", type=int, default=1000, help="files of drawn encodings")
    parser.add_argument("--json", type=Path, help="write the figures as JSON")
    options = parser.parse_args()
    files = [Path(path).read_bytes() for path in jpegs_below(options.folder)]
    device = torch.device(options.device)
    with ThreadPoolExecutor() as pool:
        drawn = list(pool.map(drawn_file, range(options.drawn)))
    found: dict[str, Any] = {"differ": 0}
    for name, some in (("photographs", files), ("drawn", drawn)):
        found[name] = compared(some, device)
        found["differ"] += found[name]["differ"]
        print(name, found[name], flush=True)
    if device.type == "cuda":
        for name, row in timed(files, device).items():
            found[name] = row
            print(f"{name:44} {row}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    raise SystemExit(found["differ"] > 0)


def drawn_file(seed: int) -> bytes:
    """A JPEG of random size, content, quality, sampling and restart interval; some are progressive."""
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in np.exp(rng.uniform(0, np.log(600), 2)))
    pixels = [photograph(height, width, seed=seed), rng.integers(0, 256, (height, width, 3), np.uint8)]
    pixels += [np.full((height, width, 3), 255, np.uint8), pixels[0] // 128 * 255]
    image = Image.fromarray(pixels[rng.integers(4)])
    image = image.convert("L") if rng.integers(6) == 0 else image
    options = {"quality": int(rng.integers(1, 101)), "optimize": bool(rng.integers(2))}
    options |= {"subsampling": int(rng.integers(3)), "progressive": int(rng.integers(12)) == 0}
    options |= {"restart_marker_blocks": int(rng.choice([0, 0, 1, 2, 7, 30]))}
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", **options)
    return buffer.getvalue()


def compared(files: Sequence[bytes], device: torch.device) -> dict[str, int]:
    """Of how many files the bytes differ, and how many the host decoded."""
    count = Counter(files=len(files), differ=0, on_the_host=0)
    for begin in range(0, len(files), PIECE):
        piece = files[begin : begin + PIECE]
        batch, on_host = planes_on_device(piece, device, RULES)
        expected = planes_on_host(piece, RULES)
        pairs = zip(batch.to("cpu").image_buffers(), expected.image_buffers(), strict=True)
        count["differ"] += sum(not torch.equal(ours, theirs) for ours, theirs in pairs)
        count["on_the_host"] += len(on_host)
    return dict(count)


def timed(files: Sequence[bytes], device: torch.device) -> dict[str, dict[str, float]]:
    """Images per second by way of decoding."""
    rows: dict[str, dict[str, float]] = {}
    for count in BATCHES:
        some = [files[n % len(files)] for n in range(count)]
        for unit in UNITS:
            row = kernels(lambda s=some, u=unit: planes_on_device(s, device, RULES, u))
            rows[f"kernels, batch {count}, units of {unit} bits"] = row
        rows[f"decode_jpeg, batch {count}"] = rate(count, lambda s=some: decode_jpeg(s, device=device))
        for name, decode in nvjpeg().items():
            theirs = decode(some)
            rows[f"{name}, batch {count}"] = rate(count, lambda s=some, d=decode: d(s)) | difference(
                decode_jpeg(some, device=device), theirs
            )
    return rows


def kernels(call: Callable[[], Any]) -> dict[str, float]:
    """Microseconds of each kernel and copy of a call."""
    call()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiled:
        for _ in range(ROUNDS):
            call()
        torch.cuda.synchronize()
    events = profiled.key_averages()
    return {event.key[:40]: round(event.device_time_total / ROUNDS, 1) for event in events}


def rate(count: int, call: Callable[[], Any]) -> dict[str, float]:
    """Milliseconds of a call until the device is done, and images per second."""
    seconds = []
    for _ in range(ROUNDS + 1):
        torch.cuda.synchronize()
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    spent = median(seconds[1:])
    return {"milliseconds": round(1e3 * spent, 3), "images_per_second": round(count / spent)}


def nvjpeg() -> dict[str, Callable[[Sequence[bytes]], list[Tensor]]]:
    """Decoders of NVIDIA, from files to `[H, W, 3]` on the device."""
    found: dict[str, Callable[[Sequence[bytes]], list[Tensor]]] = {}
    try:
        from torchvision.io import ImageReadMode
        from torchvision.io import decode_jpeg as decode

        def by_torchvision(files: Sequence[bytes]) -> list[Tensor]:
            tensors = [torch.frombuffer(bytearray(data), dtype=torch.uint8) for data in files]
            images = decode(tensors, mode=ImageReadMode.RGB, device="cuda")
            return [image.permute(1, 2, 0) for image in images]

        by_torchvision([drawn_file(1)])
        found["torchvision, nvJPEG"] = by_torchvision
    except (ImportError, RuntimeError) as error:
        print(f"torchvision is not timed: {error}")
    try:
        from nvidia import nvimgcodec

        decoder = nvimgcodec.Decoder()

        def by_nvimgcodec(files: Sequence[bytes]) -> list[Tensor]:
            return [torch.as_tensor(image, device="cuda") for image in decoder.decode(list(files))]

        by_nvimgcodec([drawn_file(1)])
        found["nvImageCodec"] = by_nvimgcodec
    except (ImportError, RuntimeError, TypeError) as error:
        print(f"nvImageCodec is not timed: {error}")
    return found


def difference(ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> dict[str, float]:
    """Of the values that differ: their share in percent, and the largest difference."""
    apart = torch.cat([(a.int() - b.int()).abs().flatten() for a, b in zip(ours, theirs, strict=True)])
    return {"differ_percent": round(100 * (apart > 0).double().mean().item(), 2), "most": int(apart.max())}


if __name__ == "__main__":
    main()
