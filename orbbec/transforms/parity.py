"""The reference of a transform, applied alone to uint8 with `exact=True`."""

from __future__ import annotations

from typing import NamedTuple


class Parity(NamedTuple):
    """The reference of a transform.

    Args:
        author: "OpenCV", "Pillow", "torchvision" or "NumPy"; "" if it is made of other transforms.
        reference: the reference function, called with the parameters that the transform drew.
        difference: "identical" to the last bit, or the size and frequency of differences; the measured
            figures are in docs/project/parity_cells.md.
    """

    author: str
    reference: str
    difference: str = "identical"
