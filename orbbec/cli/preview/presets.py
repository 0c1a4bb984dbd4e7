"""Pipelines by name, to look at without writing one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from orbbec.recipes import imagenet_train, ssd_train, yolo_train
from orbbec.recipes.views import simclr_view
from orbbec.transforms import Compose


def preset(name: str) -> Compose:
    """A pipeline by name.

    | name | recipe |
    | --- | --- |
    | imagenet | `imagenet_train` |
    | simclr | a view of `simclr` |
    | yolo | `yolo_train` |
    | coco | `ssd_train`, of 640 pixels |

    Raises:
        ValueError: there is no such preset.

    Example:
        >>> [type(step).__name__ for step in preset("imagenet").transforms][:2]
        ['RandomResizedCrop', 'RandomHorizontalFlip']
    """
    if name not in PRESETS:
        raise ValueError(f"preview: expected --preset as one of {', '.join(PRESETS)}, but got {name}")
    pipeline = PRESETS[name]()
    options = replace(pipeline.target_options, min_size=2.0, min_visibility=0.1)
    return Compose(pipeline.transforms, target_options=options)


PRESETS: dict[str, Callable[[], Compose]] = {
    "imagenet": lambda: imagenet_train(224),
    "simclr": lambda: Compose(simclr_view()),
    "yolo": yolo_train,
    "coco": lambda: ssd_train(640),
}
