"""Check an installed wheel: it loads, computes and decodes. Run outside of the source tree, with any torch.

python -m pip install dist/*.whl && python tools/check_wheel.py
"""

from __future__ import annotations

import ctypes
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() not in (ROOT, ROOT / "tools")]
    import orbbec

    package = Path(orbbec.__file__).parent
    assert package != ROOT / "orbbec", f"{package} is the source tree, not an installed wheel"
    for check in (check_warp, check_pipeline, check_decoder, check_commands):
        check(package)
    cuda = torch.ops.orbbec.compiled_cuda_version() or "none"
    found = (f"orbbec {orbbec.__version__}", f"torch {torch.__version__}", f"CUDA in the binary: {cuda}")
    print(f"wheel: works with Python {sys.version.split()[0]}, {', '.join(found)}")
    return 0


def check_warp(package: Path) -> None:
    """A translation by whole pixels, worked by hand, and OpenCV's bytes where cv2 is there."""
    from orbbec import warp_affine

    image = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    moved = warp_affine(image, np.array([[1.0, 0.0, 5.0], [0.0, 1.0, 2.0]]), size=(48, 64), fill=114)
    assert (moved[2:, 5:] == image[:-2, :-5]).all()
    assert (moved[:2] == 114).all()
    matrix = np.array([[0.8, -0.3, 12.0], [0.3, 0.8, -4.0]])
    try:
        import cv2
    except ImportError:
        return
    if cv2.__version__.startswith("5"):
        theirs = cv2.warpAffine(image, matrix, (64, 48), borderValue=(114, 114, 114))
        assert (warp_affine(image, matrix, size=(48, 64), fill=114) == theirs).all()


def check_pipeline(package: Path) -> None:
    from orbbec.transforms import Compose, Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype

    pipeline = Compose(
        [RandomResizedCrop(32), RandomHorizontalFlip(), ToDtype(torch.float32, True), Normalize()]
    )
    images = torch.arange(2 * 3 * 40 * 50).remainder(251).to(torch.uint8).reshape(2, 3, 40, 50)
    first, again = (pipeline(images, sample_ids=[3, 4], epoch=1) for _ in range(2))
    assert first.shape == (2, 3, 32, 32)
    assert first.isfinite().all()
    assert torch.equal(first, again)


def check_decoder(package: Path) -> None:
    """JPEGs, PNG and WebP have Pillow's pixels, and libjpeg-turbo has SIMD."""
    from PIL import Image

    from orbbec.data import decode_image
    from orbbec.data.decode.codecs import codec, decode_by_codec
    from orbbec.data.decode.native import has_native

    assert has_native()
    assert codec("png")
    assert codec("webp")
    library = ctypes.CDLL(str(package / "data" / "decode" / "_jpeg.abi3.so"))
    assert library.orbbec_jpeg_has_simd(), "libjpeg-turbo has no SIMD: it was built without nasm"
    y, x = np.mgrid[:60, :80]
    image = Image.fromarray(np.stack([3 * x, 4 * y, 2 * x + y], -1).astype(np.uint8))
    for progressive in (False, True):
        file = io.BytesIO()
        image.save(file, "JPEG", quality=90, progressive=progressive)
        assert (decode_image(file.getvalue()) == np.asarray(Image.open(file))).all()
    for format in ("PNG", "WEBP"):
        file = io.BytesIO()
        image.save(file, format)
        pixels = decode_by_codec(file.getvalue(), "RGB", 10**6, True)
        assert pixels is not None
        assert (pixels == np.asarray(Image.open(file))).all()


def check_commands(package: Path) -> None:
    """`doctor` runs and finds no package missing or out of date."""
    command = [sys.executable, "-m", "orbbec", "doctor", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["jpeg_decoder"] == "libjpeg-turbo"
    assert found["cpu_target"] in found["cpu_targets"]
    stale = [one["problem"] for one in found["advice"] if "out of date" in one["problem"]]
    missing = [one["problem"] for one in found["advice"] if "is not installed" in one["problem"]]
    assert not stale + missing, stale + missing


if __name__ == "__main__":
    sys.exit(main())
