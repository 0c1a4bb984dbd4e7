"""Draws every recipe: photographs with their targets, as training sees them.

python scripts/draw_recipes.py [--output docs/images/recipes.jpg]
"""

from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import typer
from photographs import Image, load_photograph
from transform_examples import portrait

from orbbec import recipes
from orbbec.cli.preview import Shown, draw_rows, draw_sheet
from orbbec.recipes.views import simclr_view
from orbbec.transforms import Compose

DRAWS, SIDE = 6, 112  # pictures, pixels
RECIPES: dict[str, Callable[[], Compose]] = {
    "imagenet_train": lambda: recipes.imagenet_train(176, 10),
    "imagenet_eval": recipes.imagenet_eval,
    "timm_train": lambda: recipes.timm_train(224, 10),
    "deit3": recipes.deit3,
    "mae": recipes.mae,
    "clip_train": recipes.clip_train,
    "simclr, a view": lambda: Compose(simclr_view()),
    "yolo_train": lambda: recipes.yolo_train(320, mixup=0.15),
    "yolo_val": lambda: recipes.yolo_val(320),
    "ssd_train": recipes.ssd_train,
    "detr_train": lambda: recipes.detr_train(320),
    "lsj": lambda: recipes.lsj(320),
    "lsj_copy_paste": lambda: recipes.lsj_copy_paste(320),
    "coco_keypoints": recipes.coco_keypoints,
    "segmentation": lambda: recipes.segmentation(240, 260),
    "depth": lambda: recipes.depth(252),
    "kinetics": recipes.kinetics,
    "drq_shift": lambda: recipes.drq_shift(16),
    "lerobot": recipes.lerobot,
    "face_recognition": recipes.face_recognition,
    "ocr_line": recipes.ocr_line,
}
MIXED = "imagenet_train", "timm_train"
TARGETS = {
    "imagenet_train": (),
    "timm_train": (),
    "lsj_copy_paste": ("boxes", "labels", "masks"),
    "segmentation": ("mask",),
    "face_recognition": ("landmarks",),
}


def line_of_text() -> Image:
    """A line of text, uint8 `[40, 150, 3]`."""
    line = np.full((40, 150, 3), (236, 228, 205), np.uint8)
    cv2.putText(line, "orbbec 2026", (8, 28), cv2.FONT_HERSHEY_COMPLEX, 0.7, (60, 40, 30), 1, cv2.LINE_AA)
    return line


def drawn(name: str) -> list[Shown]:
    """The portrait, or a line of text, and its results, in a batch with other photographs."""
    image, targets = (line_of_text(), {}) if name == "ocr_line" else portrait()
    others = {
        other: cv2.resize(load_photograph(other), image.shape[1::-1], interpolation=cv2.INTER_AREA)
        for other in ("cat", "coffee", "rocket")
    }
    shown = {key: targets[key] for key in TARGETS.get(name, ("boxes", "labels")) if key in targets}
    same = {key: value for key, value in shown.items() if name not in ("yolo_train", *MIXED)}
    all_targets = [shown, *[same] * 3] if same else [shown, {}, {}, {}]
    if name in MIXED:
        all_targets = [{"label": n} for n in range(4)]
    rows, _ = draw_rows(RECIPES[name](), {"portrait": image, **others}, all_targets, DRAWS)
    captions = name, *("" for _ in range(DRAWS))
    return [Shown(text, each.image, each.targets) for text, each in zip(captions, rows[0], strict=True)]


def main(
    output: Annotated[Path, typer.Option(help="The picture to write.")] = Path("outputs/recipes.jpg"),
) -> None:
    """Draw what every recipe of one view does, six draws of each."""
    rows = [drawn(name) for name in RECIPES]
    half = (len(rows) + 1) // 2
    pairs = zip_longest(rows[:half], rows[half:], fillvalue=[])
    sheet = draw_sheet([[*one, *other] for one, other in pairs], "orbbec.recipes", SIDE)
    output.parent.mkdir(parents=True, exist_ok=True)
    sheet.save(output, quality=75, optimize=True)
    print(f"wrote {output}: {len(rows)} recipes")


if __name__ == "__main__":
    typer.run(main)
