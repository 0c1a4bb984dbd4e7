"""The augmentations of images, epoch by epoch, as displayable bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from orbbec.bridge.arguments import Array
from orbbec.cli.preview.drawing import ROW_KEY, Shown
from orbbec.data.sample import printable
from orbbec.plan import Plan
from orbbec.plan.batches import as_list
from orbbec.transforms import Compose, transform_targets


def draw_rows(
    pipeline: Compose,
    images: Mapping[str, Array],
    targets: Sequence[dict[str, Any]] | None = None,
    draws: int = 6,
    epoch: int = 0,
) -> tuple[list[list[Shown]], str]:
    """For each image, the original and its augmentations in several epochs.

    The images are one batch with sample ids 0 to N - 1, so the result is what training would see.

    Args:
        pipeline: the pipeline, including its seed.
        images: uint8 `[H, W, 3]` by name.
        targets: one dict per image, see `TargetOptions`.
        draws: number of epochs.
        epoch: the first epoch.

    Returns:
        One row per image, and the plan of the first epoch as text.
    """
    arrays = list(images.values())
    sources = [_with_rows(target) for target in targets or [{}] * len(arrays)]
    sizes = [array.shape[:2] for array in arrays]
    rows = [
        [Shown(_caption(name, array), array, target)]
        for (name, array), target in zip(images.items(), sources, strict=True)
    ]
    options = replace(pipeline.target_options, per_box=(*pipeline.target_options.per_box, ROW_KEY))
    plans = [pipeline.plan(sizes, epoch=epoch + offset, targets=sources) for offset in range(draws)]
    for plan in plans:
        result_targets = transform_targets(plan, sources, options)
        results = as_list(pipeline.apply(plan, arrays))
        for row, result, target in zip(rows, results, result_targets, strict=True):
            visible = as_bytes(result, plan)
            row.append(Shown(_caption(f"epoch {plan.epoch}", visible), visible, target))
    return rows, str(plans[0]) if plans else ""


def as_bytes(image: torch.Tensor, plan: Plan) -> Array:
    """A result `[C, H, W]` of a plan as uint8 `[H, W, 3]`, without normalization, scaled to 255."""
    values = image.permute(1, 2, 0).cpu()
    if values.dtype != torch.uint8:
        unscaled = any(step.keeps_numbers for step in plan.passes)
        levels = values.double().numpy()
        for step in reversed(plan.passes):
            levels = step.before_normalizing(levels)
        levels = np.nan_to_num(levels * (1.0 if unscaled else 255.0))
        values = torch.from_numpy(levels.round().clip(0, 255).astype(np.uint8))
    return np.asarray(values.expand(-1, -1, 3).numpy())


def _with_rows(target: dict[str, Any]) -> dict[str, Any]:
    """A target with an index per box, which keeps its color when other boxes are dropped."""
    return {**target, ROW_KEY: np.arange(len(target["boxes"]))} if "boxes" in target else dict(target)


def _caption(name: str, image: Array) -> str:
    return f"{printable(name)}, {image.shape[0]}x{image.shape[1]}"
