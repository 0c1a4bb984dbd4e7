"""Fetch and build third-party packages: OpenCV and the libraries of decoders, static, and pybind11's headers.

    python 3rdparty/vendor.py [opencv] [pybind11] [libjpeg_turbo] [libspng] [libwebp]

pip fetches each package, pinned by version and SHA-256, so pip's configuration (mirrors, proxies) applies.
Builds are stored in the user's cache folder, under a name with the version and a hash of the build options,
and this folder links to them, so a second clone builds nothing. An interrupted run resumes where it stopped.
If everything is present, it prints one line per package. Without arguments it builds all. Builds need cmake,
ninja and a C++ compiler. libjpeg-turbo also needs nasm for its SIMD code; without nasm it is built without
SIMD. MAX_JOBS limits the number of jobs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
STAMP = "VENDORED"
FETCH_JPEG = "python 3rdparty/vendor.py libjpeg_turbo"
# A progressive photograph of 512x512: 4.5 ms without SIMD, 2.9 to 3.2 ms with it (libjpeg-turbo of Pillow
# 13.0.0, without and with JSIMD_FORCENONE=1, AMD EPYC, CPU time, best of 15).
SIMD_ADVICE = f"progressive JPEGs decode in about 1.5 times the time: `sudo apt install nasm && {FETCH_JPEG}`"

# The levels of OpenCV's wheel that change results: AVX2 fuses multiply-adds in warps, SSE4_1 sums in another
# order in lanczos4 resizes of uint16. Other levels would only add build time.
IS_X86 = platform.machine() in ("x86_64", "AMD64")
_CPU_OPTIONS = ("-DCPU_BASELINE=SSE3", "-DCPU_DISPATCH=SSE4_1,AVX2") if IS_X86 else ()
# Without a thread pool, the module is safe under fork; callers have their own threads.
_OFF = """
    WITH_1394 WITH_ADE WITH_AVIF WITH_EIGEN WITH_FFMPEG WITH_FLATBUFFERS WITH_GSTREAMER WITH_GTK
    WITH_IMGCODEC_GIF WITH_IMGCODEC_HDR WITH_IMGCODEC_PFM WITH_IMGCODEC_PXM WITH_IMGCODEC_SUNRASTER WITH_IPP
    WITH_ITT WITH_JASPER WITH_JPEG WITH_LAPACK WITH_OBSENSOR WITH_OPENCL WITH_OPENEXR WITH_OPENJPEG
    WITH_OPENMP WITH_PNG WITH_PROTOBUF WITH_PTHREADS_PF WITH_QUIRC WITH_TBB WITH_TIFF WITH_UNIFONT WITH_V4L
    WITH_VA WITH_VA_INTEL WITH_VTK WITH_WEBP BUILD_DOCS BUILD_EXAMPLES BUILD_ITT BUILD_JAVA BUILD_PERF_TESTS
    BUILD_TESTS BUILD_opencv_apps BUILD_opencv_python3 BUILD_SHARED_LIBS CV_TRACE OPENCV_GENERATE_PKGCONFIG
