"""Codes of color steps, and widths of the tables that `augment` reads: C++ says them."""

import torch

_NAMES, _WIDTHS = torch.ops.orbbec.augment_codes().splitlines()
STEPS = {name: code for code, name in enumerate(_NAMES.split())}  # of steps/steps.h; "none" is 0
COLOR_WIDTH, ERASE_WIDTH, MIX_WIDTH = map(int, _WIDTHS.split())  # columns: of a step, a rectangle, a mix
