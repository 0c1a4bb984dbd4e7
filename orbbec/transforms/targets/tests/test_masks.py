"""Masks of a batch: one launch, the same values as for single images, every dtype bit for bit."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.targets import motion
from tests.support import assert_same_bytes

SIZES = [(20, 30), (33, 17), (21, 21)]
TURN = T.RandomAffine(30, (0.1, 0.1), (0.7, 1.3), interpolation="linear")
BEND = T.ElasticTransform(20.0, 3.0)
CROP = T.RandomResizedCrop(16, antialias=False)
DTYPES = (np.bool_, np.uint8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64)


def mask_of(size, dtype, seed, count=None):
    shape = size if count is None else (count, *size)
    values = np.random.default_rng(seed).integers(0, 2**15 if dtype == np.float16 else 2**62, shape)
    return (values % 2 == 1) if dtype == np.bool_ else values.astype(dtype)


def targets_of(dtype):
    return [
        {"masks": mask_of(size, dtype, n, n), "mask": mask_of(size, dtype, 9 + n)}
        for n, size in enumerate(SIZES)
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pipeline", [[CROP], [TURN], [T.Resize(9), TURN], [BEND, CROP]])
def test_masks_of_a_batch_are_those_of_each_image(dtype, pipeline):
    compose = T.Compose(pipeline, seed=4, target_options=T.TargetOptions(mask_fill=1.0))
    targets, ids = targets_of(dtype), np.array([5, 6, 7])
    together = T.transform_targets(compose.plan(SIZES, ids), targets, compose.target_options)
    for n, target in enumerate(targets):
        plan = compose.plan(SIZES[n : n + 1], ids[n : n + 1])
        (alone,) = T.transform_targets(plan, [target], compose.target_options)
        for key in ("masks", "mask"):
            assert together[n][key].dtype == dtype
            assert_same_bytes(together[n][key], alone[key])
            known = {*np.unique(target[key]).tolist(), np.array(1).astype(dtype).item()}
            assert set(np.unique(together[n][key]).tolist()) <= known


def test_a_crop_copies_masks_to_the_last_bit(device):
    values = torch.from_numpy(mask_of((2, 20, 30), np.int64, 3))
    plan = T.Compose([T.CenterCrop((10, 12)), T.RandomHorizontalFlip(1.0)]).plan([(20, 30)], epoch=0)
    (moved,) = T.transform_targets(plan, [{"masks": device.put(values)}])
    assert_same_bytes(moved["masks"].cpu(), values[:, 5:15, 9:21].flip(2).contiguous())


@pytest.mark.parametrize(
    ("pipeline", "launches"), [([CROP, TURN], 1), ([CROP, T.Pad(1, 7), TURN], 2), ([TURN], 1)]
)
def test_masks_move_in_one_launch_a_pass(monkeypatch, pipeline, launches):
    calls = []
    warp = motion.warp_masks
    monkeypatch.setattr(motion, "warp_masks", lambda *a, **k: calls.append(1) or warp(*a, **k))
    targets = [{"masks": mask_of(size, np.uint8, 1, 4), "mask": mask_of(size, np.uint8, 2)} for size in SIZES]
    T.transform_targets(T.Compose(pipeline).plan(SIZES, epoch=0), targets)
    assert len(calls) == launches


def test_images_without_masks_beside_others():
    plan = T.Compose([CROP]).plan(SIZES, epoch=0)
    targets = [{}, {"masks": np.zeros((0, 33, 17), bool)}, {"mask": mask_of((21, 21), np.uint8, 0)}]
    first, second, third = T.transform_targets(plan, targets)
    assert first == {}
    assert second["masks"].shape == (0, 16, 16)
    assert third["mask"].shape == (16, 16)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("seen", [None, [[2, 1, 19, 12], [0, 0, 17, 30], [5, 5, 6, 9]]], ids=["all", "parts"])
def test_one_buffer_as_on_cuda_gives_the_masks_that_are_read_in_place(dtype, seen):
    rng = np.random.default_rng(1)
    matrices = np.tile(np.eye(3), (3, 1, 1)) + rng.uniform(-0.2, 0.2, (3, 3, 3)) * [[1], [1], [0.01]]
    sizes = np.array([(9, 7), (9, 7), (14, 5)])
    parts = None if seen is None else np.array(seen)
    moves = motion.Motion(matrices, sizes, "reflect", seen=parts)
    values = [torch.from_numpy(mask_of(size, np.int64, n, 2)).to(dtype) for n, size in enumerate(SIZES)]
    fill = torch.tensor([3], dtype=dtype).view(torch.uint8).tolist()
    masks = motion.Masks([*values, values[1]], [0, 1, 2, 1], fill)
    in_place = moves.move_masks(masks)
    in_one_buffer = motion._by_size(masks, sizes, moves._launched)
    assert [tuple(each.shape) for each in in_place] == [(2, 9, 7), (2, 9, 7), (2, 14, 5), (2, 9, 7)]
    for one, other in zip(in_place, in_one_buffer, strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize(
    ("dtype", "fill"), [(torch.uint8, -100), (torch.uint8, 300), (torch.int8, 255), (torch.uint16, -1)]
)
@pytest.mark.parametrize("other", [{}, {"polygons": []}], ids=["direct", "plan"])
def test_a_fill_that_a_dtype_cannot_hold_is_refused(dtype, fill, other):
    pad = T.Compose([T.Pad(1)], target_options=T.TargetOptions(mask_fill=fill))
    image, masks = torch.zeros(3, 4, 6, dtype=torch.uint8), torch.zeros(4, 6, dtype=torch.int64)
    assert pad(image, {"mask": masks, **other})[1]["mask"][0, 0] == fill
    with pytest.raises(ValueError, match=rf"fill of masks from .* as u?int\d+ holds, but got {fill}"):
        pad(image, {"mask": masks.to(dtype), **other})
