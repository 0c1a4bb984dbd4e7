"""Codes of color steps, and widths of the tables that `augment` reads: C++ says them."""

from orbbec._library import operators

_NAMES, _WIDTHS, _PLACED = operators.augment_codes().splitlines()
STEPS = {name: code for code, name in enumerate(_NAMES.split())}  # of steps/steps.h; "none" is 0
PLACED = frozenset(map(int, _PLACED.split()))  # the codes of steps that read the position of a pixel
COLOR_WIDTH, ERASE_WIDTH, MIX_WIDTH = map(int, _WIDTHS.split())  # columns: of a step, a rectangle, a mix
