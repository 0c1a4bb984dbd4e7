"""Contact sheets: originals next to their augmentations, with boxes, points and masks."""

from orbbec.cli.preview.drawing import Shown, draw_shown
from orbbec.cli.preview.draws import draw_rows
from orbbec.cli.preview.reading import read_images, read_pipeline, read_targets
from orbbec.cli.preview.sheet import draw_sheet, sheet_as_html, write_sheet

__all__ = [
    "Shown",
    "draw_rows",
    "draw_sheet",
    "draw_shown",
    "read_images",
    "read_pipeline",
    "read_targets",
    "sheet_as_html",
    "write_sheet",
]
