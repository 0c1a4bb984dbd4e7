from __future__ import annotations

import dataclasses
import fcntl
import gzip
import hashlib
import importlib.util
import io
import multiprocessing
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "3rdparty" / "vendor.py"
CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.10)
project(fake NONE)
file(WRITE ${CMAKE_BINARY_DIR}/fake.h "// ${GREETING}")
install(FILES ${CMAKE_BINARY_DIR}/fake.h DESTINATION include)
"""


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPT.with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


vendor = load("vendor")
extensions = load("extensions")


class Shelf:
    """Fake packages in a folder, and a stand-in for pip that counts requests."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.here = root / "3rdparty"
        self.cache = root / "cache"
        self.here.mkdir()
        self.fetched: list[str] = []

    def headers(self, **changes: Any) -> Any:
        path = self.root / "fake-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("fake/include/fake/fake.h", "// fake")
        return self._package(path, root="fake", **changes)

    def source(self, **changes: Any) -> Any:
        path = self.root / "fake-1.0.tar.gz"
        # Without the time, so that the same source has the same checksum.
        with gzip.GzipFile(path, "wb", mtime=0) as file, tarfile.open(fileobj=file, mode="w") as tar:
            for name, text in {
                "fake-1.0/CMakeLists.txt": CMAKE_LISTS,
                "fake-1.0/other.txt": "x" * 100_000,
            }.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                tar.addfile(info, io.BytesIO(text.encode()))
        return self._package(path, root="fake-1.0", **{"cmake_options": ("-DGREETING=hello",), **changes})

    def _package(self, path: Path, **fields: Any) -> Any:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        defaults = {
            "folder": "fake",
            "project": "fake",
            "version": "1.0",
            "archive": path.name,
            "sha256": digest,
        }
        return vendor.Package(**{**defaults, **fields})

    def bring(self, package: Any, folder: Path) -> None:
        self.fetched.append(package.archive)
        shutil.copy(self.root / package.archive, folder)

    def vendor(self, package: Any) -> None:
        vendor.vendor(package, self.here, self.cache)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    made = Shelf(tmp_path)
    monkeypatch.setattr(vendor, "pip_download", made.bring)
    return made


