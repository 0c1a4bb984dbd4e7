"""Draws photographs with boxes, masks and keypoints, and what a fused pipeline makes of them in some epochs.

    python scripts/draw_pipeline.py [--output docs/images/pipeline.jpg]

Prints the plan of the pipeline. The exit status is 1 if the plan has more than one pass.
"""

from pathlib import Path
from typing import Annotated, Any

import cv2
import numpy as np
import typer
from contact_sheet import FAINT, INK, PAPER
from photographs import Image, load_photograph
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont

from orbbec import transforms as T
from orbbec.cli.preview import Shown, draw_rows, draw_shown
from orbbec.cli.preview.drawing import ROW_KEY

# Outlines of objects, traced by eye: pixels x,y.
OUTLINES = {
    "motorcycle": {
        "motorcycle": (
            "64,140 72,135 98,134 95,106 104,101 114,104 116,112 135,116 168,117 185,130 205,134 "
            "240,130 262,123 246,116 268,98 290,84 297,90 290,100 318,106 330,104 324,88 340,80 348,72 "
            "344,58 356,58 375,70 360,74 368,84 385,90 388,104 380,124 378,140 396,178 412,182 436,198 "
            "446,208 440,218 458,240 470,268 468,298 455,308 438,311 418,304 396,288 376,264 362,240 "
            "354,222 350,222 352,210 366,194 352,160 338,138 330,140 332,162 330,190 328,220 318,246 "
            "300,260 280,262 240,258 236,270 232,298 224,298 228,262 195,248 186,262 168,276 145,278 "
            "118,268 96,248 85,220 88,190 98,172 100,166 84,168 70,178 70,164 82,160 88,152 68,150"
        ),
    },
    "coffee": {
        "cup": (
            "148,92 152,66 170,40 200,22 240,15 280,20 315,36 338,60 348,90 346,110 340,130 330,168 "
            "318,196 300,212 276,236 245,243 222,236 214,222 205,240 190,262 175,260 167,244 172,222 "
            "186,202 166,180 154,150 148,120"
        ),
        "spoon": (
            "318,200 320,190 326,172 338,140 347,108 348,80 340,64 342,58 358,58 362,66 354,95 344,128 "
            "334,160 328,188 330,202 342,216 347,235 340,258 322,274 303,277 286,266 279,250 280,232 "
            "286,218 300,208"
        ),
    },
    "cat": {
        "cat": (
            "42,0 34,40 32,80 28,108 0,124 0,299 240,299 262,287 296,262 312,240 320,212 345,190 "
            "360,160 362,120 356,75 382,45 392,18 398,0"
        ),
    },
}
KEYPOINTS = {"cat": [[(170, 112, 2), (318, 136, 2), (262, 243, 2)]]}  # eyes and nose: x, y, visibility
FIRST_COLOR = {"motorcycle": 1, "coffee": 4, "cat": 2}  # of each photograph
SIDE, EPOCHS = 200, 5  # pixels of a picture; columns after the photograph
GAP, EDGE, CAPTION = 8, 16, 32  # pixels


def pipeline() -> T.Compose:
    """Transforms for training a detector."""
    return T.Compose(
        [
            T.RandomAffine(20, (0.06, 0.06), (0.8, 1.3), 6, "linear", 114),
            T.RandomHorizontalFlip(),
            T.Letterbox(SIDE, fill=114),
            T.RandomPhotometricDistort(),
            T.RandomGrayscale(0.1),
            T.ToDtype("float32", scale=True),
            T.Normalize(),
        ],
        seed=1,
        target_options=T.TargetOptions(min_visibility=0.2),
    )


def targets_of(name: str, image: Image) -> dict[str, Any]:
    """Boxes and masks within the outlines, with labels and, if known, keypoints."""
    outlines = [
        np.array([point.split(",") for point in text.split()], int) for text in OUTLINES[name].values()
    ]
    masks = [cv2.fillPoly(np.zeros(image.shape[:2], np.uint8), [outline], 1) for outline in outlines]
    boxes = [np.concatenate([outline.min(0), outline.max(0) + 1]) for outline in outlines]
    targets = {"boxes": np.array(boxes, np.float32), "masks": np.stack(masks), "labels": [*OUTLINES[name]]}
    return targets | ({"keypoints": np.array(KEYPOINTS[name], np.float32)} if name in KEYPOINTS else {})


def drawn_rows() -> tuple[list[list[Shown]], str]:
    """One row per photograph, the original first, and the plan of the first epoch."""
    images = {name: load_photograph(name) for name in OUTLINES}
    targets = [targets_of(name, image) for name, image in images.items()]
    rows, plan = draw_rows(pipeline(), images, targets, EPOCHS)
    for name, row in zip(images, rows, strict=True):
        for shown in row:
            shown.targets[ROW_KEY] = shown.targets[ROW_KEY] + FIRST_COLOR[name]
    return rows, plan


def draw(rows: list[list[Shown]], title: str) -> Picture.Image:
    """The rows below a title, each picture in a square."""
    width = 2 * EDGE + len(rows[0]) * (SIDE + GAP) - GAP
    height = 2 * EDGE + 2 * CAPTION + len(rows) * (SIDE + GAP) - GAP
    sheet = Picture.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((EDGE, EDGE), title, INK, font=ImageFont.load_default(19))
    for column in range(len(rows[0])):
        text = f"epoch {column - 1}" if column else "photograph"
        left = EDGE + column * (SIDE + GAP)
        pen.text((left, EDGE + CAPTION + 2), text, FAINT, font=ImageFont.load_default(18))
        for line, row in enumerate(rows):
            picture = draw_shown(row[column], SIDE)
            top = EDGE + 2 * CAPTION + line * (SIDE + GAP)
            sheet.paste(picture, (left, top + (SIDE - picture.height) // 2))
    return sheet


def main(
    output: Annotated[Path, typer.Option(help="The picture to write.")] = Path("outputs/pipeline.jpg"),
) -> None:
    """Draw photographs and what a fused pipeline makes of them."""
    rows, plan = drawn_rows()
    print(plan)
    names = [type(transform).__name__ for transform in pipeline().transforms]
    output.parent.mkdir(parents=True, exist_ok=True)
    draw(rows, f"one pass: {', '.join(names)}").save(output, quality=88)
    print(f"wrote {output}")
    if "\n 2. " in plan:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
