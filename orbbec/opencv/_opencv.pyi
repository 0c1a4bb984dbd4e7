from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Pixel = TypeVar("Pixel", np.uint8, np.uint16, np.float32, np.float64)

def affine_opencv(
    image: npt.NDArray[Pixel],
    src_points: npt.ArrayLike,
    dst_points: npt.ArrayLike,
    size: Sequence[int] | None,
) -> npt.NDArray[Pixel]: ...
def warp_affine(
    image: npt.NDArray[Pixel],
    matrix: npt.ArrayLike,
    size: Sequence[int],
    interpolation: str,
    border: str,
    fill: npt.ArrayLike,
    inverse: bool,
) -> npt.NDArray[Pixel]: ...
def warp_perspective(
    image: npt.NDArray[Pixel],
    matrix: npt.ArrayLike,
    size: Sequence[int],
    interpolation: str,
    border: str,
    fill: npt.ArrayLike,
    inverse: bool,
) -> npt.NDArray[Pixel]: ...
def resize(image: npt.NDArray[Pixel], size: Sequence[int], interpolation: str) -> npt.NDArray[Pixel]: ...
def version() -> str: ...