def test_headers_are_fetched_once_and_then_there(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    package = shelf.headers()
    shelf.vendor(package)
    assert (shelf.here / "fake/include/fake/fake.h").read_text() == "// fake"
    assert sorted(p.suffix for p in shelf.cache.iterdir()) == [".0-" + package.key[-8:], ".lock"]
    capsys.readouterr()
    shelf.vendor(package)
    assert capsys.readouterr().out == "fake: fake 1.0 is there\n"
    assert shelf.fetched == [package.archive]


def test_a_second_clone_takes_it_from_the_cache(shelf: Shelf) -> None:
    package = shelf.source()
    shelf.vendor(package)
    second = shelf.root / "second"
    second.mkdir()
    vendor.vendor(package, second, shelf.cache)
    assert (second / "fake/include/fake.h").read_text() == "// hello"
    assert shelf.fetched == [package.archive]


def test_packages_of_one_archive_fetch_it_once(shelf: Shelf, tmp_path: Path) -> None:
    archives = tmp_path / "archives"
    archives.mkdir()
    first = shelf.source()  # an archive's bytes depend on the second in which it is written
    for folder in ("fake", "other"):
        package = dataclasses.replace(first, folder=folder)
        vendor.vendor(package, shelf.here, shelf.cache, archives)
        assert (shelf.here / folder / "include/fake.h").read_text() == "// hello"
    assert shelf.fetched == [package.archive]


def test_other_options_make_another_product(shelf: Shelf) -> None:
    shelf.vendor(shelf.source())
    other = shelf.source(cmake_options=("-DGREETING=bye",))
    assert not vendor.is_present(other, shelf.here)
    shelf.vendor(other)
    assert (shelf.here / "fake/include/fake.h").read_text() == "// bye"


def test_a_wrong_hash_is_refused_and_nothing_kept(shelf: Shelf) -> None:
    package = shelf.headers(sha256="0" * 64)
    with pytest.raises(vendor.VendorError, match=r"expected fake-1\.0-py3-none-any\.whl with SHA-256 0000"):
        shelf.vendor(package)
    assert not (shelf.here / "fake").exists()
    assert [path for path in shelf.cache.rglob("*") if path.is_file() and path.suffix != ".lock"] == []


def test_a_damaged_archive_is_fetched_again(shelf: Shelf) -> None:
    package = shelf.headers()
    work = shelf.cache / (package.key + ".work")
    work.mkdir(parents=True)
    (work / package.archive).write_bytes(b"half of it")
    shelf.vendor(package)
    assert (shelf.here / "fake/include/fake/fake.h").is_file()
    assert shelf.fetched == [package.archive]


def test_an_interrupted_unpacking_is_done_again(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    package = shelf.source()
    whole = tarfile.TarFile.extract

    def interrupted(tar: tarfile.TarFile, member: tarfile.TarInfo, *rest: Any, **options: Any) -> None:
        if member.name.endswith("other.txt"):
            raise KeyboardInterrupt
        whole(tar, member, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "extract", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shelf.vendor(package)
    work = shelf.cache / (package.key + ".work")
    assert (work / "source.partial/fake-1.0/CMakeLists.txt").is_file()
    assert not (work / "source").exists()
    assert not vendor.is_present(package, shelf.here)
    shelf.vendor(package)
    assert (shelf.here / "fake/include/fake.h").read_text() == "// hello"
    assert shelf.fetched == [package.archive]
    assert not work.exists()


def test_an_interrupted_build_goes_on_from_what_is_there(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = shelf.source()
    run_logged: Callable[..., None] = vendor.run_logged

    def interrupted(package: Any, command: list[str], *rest: Any) -> None:
        if Path(command[0]).name == "ninja":
            raise KeyboardInterrupt
        run_logged(package, command, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(vendor, "run_logged", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shelf.vendor(package)
    kept = shelf.cache / (package.key + ".work") / "build" / "build.ninja"
    assert kept.is_file()
    unpacked: list[Path] = []
    monkeypatch.setattr(tarfile, "open", lambda *a, **k: unpacked.append(a[0]))
    shelf.vendor(package)
    assert unpacked == []
    assert (shelf.here / "fake/include/fake.h").is_file()


def test_a_failed_build_shows_the_end_of_its_log(shelf: Shelf) -> None:
    package = shelf.source(cmake_options=("-DCMAKE_PROJECT_INCLUDE=missing.cmake",))
    with pytest.raises(
        vendor.VendorError, match=r"(?s)missing\.cmake.*fake: cmake ended with 1; all of it is in"
    ):
        shelf.vendor(package)
    assert not vendor.is_present(package, shelf.here)


def test_a_folder_of_someone_else_is_left_alone(shelf: Shelf) -> None:
    (shelf.here / "fake").mkdir()
    (shelf.here / "fake/mine.txt").write_text("mine")
    with pytest.raises(vendor.VendorError, match="is in the way"):
        shelf.vendor(shelf.headers())
    assert (shelf.here / "fake/mine.txt").read_text() == "mine"


def test_a_link_to_a_cache_that_was_deleted_is_made_again(shelf: Shelf) -> None:
    package = shelf.headers()
    shelf.vendor(package)
    shutil.rmtree(shelf.cache)
    assert not vendor.is_present(package, shelf.here)
    shelf.vendor(package)
    assert vendor.is_present(package, shelf.here)


def test_two_runs_at_once_build_once(shelf: Shelf) -> None:
    package = shelf.source()
    context = multiprocessing.get_context("fork")
    runs = [context.Process(target=shelf.vendor, args=(package,)) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0, 0]
    assert (shelf.here / "fake/include/fake.h").read_text() == "// hello"
    assert sorted(p.name for p in shelf.here.iterdir()) == ["fake"]
    assert sorted(p.name for p in shelf.cache.iterdir()) == [package.key, package.key + ".lock"]


def test_a_run_waits_for_a_child_that_outlived_another(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with vendor.locked(path, "first"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    with path.open() as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.communicate(b"go\n")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def with_nasm(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    find: Callable[[str], str | None] = vendor.find_tool
    monkeypatch.setattr(vendor, "find_tool", lambda name: is_there if name == "nasm" else find(name))


def test_without_nasm_the_fallback_is_built(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fallback = shelf.source(cmake_options=("-DGREETING=slow",))
    package = shelf.source(fallback=fallback)
    header = shelf.here / "fake/include/fake.h"
    with_nasm(monkeypatch, False)
    shelf.vendor(package)
    assert header.read_text() == "// slow"
    assert "fake: no nasm, so no SIMD: progressive JPEGs decode in" in capsys.readouterr().out
    with_nasm(monkeypatch, True)
    shelf.vendor(package)
    assert header.read_text() == "// hello"
    with_nasm(monkeypatch, False)  # needed only to build
    shelf.vendor(package)
    assert header.read_text() == "// hello"
    assert "no nasm" not in capsys.readouterr().out


def test_libjpeg_turbo_is_linked_with_simd_and_without(tmp_path: Path) -> None:
    assert extensions.jpeg(tmp_path) is None
    folder = tmp_path / "libjpeg_turbo"
    folder.mkdir()
    for package, has_simd in ((vendor.JPEG_WITHOUT_SIMD, False), (vendor.PACKAGES["libjpeg_turbo"], True)):
        (folder / vendor.STAMP).write_text(package.key + "\n")
        assert str(folder / "lib/libjpeg.a") in extensions.jpeg(tmp_path).extra_link_args
        assert extensions.has_simd(tmp_path) == has_simd


@pytest.mark.parametrize(("name", "package"), [("png", "libspng"), ("webp", "libwebp")])
def test_a_decoder_is_linked_when_its_package_is_there(tmp_path: Path, name: str, package: str) -> None:
    build = getattr(extensions, name)
    assert build(tmp_path) is None
    (tmp_path / package).mkdir()
    (tmp_path / package / vendor.STAMP).write_text(vendor.PACKAGES[package].key + "\n")
    extension = build(tmp_path)
    assert str(tmp_path / package / "lib" / f"{package}.a") in extension.extra_link_args
    assert all((SCRIPT.parents[1] / path).is_file() for path in extension.sources + extension.depends[:-1])


@pytest.mark.parametrize(
    ("stamp", "has_nasm", "command"),
    [
        (None, True, "`python 3rdparty/vendor.py libjpeg_turbo`, then build again"),
        (None, False, "`sudo apt install nasm && python 3rdparty/vendor.py libjpeg_turbo`, then build again"),
        ("JPEG_WITHOUT_SIMD", False, "`sudo apt install nasm && python 3rdparty/vendor.py libjpeg_turbo`"),
        ("JPEG", False, ""),
    ],
)
def test_the_advice_on_jpegs_has_the_command_that_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stamp: str | None, has_nasm: bool, command: str
) -> None:
    with_nasm(monkeypatch, has_nasm)
    monkeypatch.setattr(vendor, "IS_X86", True)
    if stamp:
        (tmp_path / "libjpeg_turbo").mkdir()
        (tmp_path / "libjpeg_turbo" / vendor.STAMP).write_text(getattr(vendor, stamp).key + "\n")
    advice = extensions.jpeg_advice(tmp_path)
    assert command in advice
    assert bool(advice) == bool(command)


@pytest.mark.parametrize("jobs", ["0", "many", "-1"])
def test_a_bad_number_of_jobs_is_named(jobs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_JOBS", jobs)
    with pytest.raises(
        vendor.VendorError, match=f"expected MAX_JOBS to be a number from 1 on, but got '{jobs}'"
    ):
        vendor.number_of_jobs()


def test_an_unknown_package_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert vendor.main(["libpng", "opencv", "zlib"]) == 1
    names = "opencv, pybind11, libjpeg_turbo, libspng, libwebp"
    assert capsys.readouterr().err == (f"vendor.py: expected packages among {names}, but got libpng, zlib\n")


def test_pip_itself_refuses_a_wrong_hash(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    package = vendor.PACKAGES["pybind11"]
    with zipfile.ZipFile(shelf / package.archive, "w") as wheel:
        wheel.writestr("pybind11/include/pybind11/pybind11.h", "// another")
        wheel.writestr(
            f"pybind11-{package.version}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: pybind11\nVersion: {package.version}\n",
        )
    script = tmp_path / "3rdparty" / "vendor.py"
    script.parent.mkdir()
    shutil.copy(SCRIPT, script)
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shelf),
        "PIP_CONFIG_FILE": os.devnull,
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    command = [sys.executable, str(script), "pybind11"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 1
    assert "DO NOT MATCH THE HASHES" in result.stderr
    assert f"vendor.py: pybind11: pip could not fetch pybind11 {package.version}" in result.stderr
    assert not (tmp_path / "3rdparty" / "pybind11").exists()


def test_the_extension_is_offered_when_both_packages_are_there(tmp_path: Path) -> None:
    assert extensions.opencv(tmp_path) is None
    for package in vendor.PACKAGES.values():
        (tmp_path / package.folder / "lib").mkdir(parents=True)
        (tmp_path / package.folder / vendor.STAMP).write_text(package.key)
    (tmp_path / "opencv/lib/libfirst.a").touch()
    extension = extensions.opencv(tmp_path)
    assert extension.name == "orbbec.opencv._opencv"
    assert str(tmp_path / "opencv/lib/libfirst.a") in extension.extra_link_args
    assert all(not Path(source).is_absolute() for source in extension.sources)
    (tmp_path / "opencv" / vendor.STAMP).write_text("opencv-of-another-version")
    assert extensions.opencv(tmp_path) is None
