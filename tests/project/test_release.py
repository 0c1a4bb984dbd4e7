"""The release workflow is valid, wheels are checked, and the build names what it lacks."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import orbbec

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tools" / "build_backend")]
import backend
import wheel_matrix
import wheels

WORKFLOWS = ROOT / ".github" / "workflows"
WORKFLOW = WORKFLOWS / "release.yml"
PYPROJECT = (ROOT / "pyproject.toml").read_text()


@pytest.fixture(scope="module")
def jobs():
    return yaml.safe_load(WORKFLOW.read_text())["jobs"]


def test_the_workflows_have_githubs_schema():
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, *WORKFLOWS.glob("*.yml")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_job_that_publishes_may_and_it_waits_for_every_other(jobs):
    allowed = {name for name, job in jobs.items() if job.get("permissions", {}).get("id-token") == "write"}
    assert allowed == {"publish"}
    assert set(jobs["publish"]["needs"]) == set(jobs) - {"publish"}
    assert "refs/tags/v" in jobs["publish"]["if"]


def test_the_workflow_checks_the_pythons_and_the_oldest_torch_that_the_package_names(jobs):
    axes = jobs["matrix"]["strategy"]["matrix"]
    assert axes["python"] == list(wheel_matrix.PYTHONS)
    assert f'requires-python = ">={axes["python"][0]}"' in PYPROJECT
    assert f"torch>={axes['torch'][0]}" in PYPROJECT
    assert tuple(map(int, axes["torch"][0].split("."))) == wheel_matrix.OLDEST_TORCH


def test_workflow_settings_and_makefile_name_files_that_exist():
    settings = PYPROJECT[PYPROJECT.index("[tool.cibuildwheel]") : PYPROJECT.index("[tool.ruff]")]
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile[makefile.index("\nwheels:") : makefile.index("\nclean:")]
    for text in (WORKFLOW.read_text(), settings, recipe):
        named = re.findall(r"(?:tools|3rdparty|requirements|docs)/[\w/]+\.(?:py|txt|md)", text)
        assert named
        assert [name for name in named if not (ROOT / name).exists()] == []
    assert "tools/wheels.py" in settings
    assert "tools/wheels.py" in recipe
    assert 'manylinux-x86_64-image = "manylinux_2_28"' in settings


def test_there_is_one_version():
    assert f'\nversion = "{orbbec.__version__}"\n' in PYPROJECT


def test_a_wheel_has_the_licenses_of_the_libraries_in_it():
    assert '\nlicense-files = ["LICENSE", "3rdparty/licenses/*"]\n' in PYPROJECT
    names = {path.stem for path in (ROOT / "3rdparty" / "licenses").iterdir()}
    assert names == {*wheels.CODECS, "libjpeg", "zlib"}


def written_wheel(folder, names, tag="cp310-abi3-linux_x86_64"):
    path = folder / f"orbbec-0.1.0-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"x" * 1000)
    return path


@pytest.mark.parametrize(
    ("names", "tag", "words"),
    [
        (wheels.BINARIES - {"orbbec/_C.abi3.so"}, "cp310-abi3-linux_x86_64", "expected the binaries"),
        (
            wheels.BINARIES | {"orbbec/opencv/_opencv.cpython-311-x86_64-linux-gnu.so"},
            "cp310-abi3-linux_x86_64",
            "expected the binaries",
        ),
        (
            wheels.BINARIES | {"orbbec.libs/libtorch_cpu.so.2"},
            "cp310-abi3-linux_x86_64",
            "expected the binaries",
        ),
        (
            wheels.BINARIES | {"orbbec/nms/tests/test_nms.py"},
            "cp310-abi3-linux_x86_64",
            "neither tests nor sources",
        ),
        (wheels.BINARIES | {"orbbec/nms/nms.h"}, "cp310-abi3-linux_x86_64", "neither tests nor sources"),
        (wheels.BINARIES, "cp311-cp311-linux_x86_64", "expected the tag cp310-abi3"),
    ],
)
def test_a_wheel_that_is_not_for_a_release_is_refused(tmp_path, names, tag, words):
    wheels.check_content(written_wheel(tmp_path, wheels.BINARIES | {"orbbec/nms/nms.py"}))
    with pytest.raises(SystemExit, match=words):
        wheels.check_content(written_wheel(tmp_path, names, tag))


@pytest.mark.parametrize(
    ("platform", "is_for_release"),
    [
        ("manylinux_2_28_x86_64", True),
        ("manylinux_2_27_x86_64.manylinux_2_28_x86_64", True),
        ("manylinux_2_34_x86_64", False),
        ("linux_x86_64", False),
    ],
)
def test_the_report_has_sizes_and_says_whether_the_tag_is_that_of_a_release(
    tmp_path, platform, is_for_release
):
    text = wheels.report(written_wheel(tmp_path, wheels.BINARIES, f"cp310-abi3-{platform}"))
    assert "0.0 MB" in text
    assert all(name in text for name in wheels.BINARIES)
    assert ("not for a release" not in text) == is_for_release


def test_the_matrix_says_what_it_could_not_run(tmp_path, capsys):
    output = tmp_path / "matrix.txt"
    status = wheel_matrix.main(["orbbec.whl", "--python", "3.99", "--output", str(output)])
    assert status == 1
    assert output.read_text().startswith("not run  CPython 3.99")
    assert "0 passed, 0 failed, 1 not run" in capsys.readouterr().out


def test_the_matrix_finds_this_interpreter():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = wheel_matrix.find_python(version)
    assert wheel_matrix.version_of(found) == version


def test_the_build_finds_everything_here():
    assert backend.missing() == ""


def test_the_build_names_a_missing_torch_and_the_command(monkeypatch):
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"orbbec: the build needs torch.*-m pip install 'torch>=2.10'`"):
        backend.get_requires_for_build_wheel()


def test_the_build_names_a_missing_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler -O1")
    assert backend.missing() == (
        "no C++ compiler `no-such-compiler`: run `sudo apt install g++` or set CXX, then build again"
    )


def test_the_build_names_an_old_torch(monkeypatch, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.9.1+cu128'\n")
    spec = backend.importlib.util.spec_from_file_location("torch", tmp_path / "torch" / "__init__.py")
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: spec)
    assert backend.missing().startswith("torch 2.9.1+cu128 is too old")
