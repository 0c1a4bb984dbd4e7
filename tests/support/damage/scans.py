"""Hostile JPEGs for the kernels that decode scans: the host's bytes, or a flag.

``python -m tests.support.damage.scans 1000000`` counts the outcomes on the CPU; in the environment of
``tests/emulation/run.py``, ``--emulated`` runs the CUDA kernels.
"""

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch

from orbbec import YCbCrBatch
from orbbec.batch.image_batch import empty_on_host
from orbbec.batch.ycbcr_batch import SAMPLINGS
from orbbec.data.decode.decode import region_header
from orbbec.data.decode.native import ScanSize, pack_scan, scan_size
from orbbec.data.decode.on_device import ScanBuffer
from orbbec.data.decode.planes import FileRules, planes_on_host
from tests.support.device import Device
from tests.support.peers.jpegs import FACTORS

RULES = FileRules(max_pixels=10_000)
BATCH = 32
_MOST = 60  # pixels of a side
_MARKERS = (0xC0, 0xC1, 0xC2, 0xC4, 0xD0, 0xD1, 0xD7, 0xD8, 0xD9, 0xDA, 0xDB, 0xDD, 0xFF, 0x00)


class Packed(NamedTuple):
    """A file whose scan is packed."""

    data: bytes
    size: ScanSize
    orientation: int


def sound_files(seed: int, count: int = 60) -> list[bytes]:
    """Small JPEGs of all samplings, qualities, restart intervals and tables."""
    import cv2

    rng = np.random.default_rng(seed)
    files = []
    for _ in range(count):
        height, width = rng.integers(1, _MOST, 2)
        image = rng.integers(0, 256, (height, width, 3), np.uint8)
        if rng.integers(2):
            image = cv2.GaussianBlur(image, (0, 0), 3.0)
        options = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(1, 101))]
        options += [cv2.IMWRITE_JPEG_RST_INTERVAL, int(rng.choice([0, 1, 3]))]
        options += [cv2.IMWRITE_JPEG_OPTIMIZE, int(rng.integers(2))]
        if rng.integers(5):
            options += [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, FACTORS[str(rng.choice(list(FACTORS)))]]
        else:
            image = image[..., 0].copy()
        files.append(cv2.imencode(".jpg", image, options)[1].tobytes())
    return files


def hostile(data: bytes, chance: random.Random) -> bytes:
    """The file with one to three changes: of bytes, tables, markers, lengths, sizes, or the scan."""
    changed = bytearray(data)
    scan = data.index(b"\xff\xda") + 8
    for _ in range(chance.choice((1, 1, 2, 3))):
        kind = chance.randrange(8)
        end = len(changed) - 2
        at = chance.randrange(min(scan, end - 1), end) if kind < 5 else chance.randrange(2, min(scan, end))
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del changed[at : at + chance.randrange(1, 5)]
        elif kind == 2:
            changed[at:at] = chance.randbytes(chance.randrange(1, 9))
        elif kind == 3:
            changed[at:at] = bytes((0xFF, chance.choice(_MARKERS)))
        elif kind == 4:
            other = chance.randrange(min(scan, end - 1), end)
            changed[at : at + 6] = changed[other : other + 6]
        elif kind == 5:
            changed[at] = chance.choice((0, 1, 2, 3, 8, 0x11, 0x21, 0x22, 0x7F, 0xFF))
        elif kind == 6:
            changed[at] ^= 1 << chance.randrange(8)
        else:
            changed[at] = chance.randrange(256)
        if len(changed) < scan + 4:
            break
    return bytes(changed)


def hostile_files(seed: int) -> Iterator[bytes]:
    """Endless."""
    chance = random.Random(seed)
    while True:
        files = sound_files(chance.randrange(1 << 30))
        for _ in range(40 * len(files)):
            yield hostile(chance.choice(files), chance)


def outcomes(files: Sequence[bytes], device: Device, unit_bits: int = 128) -> Counter[str]:
    """Decode files as `decode_planes` does, in one batch.

    Raises:
        AssertionError: an image that is not flagged differs from the host's; the message is the file.
    """
    packed = []
    for data in files:
        try:
            header = region_header(data, "RGB", *RULES)
        except ValueError:
            continue
        size = scan_size(data) if header is not None else None
        if header is not None and size is not None:
            packed.append(Packed(data, size, header.orientation))
    flagged = _flagged(packed, device, unit_bits)
    return Counter(left=len(files) - len(packed), flagged=flagged, decoded=len(packed) - flagged)


def _flagged(packed: Sequence[Packed], device: Device, unit_bits: int) -> int:
    buffer = ScanBuffer(np.array([file.size.most_bytes for file in packed], np.int64), empty_on_host)
    first = buffer.storage.data_ptr()
    counts = [
        pack_scan(file.data, first + offset)
        for file, offset in zip(packed, buffer.offsets.tolist(), strict=True)
    ]
    batch = YCbCrBatch.of_sizes(
        [(file.size.height, file.size.width) for file in packed],
        [SAMPLINGS[file.size.subsampling] for file in packed],
        [file.orientation for file in packed],
    )
    blocks = np.array([file.size.blocks for file in packed], np.int64)
    with device.active() if packed else nullcontext():
        left = buffer.decode(batch, np.array(counts, np.int64), blocks, unit_bits=unit_bits)
    left += [i for i, count in enumerate(counts) if count == 0]
    for i, planes in enumerate(batch.image_buffers()):
        if i not in left:
            expected = planes_on_host([packed[i].data], RULES)
            assert torch.equal(expected.host_table[0, 1:5], batch.host_table[i, 1:5]), packed[i].data.hex()
            assert torch.equal(expected.image_buffers()[0], planes), packed[i].data.hex()
    return len(left)


def main() -> None:
    """Prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--emulated", action="store_true")
    options = parser.parse_args()
    device, found = Device("emulated" if options.emulated else "cpu"), Counter[str]()
    files = hostile_files(options.seed)
    while found.total() < options.count:
        found += outcomes(list(islice(files, BATCH)), device)
        if found.total() // BATCH % 500 == 0:
            print(dict(found), flush=True)
    print(dict(found))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
