"""Shared by the test_* scripts: a photograph, matrices, comparison of results, pictures side by side."""

from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
from photographs import Image, load_photograph

OUTPUTS = Path("outputs")


def photograph_and_matrices() -> tuple[Image, npt.NDArray[np.float64]]:
    """A photograph `[H, W, 3]`, and matrices `[4, 2, 3]` from output pixels to its pixels."""
    image = load_photograph("astronaut")
    center = (image.shape[1] / 2, image.shape[0] / 2)
    turns = [(0.0, 1.0), (20.0, 0.8), (-35.0, 1.3), (160.0, 0.5)]  # degrees, scale
    return image, np.stack([cv2.getRotationMatrix2D(center, angle, scale) for angle, scale in turns])


def is_same(what: str, actual: npt.NDArray[np.generic], expected: npt.NDArray[np.generic]) -> bool:
    """Compare two results value by value and print the difference; return whether they are equal."""
    if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
        print(f"DIFFERENT  {what}: {actual.dtype} {actual.shape}, expected {expected.dtype} {expected.shape}")
        return False
    differing = int((actual != expected).sum())
    worst = float(np.abs(actual.astype(np.float64) - expected.astype(np.float64)).max())
    verdict = "same     " if differing == 0 else "DIFFERENT"
    print(f"{verdict}  {what}: {differing} of {actual.size} values differ, at most by {worst:g}")
    return differing == 0


def save_side_by_side(name: str, pictures: list[Image]) -> None:
    """Write RGB pictures of equal height side by side to `outputs/<name>.png`."""
    OUTPUTS.mkdir(exist_ok=True)
    path = OUTPUTS / f"{name}.png"
    cv2.imwrite(str(path), np.hstack(pictures)[:, :, ::-1])
    print(f"pictures:  {path}")
