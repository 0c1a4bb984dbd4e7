"""Text lines."""

from __future__ import annotations

from orbbec.recipes.ends import SYMMETRIC, normalized
from orbbec.transforms import Compose, GaussianBlur, PadIfNeeded, RandomApply, RandomInvert, ResizeToFit


def ocr_line(height: int = 48, width: int = 320, *, seed: int = 0) -> Compose:
    """Blur and inversion, a common height, and gray on the right of short lines.

    Args:
        height: of the results in pixels.
        width: of the results; lines that are longer become less high.
        seed: see `Compose`.

    Source:
        PaddleOCR's recognition: blur of 5 pixels and inversion, each of 0.4 of the lines. Left out are its
        warp along the text (TIA), its crops of rows, and its noise and changes of hue and position, which are
        below one level or pixel.

    Example:
        >>> ocr_line()(torch.zeros(3, 30, 100, dtype=torch.uint8)).shape
        torch.Size([3, 48, 320])
    """
    return Compose(
        [
            RandomApply([GaussianBlur(5, (1.0, 1.0))], 0.4),
            ResizeToFit((height, width), antialias=False),
            RandomInvert(0.4),
            *normalized(SYMMETRIC),
            PadIfNeeded((height, width), position="top_left"),
        ],
        seed=seed,
    )
