"""Crops, shifts and resizes whose sides are computed per image: against OpenCV and NumPy."""

import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from tests.support import assert_same_bytes, photograph
from tests.support.registers import Registers

cv2 = pytest.importorskip("cv2")
IMAGE = photograph(40, 52)
FILL = (9.0, 99.0, 200.0)
SIZES = [(40, 52), (33, 90), (57, 21), (1, 7), (300, 200)]


def result_of(transform, image=IMAGE, exact=False):
    return T.Compose([transform], seed=3, exact=exact)(image, epoch=0)


def boxes_of(transform, sizes):
    """Left, top, width and height of what `crop_to` shows: float64 `[N, 4]`."""
    return Registers(transform.rules, sizes, seed=3).of("crop_to", 0, 4)[0]


def sizes_of(transform, sizes):
    return T.Compose([transform], seed=3).plan(sizes, epoch=0).output_sizes.tolist()


def cut(image, box, border, fill=0.0):
    """A rectangle that may reach beyond the image, by `cv2.copyMakeBorder`."""
    left, top, width, height = box.astype(int)
    margin = 100
    whole = cv2.copyMakeBorder(image, *[margin] * 4, border, value=fill)
    return whole[top + margin : top + margin + height, left + margin : left + margin + width]


@pytest.mark.parametrize("exact", [False, True])
def test_a_shift_is_a_crop_of_the_padded_image(exact):
    modes = {"edge": cv2.BORDER_REPLICATE, "constant": cv2.BORDER_CONSTANT, "reflect": cv2.BORDER_REFLECT_101}
    for seed, (mode, border) in enumerate(modes.items()):
        transform = T.RandomShift((9, 3 + seed), FILL, mode)
        (box,) = boxes_of(transform, [IMAGE.shape[:2]])
        assert_same_bytes(result_of(transform, exact=exact), cut(IMAGE, box, border, FILL))


def test_shifts_are_drawn_evenly():
    boxes = boxes_of(T.RandomShift((2, 4)), [(40, 52)] * 4500)
    assert (boxes[:, 2:] == (52, 40)).all()
    for values, most in zip(boxes.T, (2, 4), strict=False):
        counts = np.unique(values, return_counts=True)
        assert counts[0].tolist() == list(range(-most, most + 1))
        assert np.abs(counts[1] - 4500 / (2 * most + 1)).max() < 150  # five deviations


def test_shifts_move_boxes_and_keep_the_size():
    transform = T.RandomShift((9, 5), padding_mode="constant")
    (box,) = boxes_of(transform, [IMAGE.shape[:2]])
    target = {"boxes": np.array([[20.0, 15.0, 30.0, 25.0]])}
    image, (moved,) = T.Compose([transform], seed=3)(IMAGE[None], [target], epoch=0)
    assert image.shape == (1, 40, 52, 3)
    assert moved["boxes"].tolist() == (target["boxes"] - np.tile(box[:2], 2)).tolist()


@pytest.mark.parametrize("options", [{"px_range": (-9, 12)}, {"percent_range": (-0.3, 0.25)}])
def test_crop_and_pad_is_a_crop_of_the_padded_image(options):
    for mode, border in (("constant", cv2.BORDER_CONSTANT), ("edge", cv2.BORDER_REPLICATE)):
        transform = T.CropAndPad(**options, keep_size=False, fill=FILL, padding_mode=mode, p=1.0)
        (box,) = boxes_of(transform, [IMAGE.shape[:2]])
        assert_same_bytes(result_of(transform), cut(IMAGE, box, border, FILL))


def test_crop_and_pad_draws_sides_by_themselves_or_together():
    sizes = [(40, 52)] * 2000
    for together in (False, True):
        transform = T.CropAndPad(px_range=(-4, 6), keep_size=False, sample_independently=not together, p=1.0)
        left, top, width, height = boxes_of(transform, sizes).T
        sides = np.stack([-left, -top, width - 52 + left, height - 40 + top], 1)
        assert set(sides.flatten()) == set(range(-4, 7))
        assert (sides == sides[:, :1]).all() == together
    amounts = boxes_of(T.CropAndPad((-0.25, 0.1), keep_size=False, p=1.0), sizes)[:, 1]
    assert (amounts.min(), amounts.max()) == (-3, 9)  # below 4 and 10: rounded towards 0


def test_crop_and_pad_resizes_to_the_size_of_the_image():
    transform = T.CropAndPad((-0.4, -0.1), p=1.0)
    (box,) = boxes_of(transform, [IMAGE.shape[:2]])
    part = np.ascontiguousarray(cut(IMAGE, box, cv2.BORDER_CONSTANT))
    exact = result_of(transform, exact=True)
    assert_same_bytes(exact, cv2.resize(part, (52, 40), interpolation=cv2.INTER_LINEAR))
    assert result_of(transform).shape == IMAGE.shape
    assert np.abs(result_of(transform)[2:-2, 2:-2].astype(int) - exact[2:-2, 2:-2]).max() <= 1


