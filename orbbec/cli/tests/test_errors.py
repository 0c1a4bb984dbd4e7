"""Errors of the command line are one line that says what to do."""

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("PIL")
pytest.importorskip("yaml")
import torch
import typer
from PIL import Image

from orbbec.cli import errors
from orbbec.transforms import Compose, RandomHorizontalFlip
from tests.support.command import run_command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an image, a pipeline, and files with mistakes, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save("a.png")
    (tmp_path / "p.yaml").write_text(Compose([RandomHorizontalFlip()]).to_yaml())
    (tmp_path / "bad.yaml").write_text("transforms: [\n")
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "empty").mkdir()
    (tmp_path / "classes/cat").mkdir(parents=True)
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save("classes/cat/a.png")
    (tmp_path / "none.yaml").write_text("train: nowhere\n")
    image = {"id": 1, "file_name": "1.jpg", "height": 4, "width": 4}
    (tmp_path / "coco.json").write_text(
        f'{{"images": [{image}], "annotations": [], "categories": []}}'.replace("'", '"')
    )
    for part in ("images", "labels"):
        (tmp_path / "yolo" / part).mkdir(parents=True)
    Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save("yolo/images/a.png")
    (tmp_path / "yolo/labels/a.txt").write_text("0 0.5 0.5 0.2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        ("nothing", 2, "No such command 'nothing': see `python -m orbbec --help`"),
        ("doctor --best", 2, "No such option: --best: see `python -m orbbec doctor --help`"),
        ("preview", 2, "Missing argument 'sources': see `python -m orbbec preview --help`"),
        ("preview a.png --count no", 2, "Invalid value for '--count'"),
        ("preview a.png --count 0", 2, "Invalid value for '--count'"),
        (
            "preview a.png",
            1,
            "preview: expected --preset (imagenet, simclr, yolo, coco) or --pipeline FILE, but got neither",
        ),
        (
            "preview a.png --preset yolo --pipeline p.yaml",
            1,
            "preview: expected --preset (imagenet, simclr, yolo, coco) or --pipeline FILE, but got both",
        ),
        (
            "preview a.png --preset best",
            1,
            "preview: expected --preset as one of imagenet, simclr, yolo, coco, but got best",
        ),
        (
            "preview none.png --preset yolo",
            1,
            "preview: expected images or a data set, but none.png does not exist",
        ),
        (
            "preview empty --preset yolo",
            1,
            "preview: expected images or a data set in empty, but got none",
        ),
        ("preview a.png --preset yolo --out a.gif", 1, ".webp or .html, but got a.gif"),
        ("preview a.png --pipeline gone.yaml --out b.png", 1, "gone.yaml: No such file or directory"),
        ("preview a.png --pipeline bad.yaml", 1, "preview: expected YAML in bad.yaml: while parsing"),
        ("preview a.png --pipeline bad.json", 1, "preview: expected JSON in bad.json: Expecting property"),
        ("preview bad.png --preset yolo", 1, "bad.png: decode_image: not an image that Pillow knows"),
        (
            "preview none.yaml --preset yolo",
            1,
            "preview: expected images in nowhere, as none.yaml says, but there are none",
        ),
        (
            "preview p.yaml --preset yolo",
            1,
            "preview: expected p.yaml to name a folder of images as `train` or `val`",
        ),
        (
            "preview coco.json --preset coco",
            1,
            "expected 1.jpg, which coco.json lists, in .; name the folder of the images with --images",
        ),
        (
            "preview yolo/images --preset yolo",
            1,
            "preview: yolo/labels/a.txt:1: expected a class with a box of 4 numbers or a polygon",
        ),
        ("profile", 2, "Missing option '--pipeline': see `python -m orbbec profile --help`"),
        ("profile --pipeline p.yaml --size 5", 1, "profile: expected --size like 375x500, but got 5"),
        (
            "profile --pipeline p.yaml --device gpu",
            1,
            "profile: expected --device cpu, cuda or cuda:N, but got gpu",
        ),
        (
            "bench-data . --threads 1,x",
            1,
            "bench-data: expected --threads as numbers from 1, such as 1,2, but got 1,x",
        ),
        ("bench-data empty", 1, "bench-data: expected JPEGs below empty, but there are none"),
        ("bench-data nope", 1, "bench-data: expected a folder of JPEGs, but nope does not exist"),
        ("pack none out", 1, "open_source: expected a folder or file, but none does not exist"),
        ("pack classes out --on-error stop", 1, "pack: expected on_error as one of raise, skip"),
        ("index empty", 1, "expected .tar files"),
    ],
)
def test_an_error_is_one_line_that_says_what_to_do(folder, arguments, status, line):
    done = run_command(*arguments.split())
    assert done.exit_code == status
    assert done.stderr.startswith("error: ")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_device_that_is_not_there_is_named(folder):
    done = run_command("profile", "--pipeline", "p.yaml", "--device", "cuda")
    assert done.exit_code == 1
    assert done.stderr.endswith("--device cannot be cuda: see `python -m orbbec doctor`\n")


def raising(error):
    app = typer.Typer()

    @app.command()
    def fail():
        raise error

    return app


def test_an_interruption_is_no_traceback(capsys):
    assert errors.run(raising(KeyboardInterrupt()), []) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_fault_of_orbbec_keeps_its_traceback():
    with pytest.raises(AssertionError, match="ours"):
        errors.run(raising(AssertionError("ours")), [])


def test_the_process_ends_with_the_status():
    done = subprocess.run([sys.executable, "-m", "orbbec", "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: No such command 'nothing': see `python -m orbbec --help`\n"


@pytest.mark.parametrize("command", ["doctor", "preview", "profile", "bench-data", "pack", "index"])
def test_the_help_of_every_argument_is_a_sentence(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    done = run_command(command, "--help")
    assert done.exit_code == 0
    rows = [line.strip("│ ").strip() for line in done.stdout.splitlines() if "│" in line]
    texts = [row.split(" [default")[0].split(" [required]")[0] for row in rows]
    assert texts
    assert [text for text in texts if not text.endswith(".")] == []
