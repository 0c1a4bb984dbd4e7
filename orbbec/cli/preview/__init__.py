"""Sheets of originals next to their augmentations, with boxes, points and masks."""

from orbbec.cli.preview.drawing import Shown, draw_shown
from orbbec.cli.preview.draws import draw_rows
from orbbec.cli.preview.page import sheet_as_html
from orbbec.cli.preview.presets import PRESETS, preset
from orbbec.cli.preview.reading import read_images, read_pipeline, read_targets
from orbbec.cli.preview.sheet import draw_sheet, write_sheet
from orbbec.cli.preview.sources import select

__all__ = [
    "PRESETS",
    "Shown",
    "draw_rows",
    "draw_sheet",
    "draw_shown",
    "preset",
    "read_images",
    "read_pipeline",
    "read_targets",
    "select",
    "sheet_as_html",
    "write_sheet",
]
