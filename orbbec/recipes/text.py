"""Text lines."""

from __future__ import annotations

from orbbec.recipes.ends import SYMMETRIC, normalized
from orbbec.transforms import (
    Compose,
    CropAndPad,
    GaussianBlur,
    RandomApply,
    RandomChoice,
    RandomInvert,
    ResizeToHeight,
)


def ocr_line(height: int = 48, width: int = 320, *, seed: int = 0) -> Compose:
    """Blur, inversion and crops of rows, a common height, and gray on the right of short lines.

    Args:
        height: of the results in pixels.
        width: of the results; lines that are longer are squeezed.
        seed: see `Compose`.

    Source:
        PaddleOCR's recognition: blur of 5 pixels, inversion, and 1 to 8 rows less above or below, each of 0.4
        of the lines, here also of lines with less than 20 rows. Left out are its warp along the text (TIA),
        and its noise and changes of hue and position, which are below one level or pixel.

    Example:
        >>> ocr_line()(torch.zeros(3, 30, 100, dtype=torch.uint8)).shape
        torch.Size([3, 48, 320])
    """
    none = (0, 0)
    rows = [
        CropAndPad(px_range=(none, *amounts), keep_size=False, p=1.0)
        for amounts in (((-8, -1), none, none), (none, none, (-8, -1)))
    ]
    return Compose(
        [
            RandomApply([RandomChoice(rows)], 0.4),
            RandomInvert(0.4),
            RandomApply([GaussianBlur(5, (1.0, 1.0))], 0.4),
            ResizeToHeight(height, width, antialias=False, fill=127.5),
            *normalized(SYMMETRIC),
        ],
        seed=seed,
    )
