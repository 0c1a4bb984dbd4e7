"""Decodes JPEGs with nvImageCodec on a device, directly and through the Loader, and compares the pixels.

    python tools/check_nvimgcodec.py                 on CUDA
    python tools/check_nvimgcodec.py --device cpu    compares the CPU with itself, to test this script

Needs nvidia-nvimgcodec-cu13[nvjpeg] and Pillow.

The exit status is 1 if images differ by more than 4 levels on average (more than rounding and chroma
upsampling explain), if the Loader returns other bytes, or if a damaged file is not reported.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path

import torch
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from orbbec import ImageBatch, resize
from orbbec.data import Decoding, Loader, Sample
from orbbec.data.decode.nvimgcodec import BatchDecoder
from tests.support import photograph

COUNT, ROUNDS, LARGEST_MEAN = 32, 5, 4.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    device = parser.parse_args().device
    sizes = [(480 + 16 * (i % 5), 640 - 16 * (i % 3)) for i in range(COUNT)]
    files = [jpeg(*size, seed) for seed, size in enumerate(sizes)]
    decoder, on_host = BatchDecoder(torch.device(device)), BatchDecoder(torch.device("cpu"))
    found = decoded(decoder, files, sizes)
    began = time.perf_counter()
    for _ in range(ROUNDS):
        found = decoded(decoder, files, sizes)
    spent = (time.perf_counter() - began) / (ROUNDS * COUNT)
    differences = (found.to("cpu").buffer.int() - decoded(on_host, files, sizes).buffer).abs().float()
    mean, largest = differences.mean().item(), int(differences.max())
    print(f"nvImageCodec on {device}: {1000 * spent:.3f} ms per image of 512x640")
    print(f"compared with its CPU codecs: largest difference {largest}, mean {mean:.3f}")
    print(f"copied on the device: {decoder.copies} of {COUNT * (ROUNDS + 1)} images")
    is_same = all(torch.equal(a, b) for a, b in zip(loaded(files, device), found, strict=True))
    damaged = files[0].replace(b"\xff\xdb", b"\xff\xef")  # without its quantization tables
    buffer = torch.zeros(*sizes[0], 3, dtype=torch.uint8, device=device)
    is_reported = decoder.decode_into([(damaged, buffer), (files[0], buffer)]) == [False, True]
    print(f"the Loader gives the same bytes: {is_same}; a damaged file is reported: {is_reported}")
    if mean > LARGEST_MEAN or not (is_same and is_reported):
        raise SystemExit(1)


def jpeg(height: int, width: int, seed: int) -> bytes:
    """A smooth picture; Pillow encodes it, since nvImageCodec's encoders are packages of their own."""
    pixels = resize(photograph(height // 8, width // 8, seed=seed), (height, width))
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=90)
    return file.getvalue()


def decoded(decoder: BatchDecoder, files: list[bytes], sizes: list[tuple[int, int]]) -> ImageBatch:
    batch = ImageBatch.of_sizes(sizes, 3, empty=lambda count: decoder.empty_bytes(count).zero_())
    assert all(decoder.decode_into(list(zip(files, batch.images(), strict=True))))
    if decoder.device.type == "cuda":
        torch.cuda.synchronize()
    return batch


def loaded(files: list[bytes], device: str) -> list[torch.Tensor]:
    samples = [Sample(data, {}, number) for number, data in enumerate(files)]
    loader = Loader(samples, 8, None, device, shuffle=False, decoding=Decoding(device="nvimgcodec"))
    return [image for batch in loader for image in batch.images]


if __name__ == "__main__":
    main()
