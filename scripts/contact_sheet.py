"""A contact sheet of augmentation: each original, and the images that the network got from it."""

from pathlib import Path
from typing import NamedTuple

from photographs import Image
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

COLUMNS = 2
MARGIN, GUTTER, GAP = 48, 64, 8  # pixels: around the sheet, between columns, between pictures
HEADER, CAPTION = 148, 34  # pixels: heights above all rows, and above each row
CHART = (360, 64)  # pixels: width, height of the loss
PAPER, INK, FAINT, LINE, ACCENT = "#faf9f6", "#1c1c1e", "#85827b", "#dedbd3", "#c2452d"


class Row(NamedTuple):
    """An original and its augmented images."""

    name: str
    original: Image
    augmented: list[Image]


def draw_contact_sheet(path: Path, title: str, subtitle: str, rows: list[Row], losses: list[float]) -> None:
    """Write a PNG of `rows`, two side by side, below a title and a chart of the loss per epoch.

    Args:
        path: path of the PNG; its folder is created.
        title: title, in large type.
        subtitle: text below the title.
        rows: rows with equal numbers of augmented images, all of one size.
        losses: the loss per epoch, at least two.
    """
    height, width = rows[0].augmented[0].shape[:2]
    row_width = width + GUTTER // 2 + len(rows[0].augmented) * (width + GAP) - GAP
    row_height = CAPTION + height + GUTTER // 3
    lines = -(-len(rows) // COLUMNS)
    sheet_width = 2 * MARGIN + COLUMNS * row_width + (COLUMNS - 1) * GUTTER
    sheet = Picture.new("RGB", (sheet_width, HEADER + lines * row_height + MARGIN // 2), PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((MARGIN, 36), title, INK, font=ImageFont.load_default(34))
    draw.text((MARGIN, 86), subtitle, FAINT, font=ImageFont.load_default(18))
    draw_losses(draw, (sheet_width - MARGIN - CHART[0], 40), losses)
    for index, row in enumerate(rows):
        column, line = divmod(index, lines)
        left = MARGIN + column * (row_width + GUTTER)
        draw_row(sheet, draw, (left, HEADER + line * row_height), row)
    path.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(path, optimize=True)


def draw_row(sheet: Picture.Image, draw: ImageDraw.ImageDraw, corner: tuple[int, int], row: Row) -> None:
    left, top = corner
    height, width = row.augmented[0].shape[:2]
    name_font, size_font = ImageFont.load_default(18), ImageFont.load_default(14)
    draw.text((left, top + 24), row.name, INK, font=name_font, anchor="ls")
    size = f"{row.original.shape[1]} x {row.original.shape[0]}"
    draw.text(
        (left + draw.textlength(row.name, name_font) + 10, top + 24), size, FAINT, font=size_font, anchor="ls"
    )
    top += CAPTION
    original = Picture.fromarray(row.original)
    original.thumbnail((width, height), Picture.Resampling.LANCZOS)
    sheet.paste(original, (left + (width - original.width) // 2, top + (height - original.height) // 2))
    left += width + GUTTER // 2
    draw.line([(left - GUTTER // 4, top), (left - GUTTER // 4, top + height)], LINE, width=2)
    for image in row.augmented:
        sheet.paste(Picture.fromarray(image), (left, top))
        left += width + GAP


def draw_losses(draw: ImageDraw.ImageDraw, corner: tuple[int, int], losses: list[float]) -> None:
    """The loss per epoch as a line, starting at zero."""
    (left, top), (width, height) = corner, CHART
    x = [left + width * epoch / (len(losses) - 1) for epoch in range(len(losses))]
    y = [top + height * (1 - loss / max(losses)) for loss in losses]
    draw.line([(left, top + height), (left + width, top + height)], LINE, width=2)
    draw.line(list(zip(x, y, strict=True)), ACCENT, width=3, joint="curve")
    small = ImageFont.load_default(16)
    for index, anchor in ((0, "rm"), (-1, "rs")):
        draw.ellipse([x[index] - 4, y[index] - 4, x[index] + 4, y[index] + 4], ACCENT)
        corner = (x[index] - 12, y[index]) if index == 0 else (x[index], y[index] - 10)
        draw.text(corner, f"{losses[index]:.2f}", INK, font=small, anchor=anchor)
    draw.text((left, top + height + 8), f"loss over {len(losses)} epochs", FAINT, font=small)