"""
OPENCV_OPTIONS = (
    "-DBUILD_LIST=core,imgproc",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DBUILD_ZLIB=ON",
    "-DOPENCV_INCLUDE_INSTALL_PATH=include",
    "-DOPENCV_LIB_INSTALL_PATH=lib",
    "-DOPENCV_3P_LIB_INSTALL_PATH=lib",
    *_CPU_OPTIONS,
    *(f"-D{name}=OFF" for name in _OFF.split()),
)
# Only warping, resizing and solving for a matrix are needed; the rest would take most of the build time.
# core is built for one SIMD level, since it only handles small matrices here.
OPENCV_CORE = (
    r"alloc|arithm|buffer_area|check\.|convert|copy|glob|lapack|logger|mathfuncs\.|matmul|matrix(?!_sparse)"
    r"|out|parallel\.|rand|softfloat|system|trace|transpose|umatrix"
)
OPENCV_LEFT_OUT = (
    rf"/modules/core/src/(?!{OPENCV_CORE})[^/]*\.cpp$"
    r"|/modules/imgproc/src/(?!imgwarp|resize|main)[^/]*\.cpp$"
    r"|/modules/geometry/src/(?!geometry|main)[^/]*(/.*)?\.cpp$"
)
OPENCV_EDITS = (
    ("modules/core/CMakeLists.txt", rf"ocv_add_dispatched_file\((?!{OPENCV_CORE}).*\)\n"),
    ("modules/core/CMakeLists.txt", r"(?<=[a-z]) (SSE|AVX).*(?=\)\n)"),
    ("modules/imgproc/CMakeLists.txt", r"ocv_add_dispatched_file\((?!warp_kernels).*\)\n"),
)


class VendorError(RuntimeError):
    """An error with a message for the user."""


@dataclass(frozen=True)
class Package:
    """A pinned package; ``root`` in ``archive`` is built by cmake or contains an ``include`` folder to copy.

    Members of the archive that match ``left_out`` are not unpacked; ``edits`` are pairs of a file below
    ``root`` and a pattern to delete from it; ``lists`` is a file of this folder that becomes its
    CMakeLists.txt; ``fallback`` is built instead if nasm is missing.
    """

    folder: str
    project: str
    version: str
    archive: str
    sha256: str
    root: str
    cmake_options: tuple[str, ...] = ()
    left_out: str = r"^$"
    edits: tuple[tuple[str, str], ...] = ()
    lists: str = ""
    fallback: Package | None = None

    @property
    def key(self) -> str:
        """The name of the build in the cache, which depends on version, options and C library."""
        lists = (sha256_of(HERE / self.lists),) if self.lists else ()
        source = (self.sha256, self.left_out, self.edits, *lists)
        parts = (source, self.cmake_options, platform.machine(), platform.libc_ver())
        return f"{self.folder}-{self.version}-{hashlib.sha256(repr(parts).encode()).hexdigest()[:8]}"


OPENCV = Package(
    folder="opencv",
    project="opencv-python-headless",
    version="5.0.0.93",
    archive="opencv_python_headless-5.0.0.93.tar.gz",
    sha256="b82f9831daab90b725c7c1ee1b36cb5732c367096ac76d119e64e14eb70d5f3c",
    root="opencv_python_headless-5.0.0.93/opencv",
    cmake_options=OPENCV_OPTIONS,
    left_out=OPENCV_LEFT_OUT,
    edits=OPENCV_EDITS,
)
# OpenCV's source carries libjpeg-turbo 3.1, the one that cv2 decodes with.
JPEG = replace(
    OPENCV,
    folder="libjpeg_turbo",
    root=f"{OPENCV.root}/3rdparty",
    cmake_options=("-DBUILD_SHARED_LIBS=OFF",),
    left_out=r"^(?!.*/opencv/3rdparty/libjpeg-turbo/)",
    edits=(),
    lists="libjpeg_turbo.cmake",
)
SPNG = replace(
    JPEG,
    folder="libspng",
    left_out=r"^(?!.*/opencv/3rdparty/(libspng|zlib)/)",
    lists="libspng.cmake",
)
# The version that decodes WebP in Pillow 13.
WEBP = replace(
    JPEG,
    folder="libwebp",
    root=f"{OPENCV.root}/3rdparty/libwebp",
    left_out=r"^(?!.*/opencv/3rdparty/libwebp/)",
    lists="libwebp.cmake",
)
JPEG_WITHOUT_SIMD = replace(JPEG, cmake_options=(*JPEG.cmake_options, "-DENABLE_LIBJPEG_TURBO_SIMD=OFF"))
PACKAGES = {
    "opencv": OPENCV,
    "pybind11": Package(
        folder="pybind11",
        project="pybind11",
        version="3.1.0",
        archive="pybind11-3.1.0-py3-none-any.whl",
        sha256="b8488090f8acffbcb6b5d6a85571a6827a0a2981ffb75e5a0b27b87c4a6b7dd0",
        root="pybind11",
    ),
    "libjpeg_turbo": replace(JPEG, fallback=JPEG_WITHOUT_SIMD) if IS_X86 else JPEG,
    "libspng": SPNG,
    "libwebp": WEBP,
}


class Progress:
    """A progress bar on a terminal; elsewhere one line per tenth of the work."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._start = time.monotonic()
        self._shown = -1

    def show(self, done: int, total: int) -> None:
        terminal = sys.stdout.isatty()
        step = 100 * done // max(total, 1) if terminal else 10 * done // max(total, 1)
        if step == self._shown:
            return
        self._shown = step
        seconds = time.monotonic() - self._start
        bar = "#" * (30 * done // max(total, 1))
        line = f"{self._label} [{bar:<30}] {100 * done // max(total, 1):3d} %  {seconds:4.0f} s"
        end = "" if terminal and done < total else "\n"
        print("\r" + line if terminal else line, end=end, flush=True)


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/orbbec``, by default ``~/.cache/orbbec``."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orbbec"


def is_present(package: Package, here: Path = HERE) -> bool:
    """Whether ``here`` contains this version and build of the package."""
    stamp = here / package.folder / STAMP
    return stamp.is_file() and stamp.read_text().strip() == package.key


def buildable(package: Package, here: Path, cache: Path) -> Package:
    """The package, or its fallback if it is not built yet and nasm is missing."""
    is_built = is_present(package, here) or (cache / package.key / STAMP).is_file()
    if package.fallback is None or is_built or find_tool("nasm"):
        return package
    print(f"{package.folder}: no nasm, so no SIMD: {SIMD_ADVICE}")
    return package.fallback


def vendor(
    package: Package, here: Path = HERE, cache: Path | None = None, archives: Path | None = None
) -> None:
    """Install the package in ``here/<folder>``, if it is not there yet.

    ``archives`` has those of packages before it, of which some are the same.

    Raises:
        VendorError: a download, a hash or a build failed, or the folder exists and was not made by this
            script.
    """
    title = f"{package.folder}: {package.project} {package.version}"
    cache = cache or cache_folder()
    package = buildable(package, here, cache)
    if is_present(package, here):
        print(f"{title} is there")
        return
    cache.mkdir(parents=True, exist_ok=True)
    product = cache / package.key
    with locked(cache / f"{package.key}.lock", title):
        if not (product / STAMP).is_file():
            make_product(package, product, archives)
        link(here / package.folder, product)
    print(f"{title} is ready in {product}")


@contextlib.contextmanager
def locked(path: Path, title: str) -> Iterator[None]:
    """Hold the lock file; a second run waits here, then finds the finished build.

    The lock is released by the last process that inherited it, such as a ninja that outlives this script.
    """
    import fcntl

    with path.open("w") as file:
        os.set_inheritable(file.fileno(), True)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{title}: waiting for another run", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_product(package: Package, product: Path, archives: Path | None) -> None:
    """Fetch, unpack and build in ``<product>.work``, which survives interruptions; then rename it."""
    work = product.with_name(product.name + ".work")
    work.mkdir(exist_ok=True)
    source = unpack(package, fetch(package, work, archives), work / "source") / package.root
    stage = work / "install"
    shutil.rmtree(stage, ignore_errors=True)
    if package.cmake_options:
        build(package, source, work / "build", stage)
    else:
        shutil.copytree(source / "include", stage / "include")
    (stage / STAMP).write_text(package.key + "\n")
    shutil.rmtree(product, ignore_errors=True)
    stage.rename(product)
    shutil.rmtree(work)


def fetch(package: Package, folder: Path, archives: Path | None) -> Path:
    """The archive of the package in ``folder``, with a checked hash; pip downloads it if it is missing."""
    archive, before = folder / package.archive, (archives or folder) / package.archive
    for path in (archive, before):
        if path.is_file() and sha256_of(path) == package.sha256:
            return path
    print(f"{package.folder}: fetching {package.archive}", flush=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        pip_download(package, Path(temporary))
        fetched = Path(temporary) / package.archive
        if not fetched.is_file():
            raise VendorError(f"{package.folder}: pip brought {os.listdir(temporary)}, not {package.archive}")
        found = sha256_of(fetched)
        if found != package.sha256:
            raise VendorError(
                f"{package.folder}: expected {package.archive} with SHA-256 {package.sha256}, "
                f"but got {found}; nothing was kept"
            )
        if archives is not None:
            shutil.copyfile(fetched, before)
        fetched.replace(archive)
    return archive


def pip_download(package: Package, folder: Path) -> None:
    """Let pip download the archive into ``folder``; pip checks the hash before it runs the archive's code."""
    pinned = folder / "requirements.txt"
    pinned.write_text(f"{package.project}=={package.version} --hash=sha256:{package.sha256}\n")
    is_source = package.archive.endswith(".tar.gz")
    kind = ["--no-binary", package.project] if is_source else ["--only-binary", ":all:"]
    options = [*kind, "--no-deps", "-d", str(folder), "-r", str(pinned)]
    if subprocess.run([sys.executable, "-m", "pip", "download", *options]).returncode != 0:
        raise VendorError(
            f"{package.folder}: pip could not fetch {package.project} {package.version}; its message stands "
            f"above. Without a network, put {package.archive} into {folder.parent} and run this again"
        )


def sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def unpack(package: Package, archive: Path, target: Path) -> Path:
    """Unpack next to ``target``, edit, and rename, so that an existing ``target`` is complete."""
    if target.is_dir():
        return target
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    progress = Progress(f"unpacking {archive.name}")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(partial)
    else:
        size = archive.stat().st_size
        with archive.open("rb") as file, tarfile.open(fileobj=file) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extraction_filter = tarfile.data_filter
            for member in tar:
                if not re.search(package.left_out, member.name):
                    tar.extract(member, partial)
                progress.show(file.tell(), size + 1)
    progress.show(1, 1)
    if package.lists:
        shutil.copyfile(HERE / package.lists, partial / package.root / "CMakeLists.txt")
    for name, pattern in package.edits:
        path = partial / package.root / name
        path.write_text(re.sub(pattern, "", path.read_text()))
    partial.rename(target)
    return target


def build(package: Package, source: Path, folder: Path, stage: Path) -> None:
    """Configure, build and install; ninja skips what an earlier run built."""
    log = folder.with_name("build.log")
    log.write_text("")
    jobs = number_of_jobs()
    configure = [
        *(tool("cmake"), "-G", "Ninja", "-S", str(source), "-B", str(folder)),
        f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_INSTALL_PREFIX={stage}",
        *package.cmake_options,
    ]
    print(f"{package.folder}: configuring; {log} has the details", flush=True)
    run_logged(package, configure, log)
    label = f"building {package.folder} {package.version} with {jobs} job{'s' if jobs > 1 else ''}"
    run_logged(package, [tool("ninja"), "-C", str(folder), "-j", str(jobs), "install"], log, Progress(label))


def run_logged(package: Package, command: list[str], log: Path, progress: Progress | None = None) -> None:
    """Run a command that also holds the lock; its output goes to the log, ninja's steps to the progress."""
    environment = {**os.environ, "NINJA_STATUS": "[%f/%t] "}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
        close_fds=False,
    )
    with process, log.open("a") as file:
        for line in process.stdout or ():
            file.write(line)
            step = re.match(r"\[(\d+)/(\d+)\]", line)
            if progress and step:
                progress.show(int(step[1]), int(step[2]))
    if process.returncode == 130:
        raise KeyboardInterrupt
    if process.returncode != 0:
        tail = "\n".join(log.read_text().splitlines()[-30:])
        failure = f"{Path(command[0]).name} ended with {process.returncode}"
        raise VendorError(f"{tail}\n{package.folder}: {failure}; all of it is in {log}")


def find_tool(name: str) -> str | None:
    """The path of a program, in the folder of this Python (pip's cmake and ninja) or on PATH."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)


def tool(name: str) -> str:
    path = find_tool(name)
    if path is None:
        raise VendorError(f"{name} is missing; run `{sys.executable} -m pip install cmake ninja`")
    return path


def number_of_jobs() -> int:
    text = os.environ.get("MAX_JOBS", "")
    if text and (not text.isdigit() or int(text) == 0):
        raise VendorError(f"expected MAX_JOBS to be a number from 1 on, but got {text!r}")
    return int(text or os.cpu_count() or 1)


def link(path: Path, product: Path) -> None:
    """Link ``path`` to the build, or copy it if links are not supported."""
    if path.is_dir() and not path.is_symlink():
        if not (path / STAMP).is_file():
            raise VendorError(f"{path} is in the way: it was not made by this script; move it elsewhere")
        shutil.rmtree(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.symlink_to(product, target_is_directory=True)
    except OSError:
        shutil.copytree(product, beside)
    beside.replace(path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Fetch and build the packages of 3rdparty/.")
    parser.add_argument("packages", nargs="*", metavar="package", help=f"{', '.join(PACKAGES)}; default: all")
    names = parser.parse_args(arguments).packages or [*PACKAGES]
    try:
        if unknown := [name for name in names if name not in PACKAGES]:
            raise VendorError(f"expected packages among {', '.join(PACKAGES)}, but got {', '.join(unknown)}")
        with tempfile.TemporaryDirectory() as archives:
            for name in names:
                vendor(PACKAGES[name], archives=Path(archives))
    except VendorError as error:
        print(f"vendor.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nvendor.py: interrupted; the next run continues here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
