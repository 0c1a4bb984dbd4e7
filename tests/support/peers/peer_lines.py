"""All lines of operators compared with their other authors."""

from tests.support.peers import blurs, colors, jpegs, mixes, resizes
from tests.support.peers.peers import Line, is_here


def lines() -> list[Line]:
    """Of every operator whose other author can be imported."""
    listed = [*resizes.LINES, *colors.LINES, *blurs.LINES, *jpegs.LINES, *mixes.LINES]
    return [line for line in listed if is_here(line.author)]
