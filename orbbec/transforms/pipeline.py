"""Draws transforms for a batch, and does what was drawn: what `Compose` and a single transform share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from orbbec.binding.arguments import Array
from orbbec.plan import Fusion, Plan, Stream, read_images, run_passes
from orbbec.plan import apply as apply_plan
from orbbec.plan.parts import without_images
from orbbec.plan.steps import same_rows
from orbbec.plan.template import Template, row_of
from orbbec.transforms.checks import whole
from orbbec.transforms.targets import TargetOptions, readable, transform_targets
from orbbec.transforms.tv_tensors import images_like, plain

LARGEST_SEED = 2**63 - 1
_ANY_SIZES = np.array([[30000, 40000], [50001, 60002]])  # results of one size have it whatever the images


class _Key(NamedTuple):
    """What the draws of a batch are a function of."""

    seed: int
    epoch: int
    sample_ids: Array  # int64 [N]


@dataclass(frozen=True)
class Pipeline:
    """Transforms in order, and how they are drawn.

    Args:
        transforms: objects with the members of `Transform`.
        seed: as that of `Compose`.
        exact: as that of `Compose`.
        target_options: as that of `Compose`.
    """

    transforms: Sequence[Any]
    seed: int = 0
    exact: bool = False
    target_options: TargetOptions = field(default_factory=TargetOptions)
    _templates: dict[tuple[int, str], Template | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )  # by channels and dtype

    def plan(
        self,
        sizes: Any,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        channels: int = 3,
        dtype: str | torch.dtype = "uint8",
        targets: Sequence[Any] | None = None,
        generator: torch.Generator | None = None,
    ) -> Plan:
        """Draw for a batch.

        Without `sample_ids` and `epoch` each call draws anew; the plan records what it drew, and `apply` does
        the same as often as it is asked to.

        Args:
            sizes: whole numbers `[N, 2]`: height and width of the images in pixels.
            sample_ids: whole numbers `[N]`; None, with an epoch: 0 to N - 1.
            epoch: from 0 to 2^63 - 1; None, with sample ids: 0.
            channels: of the images.
            dtype: of the images: uint8, float16, bfloat16 or float32.
            targets: dicts, read by transforms that look at boxes or points (RandomIoUCrop, AlignPoints).
            generator: of the CPU, for draws without `sample_ids` and `epoch`; None: torch's default.

        Returns:
            The plan, for `apply`.

        Raises:
            ValueError: an argument does not fit, or an image cannot be transformed; names the image.
        """
        table = _sizes(sizes)
        key = self._key(sample_ids, epoch, generator, len(table))
        if targets is not None and len(targets) != len(table):
            raise ValueError(f"Compose: expected {len(table)} targets, one an image, but got {len(targets)}")
        name = str(dtype).removeprefix("torch.")
        if len(table) == 0:
            return self._plan_of_none(_ANY_SIZES, key, channels, name)
        return self._plan(table, key, channels, name, targets)

    def _key(self, sample_ids: Any, epoch: int | None, generator: torch.Generator | None, count: int) -> _Key:
        if sample_ids is None and epoch is None:
            return _Key(_new_seed(generator), 0, np.arange(count))
        if generator is not None:
            raise ValueError("Compose: expected a generator only without sample_ids and epoch")
        epoch = 0 if epoch is None else epoch
        whole("Compose", "epoch", epoch, 0, LARGEST_SEED)
        return _Key(self.seed, epoch, _ids(sample_ids, count))

    def _plan_of_none(self, sizes: Array, key: _Key, channels: int, dtype: str) -> Plan:
        """The plan of no images, whose results have the size that those of two such images share."""
        two = key._replace(sample_ids=np.arange(2))
        return without_images(self._plan(sizes, two, channels, dtype, None))

    def _plan(
        self,
        table: Array,
        key: _Key,
        channels: int,
        name: str,
        targets: Sequence[Any] | None,
    ) -> Plan:
        kind = channels, name
        template = self._templates.get(kind)
        if template is not None:
            try:
                return template.fill(table, key.sample_ids, key.seed, key.epoch)
            except ValueError:
                pass  # below, the error names the transform
        _check_pixels(table)
        fusion = Fusion(table, channels, name, self.exact)
        stream = Stream(key.sample_ids, key.seed, key.epoch)
        streams = iter(stream.at_places(sum(t.places for t in self.transforms)))
        for transform in self.transforms:
            if transform.needs_targets:
                read = [readable(n, target, self.target_options) for n, target in enumerate(targets or ())]
                drawn = transform.draw_for(fusion.frame, streams, read, fusion.matrix)
            else:
                drawn = transform.draw(fusion.frame, streams)
            for entry in drawn:
                fusion.add(entry.step, entry.name, entry.place)
            fusion.end_transform(transform.name)
        plan = Plan(
            sizes=table,
            sample_ids=key.sample_ids,
            passes=fusion.finish(),
            notes=tuple(dict.fromkeys(fusion.notes)),
            seed=key.seed,
            epoch=key.epoch,
            channels=channels,
            dtype=name,
        )
        if kind not in self._templates and not self.exact:
            self._templates[kind] = Template.of(plan, fusion.moves, list(map(row_of, self.transforms)))
        return plan

    def apply(self, plan: Plan, batch: Any, *, out: Any = None) -> Any:
        """Do to images what a plan says; see `orbbec.plan.apply`."""
        return images_like(apply_plan(plan, plain(batch), out=out), batch)

    def __call__(
        self,
        batch: Any,
        targets: Sequence[Any] | None = None,
        sample_ids: Any = None,
        epoch: int | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Any:
        """Plan and apply. Without `sample_ids` and `epoch` each call draws anew.

        Args:
            batch: uint8 or float: `[N, C, H, W]` or `[C, H, W]` tensor, `[H, W]`, `[H, W, C]` or
                `[N, H, W, C]` array, `ImageBatch`, `PlaneBatch`, or a list of unlike tensors `[C, H, W]` or
                arrays `[H, W, C]`; tensors also as `torchvision.tv_tensors.Image`.
            targets: a dict an image (or one dict for a single image): see `TargetOptions`.
            sample_ids: as that of `plan`.
            epoch: as that of `plan`.
            generator: as that of `plan`.

        Returns:
            The images, in the kind of `batch`; with `targets`, images and targets.
        """
        single = isinstance(targets, dict)
        listed = [targets] if single else targets
        given = read_images(plain(batch))
        plan = self.plan(
            given.sizes,
            sample_ids,
            epoch,
            channels=given.channels,
            dtype=given.dtype,
            targets=listed,
            generator=generator,
        )
        if given.size is not None and len(plan) == 0:
            sizes = np.maximum(same_rows(given.size, 2), 1)
            key = _Key(plan.seed, plan.epoch, plan.sample_ids)
            plan = self._plan_of_none(sizes, key, given.channels, given.dtype)
        changed = None if listed is None else transform_targets(plan, listed, self.target_options)
        images = images_like(run_passes(plan, given), batch)
        if changed is None:
            return images
        return images, changed[0] if single else changed


def _new_seed(generator: torch.Generator | None) -> int:
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


def _sizes(sizes: Any) -> Array:
    given = sizes.detach().cpu().numpy() if isinstance(sizes, torch.Tensor) else np.asarray(sizes)
    if given.size == 0:
        given = given.reshape(0, 2)
    if given.ndim != 2 or given.shape[1] != 2 or (given.size and given.dtype.kind not in "iu"):
        raise ValueError(
            f"Compose: expected sizes as whole numbers [N, 2], but got {given.dtype} {list(given.shape)}"
        )
    return np.array(given, np.int64, order="C")


def _check_pixels(sizes: Array) -> None:
    if (sizes < 1).any():
        index = int((sizes < 1).any(1).argmax())
        raise ValueError(
            f"Compose: expected images with pixels, but image {index} is of size {sizes[index].tolist()}"
        )


def _ids(sample_ids: Any, count: int) -> Array:
    if sample_ids is None:
        return np.arange(count)
    ids = (
        sample_ids.detach().cpu().numpy() if isinstance(sample_ids, torch.Tensor) else np.asarray(sample_ids)
    )
    if ids.shape != (count,) or (count and ids.dtype.kind not in "iu"):
        raise ValueError(
            f"Compose: expected sample_ids as whole numbers [{count}], but got {ids.dtype} {list(ids.shape)}"
        )
    return ids.astype(np.int64)
