"""All forms of operators that are compared with their references."""

from tests.support.peers import blurs, colors, jpegs, mixes, resizes
from tests.support.peers.peers import Line, is_here


def lines() -> list[Line]:
    """The forms of all operators whose reference can be imported."""
    listed = [*resizes.LINES, *colors.LINES, *blurs.LINES, *jpegs.LINES, *mixes.LINES]
    return [line for line in listed if is_here(line.author)]