def test_at_least_a_pixel_is_left():
    assert result_of(T.CropAndPad((-1.0, -1.0), keep_size=False, p=1.0)).shape == (1, 1, 3)


def test_each_side_has_a_range_of_its_own():
    ranges = ((-3, -1), (2, 4), (0, 0), (5, 9))
    for together in (False, True):
        transform = T.CropAndPad(px_range=ranges, keep_size=False, sample_independently=not together, p=1.0)
        left, top, width, height = boxes_of(transform, [(40, 52)] * 1000).T
        sides = -left, -top, width - 52 + left, height - 40 + top
        assert [(int(side.min()), int(side.max())) for side in sides] == list(ranges)


def test_crops_from_borders_are_slices_of_all_positions():
    transform = T.RandomCropFromBorders(0.25, 0.1, 0.0, 0.5)
    left, top, width, height = boxes_of(transform, [(40, 60)] * 4000).T
    assert set(left) == set(range(16))
    assert set(left + width) == set(range(54, 61))
    assert (top == 0).all()
    assert set(height) == set(range(20, 41))
    (box,) = boxes_of(transform, [IMAGE.shape[:2]])
    assert_same_bytes(result_of(transform), cut(IMAGE, box, cv2.BORDER_CONSTANT))
    least = boxes_of(T.RandomCropFromBorders(1.0, 0.0, 0.4, 0.6), [(1, 1), (7, 9)] * 500)
    assert (least[:, 2:] >= 1).all()
    assert (least[:, :2] >= 0).all()


def test_what_is_not_chosen_is_not_changed():
    for transform in (T.CropAndPad((-0.4, -0.1), p=0.0), T.CropAndPad(px_range=9, keep_size=False, p=0.0)):
        assert_same_bytes(result_of(transform), IMAGE)


@pytest.mark.parametrize(
    ("interpolation", "flag"), [("linear", "INTER_LINEAR"), ("nearest", "INTER_NEAREST")]
)
def test_a_sized_crop_is_the_crop_resized(interpolation, flag):
    transform = T.RandomSizedCrop((12, 30), (21, 35), 0.8, interpolation, antialias=False)
    (box,) = boxes_of(transform, [IMAGE.shape[:2]])
    part = np.ascontiguousarray(cut(IMAGE, box, cv2.BORDER_CONSTANT))
    wanted = cv2.resize(part, (35, 21), interpolation=getattr(cv2, flag))
    assert_same_bytes(result_of(transform, exact=True), wanted)


def test_sized_crops_have_their_heights_and_lie_within():
    boxes = boxes_of(T.RandomSizedCrop((12, 14), 10, 1.5), [(40, 52)] * 3000)
    left, top, width, height = boxes.T
    assert set(zip(height, width, strict=True)) == {(12, 18), (13, 19), (14, 21)}
    assert left.min() == top.min() == 0
    assert ((left + width).max(), (top + height).max()) == (52, 40)
    assert boxes_of(T.RandomSizedCrop((90, 90), 10, 1.5), [(40, 52)]).tolist() == [[0, 0, 52, 40]]


def keep_ratio(size, target, longest=0.0, factors=(1.0, 1.0)):
    """The rule of timm."""
    ratios = [side / wanted for side, wanted in zip(size, target, strict=True)]
    ratio = max(ratios) * longest + min(ratios) * (1 - longest)
    return [max(1, round(side * factor / ratio)) for side, factor in zip(size, factors, strict=True)]


@pytest.mark.parametrize("longest", [0.0, 0.3, 1.0])
def test_keep_ratio_has_the_sizes_of_timm(longest):
    wanted = [keep_ratio(size, (21, 30), longest) for size in SIZES]
    assert sizes_of(T.ResizeKeepRatio((21, 30), longest), SIZES) == wanted


def test_keep_ratio_scales_and_stretches():
    sizes = [(400, 400)] * 2000
    scaled = np.array(sizes_of(T.ResizeKeepRatio(200, scale_range=(0.5, 2.0), scale_p=0.5), sizes))
    assert (scaled[:, 0] == scaled[:, 1]).all()
    assert abs((scaled[:, 0] == 200).mean() - 0.5) < 0.06
    assert (scaled.min(), scaled.max()) == (100, 400)
    stretched = np.array(sizes_of(T.ResizeKeepRatio(200, aspect_range=(0.5, 2.0), aspect_p=1.0), sizes))
    aspects = np.log2(stretched[:, 1] / stretched[:, 0])
    assert np.abs(stretched.prod(1) / 40000 - 1).max() < 0.01
    assert abs(aspects.mean()) < 0.05
    assert abs(aspects.std() - 2 / 12**0.5) < 0.03  # uniform from -1 to 1


