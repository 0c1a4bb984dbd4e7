"""Draws transforms for a batch, and does what was drawn: what `Compose` and a single transform share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from orbbec.bridge.arguments import Array, constant_buffer, dtype_name, tensor_of
from orbbec.plan import Plan, run_passes
from orbbec.plan import apply as apply_plan
from orbbec.plan.batches import Direct, Input
from orbbec.plan.build import Build
from orbbec.plan.microbatches import without_images
from orbbec.plan.parameters import Batch, common_size, same_rows
from orbbec.plan.passes import ALIKE, VARIES, MixPass
from orbbec.plan.program import Program
from orbbec.transforms.base.checks import whole
from orbbec.transforms.base.clips import Images, clips_of
from orbbec.transforms.base.inputs import (
    bytes_of,
    description_of,
    direct_input,
    direct_list,
    list_description,
    read,
    run_small,
)
from orbbec.transforms.base.module import FrozenModule, outside_graphs
from orbbec.transforms.base.seeds import LARGEST_SEED, Key, check_pixels, ids_of, new_seed, sizes_of
from orbbec.transforms.base.structures import (
    are_targets,
    images_of,
    is_structure,
    labels_of,
    named_images,
    rebuilt,
    targets_of,
    targets_of_images,
)
from orbbec.transforms.base.tv_tensors import name_of, plain
from orbbec.transforms.targets.direct import follow_program
from orbbec.transforms.targets.mixed import blend_labels
from orbbec.transforms.targets.options import DEFAULT_OPTIONS, TargetOptions
from orbbec.transforms.targets.targets import readable, transform_targets

MAX_SMALL_SHAPES = 1024
_OF_BYTES = (torch.Tensor, np.ndarray)

_Targets = TypeVar("_Targets", bound="Sequence[Any] | None")


class _Pixels(NamedTuple):
    channels: int
    dtype: str
    as_planes: bool = False  # float results are [C, H, W]
    one_size: bool = False  # whether all images have one
    pairs: tuple[int, ...] = ()  # see `Batch`

    @classmethod
    def of(cls, inputs: Input) -> _Pixels:
        """Those of images."""
        one_size = inputs.size is not None or common_size(inputs.sizes) is not None
        return cls(inputs.channels, inputs.dtype, inputs.as_planes, one_size)


@dataclass(frozen=True)
class Pipeline(FrozenModule):
    """Plans and applies a sequence of transforms.

    Args:
        transforms: objects with the members of `Transform`.
        seed: see `Compose`.
        exact: see `Compose`.
        target_options: see `Compose`.
        images: see `Compose`.
    """

    transforms: Sequence[Any]
    seed: int = 0
    exact: bool = False
    target_options: TargetOptions = DEFAULT_OPTIONS
    images: Sequence[str] = field(default=(), kw_only=True)
    _programs: dict[_Pixels, Program] = field(default_factory=dict, init=False, repr=False, compare=False)
    _direct: dict[tuple[torch.dtype, int, bool, bool], Program | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _small_runs: dict[tuple[type, Sequence[int]], tuple[torch.Tensor, Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    # Whether arrays and PIL images become tensors, and whether tv_tensors do.
    _forms: tuple[bool, bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        transforms = self.transforms
        forms = any(each.makes_tensors for each in transforms), any(each.makes_pure for each in transforms)
        object.__setattr__(self, "_forms", forms)

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
        frames: int = 1,
        pairs: Sequence[int] = (),
    ) -> Plan:
        """Draw parameters for a batch.

        Without `sample_ids` and `epoch`, each call draws new parameters. The plan records them, so applying
        it again gives the same results.

        Args:
            sizes: whole numbers `[N, 2]`: height and width of the images in pixels.
            sample_ids: whole numbers `[N]`; None, with an epoch: 0 to N - 1.
            epoch: from 0 to 2^63 - 1; None, with sample ids: 0.
            channels: number of channels of the images.
            dtype: dtype of the images: uint8, uint16, float16, bfloat16 or float32.
            targets: one dict per image, for transforms that read boxes or points (RandomIoUCrop,
                AlignPoints).
            generator: a CPU generator, from which a call without `sample_ids` takes its seed, also if it has
                an epoch for schedules such as `Mosaic(epochs=...)`. None: torch's default, without an epoch.
            frames: images of each clip, which follow one another; there is one sample id per clip.
            pairs: what `others` gives, for mixes that combine images with pair images of their own. A mix
                that reads K others combines each of the first N of N * (1 + K) images with K of the last
                ones, in order; these end there, and the next mix has N images. Empty: mixes combine images of
                the batch.

        Returns:
            The plan, for `apply`.

        Raises:
            ValueError: an argument is invalid, or an image cannot be transformed; names the image.
        """
        table = sizes_of(sizes)
        frames = whole("Compose", "frames", frames, 1)
        if len(table) % frames:
            raise ValueError(f"Compose: expected clips of {frames} frames, but got {len(table)} images")
        key = self._key(sample_ids, epoch, generator, len(table) // frames).of_clips(frames)
        pairs = tuple(whole("Compose.plan", "pairs", number, 0) for number in pairs)
        if pairs and frames > 1:
            raise ValueError("Compose.plan: expected images with pairs, but got clips")
        if pairs and (pairs != self.others(key.epoch) or len(table) % prod(1 + number for number in pairs)):
            raise ValueError(
                f"Compose.plan: expected pairs {list(self.others(key.epoch))}, as the mixes read, "
                f"but got {list(pairs)} for {len(table)} images"
            )
        one_size = common_size(table) is not None
        pixels = _Pixels(channels, dtype_name(dtype), one_size=one_size, pairs=pairs)
        return self._plan_of(table, key, pixels, targets).computed()

    def others(self, epoch: int | None) -> tuple[int, ...]:
        """The number of other images that each mix reads for each image, in the order of the mixes.

        Args:
            epoch: 0 for mixes that this epoch has none of; None: in all epochs.
        """
        return tuple(_others(self.transforms, epoch))

    def _run(
        self,
        images: Any,
        sample_ids: Any = None,
        epoch: Any = None,
        generator: torch.Generator | None = None,
        key: Key | None = None,
        direct: Direct | list[Direct] | None = None,
        out: Any = None,
    ) -> Any:
        """The results, in `out` unless it is None, if one operator can draw and run all passes; else None.

        `key` replaces the arguments before it, and `direct` describes the images, if they are known.
        """
        is_new = sample_ids is None and epoch is None and key is None
        if is_new and (small_run := self._small_runs.get((type(images), getattr(images, "shape", ())))):
            result = run_small(images, *small_run, generator)
            if result is not None:
                return result
        if direct is None:
            direct = direct_input(images, *self._forms) or direct_list(images, self._forms[0])
        if direct is None:
            return None
        if isinstance(direct, list):
            return self._run_each(direct, key or partial(self._key, sample_ids, epoch, generator), out)
        tensor, layout, host_layout, channels, count, restore, as_planes = direct
        kind = tensor.dtype, channels, as_planes, layout is None
        program = self._direct[kind] if kind in self._direct else self._direct_program(kind)
        if program is None or not (program.runs or program.serves_on_host(direct)):
            is_alike = host_layout is not None and common_size(host_layout.numpy()[:, 1:])
            program = self._direct_program((*kind[:3], True)) if is_alike else None
            if program is None or not program.runs_batches:
                return None
        try:
            if key is not None:
                buffer = None if out is None else constant_buffer("Compose", out)
                result = program.run(direct, *key, out=buffer)
            elif is_new:
                result = program.run(direct, new_seed(generator))
                may_be_small = type(images) in _OF_BYTES and len(self._small_runs) < MAX_SMALL_SHAPES
                if may_be_small and bytes_of(images) is not None and program.is_small(tensor):
                    self._small_runs[type(images), images.shape] = program.code, restore
            elif isinstance(epoch, torch.Tensor) and generator is None:
                ids = None if sample_ids is None else torch.as_tensor(sample_ids, device=tensor.device)
                result = program.run(direct, self.seed, ids, epoch)
            else:
                key = self._key(sample_ids, epoch, generator, count)
                result = program.run(direct, *key)
        except ValueError:
            return None  # planning names the transform
        return result if restore is None else restore(result)

    def _run_each(self, images: list[Direct], key: Key | Callable[[int], Key], out: Any) -> Any:
        """`_run` for a list of images; `key` may be a function of their number."""
        tensor, _, _, channels, _, restore, as_planes = images[0]
        program = self._direct_program((tensor.dtype, channels, as_planes, True))
        if program is None or program.size <= VARIES:
            return None
        key = key if isinstance(key, Key) else key(len(images))
        try:
            buffer = None if out is None else constant_buffer("Compose", out)
            results = program.run_each(images, *key[:3], buffer)
        except ValueError:
            return None
        return results if results is None or restore is None else restore(results)

    def _direct_program(self, kind: tuple[torch.dtype, int, bool, bool]) -> Program | None:
        if kind in self._direct:
            return self._direct[kind]
        dtype, channels, as_planes, one_size = kind
        try:
            program = self._program(_Pixels(channels, dtype_name(dtype), as_planes, one_size), None)
        except ValueError:
            return None  # planning raises it again, or draws some steps in Python
        self._direct[kind] = program if program.runs_one else None
        return self._direct[kind]

    def _plan_of(self, table: Array, key: Key, pixels: _Pixels, targets: Sequence[Any] | None) -> Plan:
        if targets is not None and len(targets) != len(table):
            raise ValueError(f"Compose: expected {len(table)} targets, one per image, but got {len(targets)}")
        check_pixels(table)
        if targets is not None and any(transform.needs_targets for transform in self.transforms):
            sized = zip(targets, table, strict=True)
            targets = [
                readable(n, target, self.target_options, size) for n, (target, size) in enumerate(sized)
            ]
        batch = Batch(table, key.sample_ids, key.seed, key.epoch, targets, key.frames, pixels.pairs)
        return Plan.of(self._program(pixels, batch), batch, pixels.channels, pixels.dtype)

    def _plan_for(self, inputs: Input, key: Key, targets: Sequence[Any] | None) -> Plan:
        pixels = _Pixels.of(inputs)
        if inputs.size is None or len(inputs.sizes) > 0:
            return self._plan_of(inputs.sizes, key, pixels, targets)
        one = np.maximum(same_rows(inputs.size, 1), 1)  # no images: results have the size that one image gets
        key = key._replace(sample_ids=np.zeros(1, np.int64), frames=1)
        plan = self._plan_of(one, key, pixels, [{"mask": np.zeros(one[0], np.int64)}])
        return without_images(plan)

    def _direct_targets(self, inputs: Input, key: Key, targets: Sequence[Any]) -> Sequence[Any] | None:
        """The targets of images that one operator ran; None: they need a plan."""
        batch = Batch(inputs.sizes, key.sample_ids, key.seed, key.epoch, frames=key.frames)
        program = self._program(_Pixels.of(inputs), batch)
        return self._pure(follow_program(program, batch, targets, self.target_options))

    def _program(self, pixels: _Pixels, batch: Batch | None) -> Program:
        """The pipeline compiled for images of one kind."""
        program = self._programs.get(pixels)
        if program is None:
            size = ALIKE if pixels.one_size else VARIES
            build = Build(pixels.channels, pixels.dtype, self.exact, size, batch=batch)
            for transform in self.transforms:
                build.transform(transform)
                if self.exact:
                    build.split(f"exact=True rounds after {transform.name}")
            build.finish(pixels.as_planes)
            program = self._programs[pixels] = Program.of(build)
        return program

    def _key(self, sample_ids: Any, epoch: Any, generator: torch.Generator | None, count: int) -> Key:
        if sample_ids is None and epoch is None:
            return Key(new_seed(generator), np.arange(count), 0)
        if generator is not None and sample_ids is not None:
            raise ValueError("Compose: expected a generator only without sample_ids")
        if isinstance(epoch, torch.Tensor) and epoch.is_cuda:
            raise ValueError(
                "Compose: expected epoch as a number, since the host draws the parameters of this pipeline, "
                "but got a tensor on CUDA. A kernel draws them if one call runs all passes, the results have "
                "one size that does not depend on the images, no transform refuses images, and the program "
                "has at most about 190 rows"
            )
        if isinstance(epoch, torch.Tensor) and epoch.numel() == 1:
            epoch = epoch.item()
        epoch = 0 if epoch is None else whole("Compose", "epoch", epoch, 0, LARGEST_SEED)
        seed = self.seed if generator is None else new_seed(generator)
        return Key(seed, ids_of(sample_ids, count), epoch)

    def apply(self, plan: Any, batch: Any = None, *, out: Any = None) -> Any:
        """Apply a plan to images; see `orbbec.plan.apply`.

        With a function as the only argument, this is `torch.nn.Module.apply`.
        """
        if batch is None and callable(plan):
            return super().apply(plan)
        source = clips_of(batch) or Images(batch, len(plan))
        buffer = None if out is None else source.frames_of(out)
        result = apply_plan(plan, self._read(source.images), out=buffer)
        return source.restored(result) if out is None else out

    def _read(self, images: Any) -> Input:
        return read(images, *self._forms)

    def _moved(
        self, plan: Plan, targets: Sequence[Any], options: TargetOptions | None = None
    ) -> Sequence[Any]:
        """The targets of all images, moved by the plan."""
        return self._pure(transform_targets(plan, targets, options or self.target_options))

    def _pure(self, targets: _Targets) -> _Targets:
        """The targets without tv_tensors, if the pipeline makes those tensors."""
        if targets is not None and self._forms[1]:
            for target in targets:
                target.update({key: plain(value) for key, value in target.items()})
        return targets

    @outside_graphs
    def forward(
        self,
        batch: Any,
        targets: Any = None,
        sample_ids: Any = None,
        epoch: int | torch.Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
        out: Any = None,
    ) -> Any:
        """Plan and apply. Without `sample_ids` and `epoch`, each call draws new parameters.

        A tuple or a dict is one sample, as in torchvision: its images share their random parameters,
        `tv_tensors` and dicts with boxes, masks or points follow, and other entries are unchanged. MixUp and
        CutMix also mix the labels of a batch such as `(images, labels)`.

        Args:
            batch: uint8, uint16 or float: `[N, C, H, W]` or `[C, H, W]` tensor, `[H, W]`, `[H, W, C]` or
                `[N, H, W, C]` array, `ImageBatch`, `YCbCrBatch`, PIL image, `tv_tensors.Image`, or a list of
                variable-size images. Or clips, whose frames share their parameters: `[N, T, C, H, W]` tensor,
                `[N, T, H, W, C]` array, `ClipBatch`, `tv_tensors.Video`, or a list of these. Or tuples, lists
                and dicts that contain some.
            targets: one dict per image, or one dict for a single image; see `TargetOptions`. For clips, see
                `Clips.split`. Or one dict for a batch, whose entries are tensors `[N, ...]` or lists of N, as
                `orbbec.data.collate` makes them; results of one size are stacked, others listed. Anything
                else is treated like `(batch, targets)`.
            sample_ids: see `plan`; for a captured CUDA graph, an int64 tensor on the device of the images.
            epoch: see `plan`; or an int64 tensor of one number on the device of the images, which is read
                when parameters are drawn: a captured CUDA graph that adds 1 to it draws anew at each replay.
            generator: see `plan`.
            out: for images without targets, or with one dict per image: output buffer for results of one
                size, a tensor or an array of their shape and dtype that shares no memory with the images.
                An earlier result or an array of NumPy has huge pages on Linux, which `torch.empty` has not:
                it is faster from about 128 images of 224 pixels on.

        Returns:
            `out` if there is one. Otherwise images of the type of `batch`, except that PIL images that became
            floats are tensors `[C, H, W]`, and those of a list of arrays `[N, C, H, W]`. With `targets`,
            images and targets.

        Raises:
            TypeError: the images have an unsupported type, mode or dtype, or there are none.
            ValueError: an argument is invalid.
        """
        if targets is None and out is None:
            result = self._run(batch, sample_ids, epoch, generator)
            if result is not None:
                return result
        if is_structure(batch) or not are_targets(targets):
            structure = batch if targets is None else (batch, targets)
            if out is not None:
                raise TypeError("Compose: expected out= with images, but got a sample that contains some")
            return self._on_structure(structure, sample_ids, epoch, generator)
        source, inputs, direct = self._source(batch)
        key = self._key(sample_ids, epoch, generator, source.count).of_clips(source.frames)
        listed = None if targets is None else source.split(targets)
        was_tried = targets is None and out is None and source.images is batch
        buffer = None if out is None else source.frames_of(out)
        # Queued; then the host draws for the targets.
        images = None if was_tried else self._run(source.images, key=key, direct=direct, out=buffer)
        if listed is None and images is not None:
            return source.restored(images) if out is None else out
        changed = None if images is None or listed is None else self._direct_targets(inputs, key, listed)
        if images is None or changed is None:
            plan = self._plan_for(inputs, key, listed)
            changed = None if listed is None else self._moved(plan, listed)
            images = self._pass_by_pass(plan, source, inputs, buffer) if images is None else images
        images = source.restored(images) if out is None else out
        return images if changed is None else (images, source.joined(changed, targets))

    def _pass_by_pass(self, plan: Plan, source: Images, inputs: Input, out: Any = None) -> Any:
        return run_passes(plan, self._read(source.images) if inputs.work is None else inputs, out)

    def _source(self, images: Any) -> tuple[Images, Input, Direct | list[Direct] | None]:
        """Images or clips, and a description, with the images if a description alone would not do."""
        direct = direct_input(images, *self._forms)
        if direct is not None:
            return Images(images, direct[4]), description_of(direct), direct
        several = direct_list(images, self._forms[0])
        if several is not None:
            return Images(images, len(several)), list_description(several), several
        clips = clips_of(images)
        inputs = self._read(images if clips is None else clips.images)
        return Images(images, len(inputs.sizes)) if clips is None else clips, inputs, None

    def _on_structure(
        self, structure: Any, sample_ids: Any, epoch: Any, generator: torch.Generator | None
    ) -> Any:
        names, dense = self.images, self.target_options.dense
        images = named_images(structure, names) if names else images_of(structure, dense)
        sources, inputs, directs = zip(*map(self._source, images), strict=True)
        first = sources[0]
        for name, source in zip(names, sources, strict=False):
            if source.count != first.count:
                expected = f"{name} of {first.count} samples, as {names[0]}"
                raise ValueError(f"Compose: expected {expected}, but got {source.count}")
        key = self._key(sample_ids, epoch, generator, first.count)
        keys = [key.of_clips(each.frames) for each in sources]
        found = targets_of(structure, images, dense)
        targets = found[0] if len(found) == 1 else found
        dicts = first.split(targets) if found else []
        listed = targets_of_images(dicts, first.count * first.frames)
        ran = [
            self._run(each.images, key=one, direct=direct)
            for each, one, direct in zip(sources, keys, directs, strict=True)
        ]
        plan_of = cache(lambda index: self._plan_for(inputs[index], keys[index], listed))
        results = [
            each.restored(self._pass_by_pass(plan_of(n), each, inputs[n]) if ran[n] is None else ran[n])
            for n, each in enumerate(sources)
        ]
        replaced = {id(each): result for each, result in zip(images, results, strict=True)}
        has_plan = ran[0] is None
        labels = labels_of(structure, first.count) if has_plan and plan_of(0).mixes else None
        if labels is not None:
            replaced[id(labels)] = self._mixed_labels(plan_of(0), labels, first.frames)
        each = self._changed(inputs[0], keys[0], dicts, partial(plan_of, 0), has_plan)
        changed = first.joined(each, targets) if found else []
        rest = iter([changed] if len(found) == 1 else changed)
        return rebuilt(
            structure, replaced, lambda _: next(rest), lambda value: self._loose(plan_of(0), value), dense
        )

    def _changed(
        self, inputs: Input, key: Key, dicts: Sequence[Any], plan: Callable[[], Plan], has_plan: bool
    ) -> Sequence[Any]:
        """The targets of a batch, or those of one image, each by itself."""
        results: list[Any] = []
        for some in [[target] for target in dicts] if len(inputs.sizes) == 1 else [dicts] if dicts else []:
            direct = None if has_plan else self._direct_targets(inputs, key, some)
            results += self._moved(plan(), some) if direct is None else direct
        return results

    def _loose(self, plan: Plan, value: Any) -> Any:
        """Move a tv_tensor without a dict; all rows are kept, since labels elsewhere may belong to them."""
        if len(plan) != 1:
            raise ValueError(
                f"Compose: expected {type(value).__name__} of a batch in a dict for each image, "
                "but got it by itself"
            )
        key = name_of(value)
        options = replace(self.target_options, drop_boxes=False)
        return self._moved(plan, [{key: value}], options)[0][key]

    def _mixed_labels(self, plan: Plan, labels: Any, frames: int) -> Any:
        mixed = tensor_of(labels).repeat_interleave(frames, 0)
        for step in plan.passes:
            if isinstance(step.mix, MixPass) and "weights" in step.mix.table:
                mixed = blend_labels(step.mix, mixed)
        return mixed[::frames].numpy() if isinstance(labels, np.ndarray) else mixed[::frames]


def _others(transforms: Sequence[Any], epoch: int | None) -> Iterator[int]:
    for transform in transforms:
        epochs = getattr(transform, "epochs", None)
        has_epoch = epoch is None or epochs is None or epochs[0] <= epoch < epochs[1]
        each = (
            [transform.others] if transform.others else _others(getattr(transform, "transforms", ()), epoch)
        )
        yield from (others if has_epoch else 0 for others in each)
