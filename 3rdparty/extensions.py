"""The extensions of orbbec that are linked with packages of vendor.py, as setup.py builds them.

Sources are relative to the project's root, where setup.py runs. Each function returns None if a package that
the extension needs is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import vendor
from setuptools import Extension
from vendor import HERE, PACKAGES, STAMP, is_present

DECODE = "orbbec/data/decode"
CODEC = ("codec.h", "../../feed/feed.h")  # headers of PNG and WebP
COMPILE = ["-std=c++17", "-g0", "-fvisibility=hidden"]
# Other copies of a package may be in the same process, such as those of cv2 and Pillow.
HIDE = ["-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-Wl,-s"]


def opencv(here: Path = HERE) -> Extension | None:
    """The extension module ``orbbec.opencv._opencv``."""
    if not all(is_present(PACKAGES[name], here) for name in ("opencv", "pybind11")):
        return None
    libraries = sorted(str(path) for path in (here / "opencv" / "lib").glob("*.a"))
    return Extension(
        "orbbec.opencv._opencv",
        sources=["orbbec/opencv/opencv.cpp"],
        include_dirs=[str(here / "opencv" / "include"), str(here / "pybind11" / "include")],
        depends=[str(here / "opencv" / STAMP), str(here / "pybind11" / STAMP)],
        define_macros=[("CV_EXPORTS", "")],  # empty, to hide OpenCV's symbols
        extra_compile_args=[*COMPILE, "-O2", "-ffunction-sections"],
        extra_link_args=[
            *("-Wl,--start-group", *libraries, "-Wl,--end-group"),
            *(*HIDE, "-ldl", "-lpthread"),
        ],
        language="c++",
    )


def has_simd(here: Path = HERE) -> bool:
    """Whether the libjpeg-turbo in ``here`` was built with SIMD."""
    return is_present(PACKAGES["libjpeg_turbo"], here)


def jpeg_advice(here: Path = HERE) -> str:
    """How to get the fastest decoder of progressive JPEGs, with its cost; empty if it is in ``here``."""
    if has_simd(here):
        return ""
    if is_present(vendor.JPEG_WITHOUT_SIMD, here):
        return f"libjpeg-turbo was built without SIMD: {vendor.SIMD_ADVICE}, then build again"
    nasm = "" if vendor.find_tool("nasm") or not vendor.IS_X86 else "sudo apt install nasm && "
    cost = "other libraries decode progressive JPEGs, whole even where a crop needs a part"
    return f"no libjpeg-turbo: {cost}: `{nasm}{vendor.FETCH_JPEG}`, then build again"


def jpeg(here: Path = HERE) -> Extension | None:
    """The library ``orbbec/data/decode/_jpeg.abi3.so``, not a module."""
    if not (has_simd(here) or is_present(vendor.JPEG_WITHOUT_SIMD, here)):
        return None
    sources = [f"jpeg_{name}.cpp" for name in ("build", "planes", "region")]
    return _codec("_jpeg", sources, ["jpeg_errors.h"], here / "libjpeg_turbo" / "lib" / "libjpeg.a")


def png(here: Path = HERE) -> Extension | None:
    """The library ``orbbec/data/decode/_png.abi3.so``, not a module."""
    if not is_present(PACKAGES["libspng"], here):
        return None
    return _codec("_png", ["png.cpp"], CODEC, here / "libspng" / "lib" / "libspng.a")


def webp(here: Path = HERE) -> Extension | None:
    """The library ``orbbec/data/decode/_webp.abi3.so``, not a module."""
    if not is_present(PACKAGES["libwebp"], here):
        return None
    return _codec("_webp", ["webp.cpp"], CODEC, here / "libwebp" / "lib" / "libwebp.a")


def _codec(name: str, sources: Sequence[str], headers: Sequence[str], archive: Path) -> Extension:
    package = archive.parents[1]
    return Extension(
        f"orbbec.data.decode.{name}",
        sources=[f"{DECODE}/{source}" for source in sources],
        include_dirs=[str(package / "include")],
        depends=[*(f"{DECODE}/{header}" for header in headers), str(package / STAMP)],
        extra_compile_args=[*COMPILE, "-O3"],
        extra_link_args=[str(archive), *HIDE],
        language="c++",
        py_limited_api=True,
    )
