"""Rows of pictures as one image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orbbec.cli.preview.drawing import Shown, draw_shown
from orbbec.cli.preview.page import sheet_as_html
from orbbec.cli.preview.reading import module
from orbbec.data.sample import printable

PAPER, INK, FAINT = "#faf9f6", "#1c1c1e", "#85827b"
_MARGIN, _GAP, _CAPTION, _TEXT_LINE = 24, 8, 20, 18  # pixels
_TYPES = (".png", ".jpg", ".jpeg", ".webp")


def check_type(path: Path) -> None:
    """Refuse an output file of an unknown extension."""
    if path.suffix.lower() not in (*_TYPES, ".html"):
        raise ValueError(f"preview: expected a file in {', '.join(_TYPES)} or .html, but got {path.name}")


def write_sheet(
    path: Path,
    rows: Sequence[Sequence[Shown]],
    text: str = "",
    side: int = 192,
    box_format: str = "xyxy",
    *,
    title: str = "Preview",
    epoch: int = 0,
) -> None:
    """Write rows of pictures to a file; the extension selects .png, .jpg, .webp or .html."""
    path = Path(path)
    check_type(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() == ".html":
        page = sheet_as_html(rows, text, side, box_format, title=title, epoch=epoch)
        path.write_text(printable(page), "utf-8")
    else:
        draw_sheet(rows, text, side, box_format).save(path, quality=85, optimize=True)


def draw_sheet(
    rows: Sequence[Sequence[Shown]], text: str = "", side: int = 192, box_format: str = "xyxy"
) -> Any:
    """Draw rows of pictures below lines of text; see `sheet_as_html`.

    Returns:
        A Pillow image.
    """
    pillow, font = module("PIL.Image"), module("PIL.ImageFont").load_default(12)
    lines = text.splitlines()
    header = _MARGIN + _TEXT_LINE * len(lines)
    columns = max((len(row) for row in rows), default=0)
    widest = max((round(font.getlength(line)) for line in lines), default=0)
    width = 2 * _MARGIN + max(columns * (side + _GAP) - _GAP, widest)
    height = header + len(rows) * (_CAPTION + side + _GAP) + _MARGIN
    sheet = pillow.new("RGB", (width, height), PAPER)
    pen = module("PIL.ImageDraw").Draw(sheet)
    for number, line in enumerate(lines):
        pen.text((_MARGIN, _MARGIN // 2 + number * _TEXT_LINE), line, FAINT if number else INK, font=font)
    for y, row in enumerate(rows):
        for x, shown in enumerate(row):
            left, top = _MARGIN + x * (side + _GAP), header + y * (_CAPTION + side + _GAP)
            pen.text((left, top + 2), _fitting(shown.caption, font, _width_of(row, x, side)), INK, font=font)
            sheet.paste(draw_shown(shown, side, box_format), (left, top + _CAPTION))
    return sheet


def _width_of(row: Sequence[Shown], x: int, side: int) -> int:
    """Pixels until the next caption of the row."""
    end = next((n for n in range(x + 1, len(row)) if row[n].caption), len(row))
    return (end - x) * (side + _GAP) - _GAP


def _fitting(text: str, font: Any, width: int) -> str:
    while text and font.getlength(text) > width:
        text = text[:-1]
    return text
