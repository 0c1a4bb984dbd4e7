"""Codes and widths of the tables that `augment` reads, as its headers have them."""

NONE, MATRIX, HUE, GAMMA, POSTERIZE, SOLARIZE, CONTRAST = range(7)  # StepCode of program.h
COLOR_WIDTH, ERASE_WIDTH, MIX_WIDTH = 16, 8, 7  # columns: of a color step, a rectangle, a mix
