"""Operators compared with their references on random cases: one line per form of an operator.

Needs `cv2`, `PIL` or `torchvision` for their lines; `peer_lines` lists those whose reference is installed.
"""

import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from orbbec.bridge.arguments import Array
from tests.support.peers.tally import Tally

Random = np.random.Generator
TORCHVISION = "torchvision.transforms.v2.functional"
MODULES = {"OpenCV": "cv2", "Pillow": "PIL", "torchvision": "torchvision"}


@dataclass(frozen=True)
class Line:
    """A form of an operator.

    Args:
        op: its public name.
        form: the fixed part of random cases, such as "uint8 linear".
        author: one of `MODULES`.
        promised: whether orbbec promises the reference's bits.
        answers: draws a case and returns orbbec's result and the reference's.
    """

    op: str
    form: str
    author: str
    promised: bool
    answers: Callable[[Random], tuple[Array, Array]]

    @property
    def name(self) -> str:
        return f"{self.op}, {self.form}, {self.author}"


def draw_image(
    rng: Random, channels: tuple[int, ...] = (1, 3, 4), dtype: str = "uint8", most: int = 120
) -> Array:
    """An image `[H, W, C]`: noise, few levels or black and white; sides up to `most`; floats from 0 to 1."""
    limit = rng.choice((8, 60, most))
    height, width = (1 if rng.random() < 0.05 else int(side) for side in rng.integers(1, limit + 1, 2))
    shape = (height, width, int(rng.choice(channels)))
    top = np.iinfo(dtype).max if np.dtype(dtype).kind == "u" else 1
    kind = rng.integers(4)
    if kind == 0:
        return (rng.integers(0, 2, shape) * top).astype(dtype)
    levels = rng.random(shape) if kind > 1 else rng.integers(0, 6, shape) / 8 + rng.random() / 4
    scaled = levels * top if top == 1 else np.floor(levels * (top + 1))
    return np.minimum(scaled, top).astype(dtype)


def is_here(author: str) -> bool:
    """Whether the reference's package can be imported."""
    return importlib.util.find_spec(MODULES[author]) is not None


def version(author: str) -> str:
    """The version of the reference's package, such as "5.0.0.93"."""
    if author == "OpenCV":
        from tests.support.peers import opencv

        return opencv.opencv_version()
    return importlib.metadata.version(author)


def compare(line: Line, cases: int, seed: int = 0) -> Tally:
    """Draw cases of a line and compare the two results bit by bit."""
    rng = np.random.default_rng([seed, *line.name.encode()])
    tally = Tally()
    for _ in range(cases):
        tally.add(*line.answers(rng))
    return tally
