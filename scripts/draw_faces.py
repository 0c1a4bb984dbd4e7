"""Draws rotated photographs of a face above their crops by AlignFaces.

    python scripts/draw_faces.py [--output docs/images/faces.jpg]

Crosses: above the landmarks, below the template of the crops.
"""

from pathlib import Path
from typing import Annotated

import torch
import typer
from contact_sheet import ACCENT, PAPER
from photographs import load_photograph
from PIL import Image as Picture
from PIL import ImageDraw
from torch import Tensor

from orbbec import get_rotation_matrix, warp_affine
from orbbec.transforms import AlignFaces, Compose

# Eyes, nose, corners of the mouth, located by eye, and the center of rotation: pixels (x, y).
LANDMARKS = ((203.8, 100.8), (247.0, 103.3), (225.8, 127.5), (204.2, 140.5), (243.3, 141.7))
MIDDLE = (225.0, 120.0)
ANGLES = (-75.0, -45.0, -15.0, 15.0, 45.0, 75.0)
SIDE, GAP, CROSS = 168, 6, 4  # pixels: side of a picture, gap, half a cross


def turned_photographs() -> tuple[Tensor, Tensor]:
    """Squares around the face, uint8 `[N, 3, SIDE, SIDE]`, and their landmarks, `[N, 5, 2]`."""
    photograph = torch.from_numpy(load_photograph("astronaut")).permute(2, 0, 1)
    turns = get_rotation_matrix(torch.tensor(MIDDLE), torch.tensor(ANGLES), 0.9)
    turns[:, :, 2] += SIDE / 2 - torch.tensor(MIDDLE)
    images = photograph.expand(len(ANGLES), -1, -1, -1)
    points = torch.tensor(LANDMARKS, dtype=torch.float64) @ turns[:, :, :2].mT + turns[:, None, :, 2]
    return warp_affine(images, turns, size=(SIDE, SIDE), fill=114), points


def draw_row(sheet: Picture.Image, top: int, images: Tensor, points: Tensor) -> None:
    draw = ImageDraw.Draw(sheet)
    for index, image in enumerate(images):
        left = GAP + index * (SIDE + GAP)
        sheet.paste(Picture.fromarray(image.permute(1, 2, 0).numpy()), (left, top))
        for x, y in points[index].add(torch.tensor([left, top])).tolist():
            draw.line([(x - CROSS, y), (x + CROSS, y)], ACCENT, width=2)
            draw.line([(x, y - CROSS), (x, y + CROSS)], ACCENT, width=2)


def main(output: Annotated[Path, typer.Option()] = Path("outputs/faces.jpg")) -> None:
    """Draw the sheet, and print the differences between the crops."""
    photographs, points = turned_photographs()
    align = AlignFaces(SIDE, fill=114)
    crops, _ = Compose([align])(photographs, [{"landmarks": each} for each in points])
    sheet = Picture.new("RGB", (GAP + len(ANGLES) * (SIDE + GAP), 3 * GAP + 2 * SIDE), PAPER)
    draw_row(sheet, GAP, photographs, points)
    draw_row(sheet, 2 * GAP + SIDE, crops, torch.tensor(align.template).expand(len(ANGLES), -1, -1))
    output.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(output, quality=90)
    middle = crops[:, :, SIDE // 4 : -SIDE // 4, SIDE // 4 : -SIDE // 4].float()
    print(
        f"{len(crops)} crops; mean difference from the first {(middle - middle[0]).abs().mean():.2f} levels"
    )


if __name__ == "__main__":
    typer.run(main)