def depth_anything(size, target, multiple, covers):
    """The rule of its Resize, with keep_aspect_ratio."""
    scales = [wanted / side for side, wanted in zip(size, target, strict=True)]
    scale = max(scales) if covers else min(scales)
    sides = []
    for side, wanted in zip(size, target, strict=True):
        x = scale * side / multiple
        count = int(np.round(x))
        if covers and count * multiple < wanted:
            count = int(np.ceil(x))
        if not covers and count * multiple > wanted:
            count = int(np.floor(x))
        sides.append(max(1, count) * multiple)
    return sides


@pytest.mark.parametrize("mode", ["lower_bound", "upper_bound"])
@pytest.mark.parametrize(
    ("target", "multiple"), [((518, 518), 14), ((100, 130), 14), ((33, 40), 1), ((20, 9), 32)]
)
def test_multiples_are_those_of_depth_anything(target, multiple, mode):
    sizes = [*SIZES, (518, 518), (480, 640), (517, 519), (14, 14), (1000, 3)]
    wanted = [depth_anything(size, target, multiple, mode == "lower_bound") for size in sizes]
    assert sizes_of(T.ResizeToMultiple(target, multiple, mode), sizes) == wanted


@pytest.mark.parametrize(("height", "max_width"), [(48, 320), (20, 30), (7, None), (1, 1)])
def test_lines_have_the_widths_of_paddleocr(height, max_width):
    sizes = [*SIZES, (48, 320), (47, 320), (3, 1000), (1000, 3), (30, 41)]
    wanted = [[height, min(math.ceil(height * (w / h)), max_width or 1 << 30)] for h, w in sizes]
    assert sizes_of(T.ResizeToHeight(height, max_width), sizes) == wanted


@pytest.mark.parametrize("channels_last", [False, True])
def test_narrow_lines_end_in_their_fill(channels_last):
    random = torch.Generator().manual_seed(0)
    layout = torch.channels_last if channels_last else torch.contiguous_format
    images = torch.randint(0, 256, (4, 3, 20, 31), dtype=torch.uint8, generator=random)
    images = images.contiguous(memory_format=layout)
    end = [T.ToDtype(torch.float32, scale=True), T.Normalize((0.5,) * 3, (0.25, 0.5, 1.0))]
    filled = T.Compose([T.ResizeToHeight(48, 320, antialias=False, fill=(127.5, 0, 255)), *end])(images)
    expected = T.Compose([T.ResizeToHeight(48, 320, antialias=False), *end])(images)
    assert expected.shape == (4, 3, 48, 75)
    assert (filled[..., :75] - expected).abs().max() < 1e-5  # 6.9e-6, as the matrices differ in the last bits
    fill = torch.tensor([0.0, -1.0, 0.5])[:, None, None].expand(4, 3, 48, 245)
    assert torch.equal(filled[..., 75:], fill)
    bytes_only = T.ResizeToHeight(48, 320, antialias=False, fill=9)(images)
    assert bytes_only.shape == (4, 3, 48, 320)
    assert bool((bytes_only[..., 75:] == 9).all())


def test_multiples_are_resized_as_by_opencv():
    transform = T.ResizeToMultiple(56, 14)
    wanted = cv2.resize(IMAGE, (70, 56), interpolation=cv2.INTER_CUBIC)
    assert np.abs(result_of(transform).astype(int) - wanted).max() <= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.RandomShift(-1), "RandomShift: expected max_shift as a whole number from 0 to 1073741824"),
        (lambda: T.RandomShift((1, 2, 3)), "max_shift as a number or"),
        (lambda: T.CropAndPad((-2.0, 0.0)), "CropAndPad: expected percent_range as .* of at least -1"),
        (lambda: T.CropAndPad(px_range=((1, 2), (3, 1), 4, 5)), "px_range as .* in order"),
        (lambda: T.RandomCropFromBorders(0.7, 0.4), "crop_left and crop_right of at most 1 together"),
        (lambda: T.CropAndPad(px_range=(3, 1)), "px_range as .* in order"),
        (lambda: T.RandomSizedCrop((0, 5), 8), "RandomSizedCrop: expected min_max_height as .* from 1"),
        (lambda: T.RandomSizedCrop((4, 5), 8, 0.0), "w2h_ratio as a number"),
        (lambda: T.ResizeKeepRatio(8, 2.0), "ResizeKeepRatio: expected longest as a number from 0 to 1"),
        (lambda: T.ResizeKeepRatio(8, scale_range=(0.0, 1.0)), "scale_range as"),
        (lambda: T.ResizeToHeight(8, 9, fill="a"), "ResizeToHeight: expected fill as"),
        (lambda: T.ResizeToMultiple(8, 0), "ResizeToMultiple: expected multiple as a whole number from 1"),
        (lambda: T.ResizeToMultiple(8, mode="minimal"), "mode as one of lower_bound, upper_bound"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
