"""Pastes objects of other images, and the targets that belong to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Array, size_text
from orbbec.bridge.fakes import register_fake
from orbbec.plan.passes import MixPass, NoiseKey
from orbbec.plan.stream import Stream
from orbbec.transforms.targets.covered import cover, nonzero_bytes
from orbbec.transforms.targets.state import POINT_KEYS, State


def choose_objects(step: MixPass, states: Sequence[State], others: Sequence[State], key: NoiseKey) -> None:
    """Leave some of the objects of the other images, and give their masks to the pass.

    Args:
        step: the pass.
        states: the targets of the images.
        others: those of the other images; they lose the objects that are not chosen.
        key: that of the plan.
    """
    height, width = states[0].size
    masks = np.zeros((len(others), height, width), bool)
    stream = Stream(key.sample_ids[: len(others)], key.seed, key.epoch, step.options["transform_index"])
    stream.skip(1)  # whether the image is mixed
    most = max(state.count for state in others)
    fractions, keys = stream.uniforms(1)[:, 0], stream.uniforms(most)
    limit = step.options["max_objects"] or most
    for n, other in enumerate(others):
        rows = np.flatnonzero(other.boxes.keep)
        if step.table["pair_indices"][n] == n or not len(rows):
            continue
        number = 1 + int(fractions[n] * min(len(rows), limit))
        order = rows[np.argsort(keys[n, rows], kind="stable")]
        other.boxes.drop(order[number:])
        masks[n] = _join_masks(nonzero_bytes(other.layer("masks")), order[:number].tolist()).numpy()
    step.set_masks(masks)


def check_objects(step: MixPass, states: Sequence[State]) -> None:
    """Refuse targets from which objects cannot be pasted."""
    if not any("masks" in state.original for state in states):
        raise ValueError(f"{step.name}: expected boxes and masks in the targets, but no image has masks")
    layers = dict.fromkeys(key for state in states for key in state.layers_of_image)
    for state in states:
        where = f"in the target of image {state.index}"
        if state.count and "masks" not in state.original:
            raise ValueError(f"{step.name}: expected masks {where}, one per box, but got none")
        if "masks" in state.original and "boxes" not in state.original:
            raise ValueError(f"{step.name}: expected boxes {where}, one per mask, but got none")
        if "polygons" in state.original:
            raise ValueError(
                f"{step.name}: polygons cannot be cut; use masks, and leave polygons out {where}"
            )
        if not state.is_upright:
            raise ValueError(
                f"{step.name}: expected upright boxes, which follow from what is left of a mask, "
                f"but got {state.options.box_format}"
            )
        for key in layers:
            if key not in state.original:
                raise ValueError(f"{step.name}: expected {key} {where}, as other images have, but got none")
        if state.size != states[0].size:
            sizes = (size_text(np.array([each.size])) for each in (states[0], state))
            raise ValueError(
                f"{step.name}: expected images of one size, but image 0 is {next(sizes)} and "
                f"image {state.index} {next(sizes)}; put a resize or a crop before it"
            )


def paste(state: State, other: State, mask: Array) -> None:
    """Let the objects of another image cover an image.

    Args:
        state: the targets of the image.
        other: those of the other image; they take over the layers of the image elsewhere.
        mask: bool `[H, W]`: the pixels of the other image.
    """
    cover(state, mask)
    for key in POINT_KEYS:
        if key in other.values and not other.is_per_box(key):
            other.leave_out(key)
    shown = torch.from_numpy(mask)
    for key in state.layers_of_image:
        under, over = (each.layer(key) for each in (state, other))
        mixed = torch.where(shown.to(over.device), over, under.to(over.device))  # its dtype holds both
        other.values[key] = other.original[key] = mixed


_join_masks: Callable[[Tensor, list[int]], Tensor] = operators.join_masks


@register_fake("join_masks", masks=3)
def _(masks: Tensor, rows: list[int]) -> Tensor:
    return masks.new_empty(masks.shape[1:], dtype=torch.bool)
