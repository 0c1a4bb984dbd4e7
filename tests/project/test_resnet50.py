"""benchmarks/resnet50: a tiny network instead of the large one, trained from files and on one batch."""

import json

import cv2
import numpy as np
import torch

from benchmarks import resnet50


class Tiny(torch.nn.Module):
    """Counts its input images."""

    def __init__(self):
        super().__init__()
        self.last = torch.nn.Linear(3, resnet50.CLASSES)
        self.shapes = []

    def forward(self, images):
        self.shapes.append(tuple(images.shape))
        return self.last(images.mean((2, 3)))


def test_a_run_writes_what_was_reached(tmp_path, monkeypatch):
    for i in range(6):
        noise = np.random.default_rng(i).integers(0, 256, (40, 50, 3), np.uint8)
        cv2.imwrite(str(tmp_path / f"{i}.jpg"), noise)
    tiny = Tiny()
    monkeypatch.setattr(resnet50, "resnet50", lambda: tiny)
    monkeypatch.setattr(resnet50, "WARM_UP", 2)
    given = [str(tmp_path), "--device", "cpu", "--batch", "2", "--steps", "4"]
    monkeypatch.setattr("sys.argv", ["resnet50", *given, "--output", str(tmp_path / "out")])
    resnet50.main()
    (path,) = (tmp_path / "out").glob("*/resnet50.json")
    (speed,) = json.loads(path.read_text())["speeds"]
    assert tiny.shapes == [(2, 3, 224, 224)] * (3 + 4 + 2 + 4)  # one batch, warm-up and timed; then files
    assert 0 < speed["training"] < 1e6
    assert speed["one_batch"] > 0 < speed["alone"]
    assert path.with_suffix(".md").read_text().count("| on the host |") == 1


def test_speeds_are_images_over_seconds():
    batch = resnet50.Batch(None, {}, torch.arange(5))
    clock = iter([10.0, 12.0])
    seen = []
    speed = resnet50.images_a_second([batch] * 99, 4, seen.append, lambda: next(clock))
    assert speed == 4 * 5 / 2
    assert len(seen) == resnet50.WARM_UP + 4
