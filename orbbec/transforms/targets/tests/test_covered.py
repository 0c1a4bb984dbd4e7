"""The operators on masks of objects: what is covered leaves masks and boxes."""

import pytest
import torch

from orbbec import transforms as T
from orbbec._library import operators

MASKS = torch.tensor(
    [
        [[0, 0, 0, 0], [0, 7, 7, 0], [0, 7, 7, 0]],
        [[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
        [[0, 0, 0, 9], [0, 0, 0, 0], [0, 0, 0, 0]],
    ],
    dtype=torch.uint8,
)
COVER = torch.tensor([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], dtype=torch.bool)
# left, top, right, bottom, visible part, scale, whether the box is kept
BOXES = torch.tensor(
    [[1, 1, 3, 3, 0.5, 2, 1], [0, 0, 1, 1, 1, 1, 1], [2.5, 0, 4, 1.5, 1, 1, 1]], dtype=torch.float64
)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bool])
def test_boxes_bound_what_is_left_of_covered_masks(dtype):
    left, boxes = operators.cover_masks(MASKS.to(dtype), COVER, BOXES, [0.0, 0.0, 0.0])
    assert left.dtype == dtype
    assert left.equal(MASKS.to(dtype).masked_fill(COVER, 0))
    assert boxes.tolist() == [
        [2, 1, 3, 3, 0.25, 2, 1],  # half of its pixels
        [0, 0, 0, 0, 0, 1, 0],  # none
        [2.5, 0, 4, 1.5, 1, 1, 1],  # lost nothing
    ]


@pytest.mark.parametrize(
    ("limits", "keep"),
    [
        ([], [1, 1, 1]),
        ([0.3, 0.0, 0.0], [0, 0, 1]),  # visible part
        ([0.0, 1.5, 0.0], [0, 0, 1]),  # side: of boxes whose masks lost pixels
        ([0.0, 0.0, 2.0], [1, 0, 1]),  # area
        ([0.0, 0.0, 2.1], [0, 0, 1]),
    ],
)
def test_boxes_with_too_little_left_are_dropped(limits, keep):
    assert operators.cover_masks(MASKS, COVER, BOXES, limits)[1][:, -1].tolist() == keep


def test_large_masks_are_counted_as_torch_counts_them():
    generator = torch.Generator().manual_seed(0)
    masks = torch.randint(0, 3, (4, 70, 143), generator=generator, dtype=torch.uint8)
    cover = torch.rand(70, 143, generator=generator) < 0.9
    masks[1, :, :40] = masks[2, 50:] = masks[3] = 0
    boxes = torch.tensor([[0.0, 0, 143, 70, 1, 1, 1]], dtype=torch.float64).repeat(4, 1)
    left, fitted = operators.cover_masks(masks, cover, boxes, [0.0, 0.0, 0.0])
    expected = masks.masked_fill(cover, 0)
    assert left.equal(expected)
    for before, after, box in zip(masks, expected, fitted.tolist(), strict=True):
        rows, columns = (after.any(dim).nonzero()[:, 0].tolist() for dim in (1, 0))
        if rows:
            assert box[:4] == [columns[0], rows[0], columns[-1] + 1, rows[-1] + 1]
            assert box[4] == int(after.count_nonzero()) / int(before.count_nonzero())
        else:
            assert box == [0.0, 0, 143, 70, 1, 1, 1]  # it had no pixel to lose


def test_masks_of_some_rows_are_joined():
    assert operators.join_masks(MASKS, [0, 2]).equal(MASKS[[0, 2]].bool().any(0))
    assert not operators.join_masks(MASKS, []).any()
    assert operators.join_masks(MASKS.bool(), [1]).equal(MASKS[1].bool())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: operators.cover_masks(MASKS[0], COVER, BOXES, []), "expected masks of shape"),
        (lambda: operators.cover_masks(MASKS.int(), COVER, BOXES, []), "masks as contiguous uint8 or bool"),
        (lambda: operators.cover_masks(MASKS, COVER.mT, BOXES, []), "cover as contiguous uint8 or bool"),
        (lambda: operators.cover_masks(MASKS, COVER[1:], BOXES, []), "expected cover of shape"),
        (lambda: operators.cover_masks(MASKS, COVER, BOXES[:2], []), "expected boxes of shape"),
        (lambda: operators.cover_masks(MASKS, COVER, BOXES, [1.0]), "expected limits as 0 or 3 numbers"),
        (lambda: operators.join_masks(MASKS, [3]), "expected rows from 0 to 2, but got 3"),
        (lambda: operators.join_masks(MASKS.float(), [0]), "masks as contiguous uint8 or bool"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rotated_boxes_of_covered_masks_are_refused():
    mask = torch.ones(1, 8, 8, dtype=torch.bool)
    target = {"boxes": torch.tensor([[4.0, 4, 6, 6, 0]]), "masks": mask, "mask": mask[0].long()}
    options = T.TargetOptions(box_format="cxcywha")
    pipeline = T.Compose([T.MaskDropout(p=1.0)], target_options=options)
    with pytest.raises(ValueError, match=r"expected upright boxes, .* but image 0 has cxcywha"):
        pipeline(torch.zeros(3, 8, 8, dtype=torch.uint8), target, epoch=0)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64])
@pytest.mark.parametrize("transform", [T.CopyPaste(), T.MaskDropout(1, p=1.0)])
def test_masks_of_unsigned_numbers_are_covered_as_others(transform, dtype):
    images = torch.zeros(2, 3, 3, 4, dtype=torch.uint8)
    boxes = torch.tensor([[1.0, 1, 3, 3], [0, 0, 1, 1], [3, 0, 4, 1]])

    def masks_as(dtype):
        targets = [{"boxes": boxes, "masks": MASKS.to(dtype), "mask": MASKS[0].to(dtype)}] * 2
        _, moved = T.Compose([transform])(images, targets, sample_ids=[0, 1])
        return [target[key] for target in moved for key in ("masks", "mask")]

    for masks, expected in zip(masks_as(dtype), masks_as(torch.uint8), strict=True):
        assert masks.dtype == dtype
        assert masks.tolist() == expected.tolist()


@pytest.mark.parametrize("transform", [T.CopyPaste(), T.CutMix(), T.MaskDropout(1, p=1.0)])
def test_no_points_are_covered(transform):
    images = torch.zeros(2, 3, 3, 4, dtype=torch.uint8)
    some = {"boxes": BOXES[:, :4], "masks": MASKS, "keypoints": torch.ones(3, 17, 3)}
    none = {"boxes": BOXES[:0, :4], "masks": MASKS[:0], "keypoints": torch.zeros(0)}
    _, moved = T.Compose([transform])(images, [some, none], sample_ids=[0, 1])
    assert all(len(target["keypoints"]) == len(target["boxes"]) for target in moved)
