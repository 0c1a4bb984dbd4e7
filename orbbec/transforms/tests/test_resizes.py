"""Resizes with every interpolation have the bytes of the operators, of cv2 and of Pillow."""

from enum import Enum

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")
Image = pytest.importorskip("PIL.Image")

import orbbec
from orbbec import transforms as T
from orbbec.data.decode.region import plan_for, regions_of
from orbbec.plan import apply
from tests.support import photograph

PHOTO = photograph(60, 80)
SMALL, LARGE = (23, 31), (90, 101)
OPENCV = {"cubic": cv2.INTER_CUBIC, "area": cv2.INTER_AREA, "lanczos4": cv2.INTER_LANCZOS4}
PILLOW = {
    **{"linear": Image.BILINEAR, "cubic": Image.BICUBIC, "lanczos4": Image.LANCZOS},
    **{"box": Image.BOX, "hamming": Image.HAMMING},
}


class InterpolationMode(Enum):
    """Like torchvision's."""

    BICUBIC = "bicubic"
    LANCZOS = "lanczos"


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", OPENCV)
def test_without_antialias_they_are_opencvs(name, size):
    result = T.Resize(size, name, antialias=False)(PHOTO)
    assert np.array_equal(result, orbbec.resize(PHOTO, size, interpolation=name))
    if name == "area":
        assert np.array_equal(result, cv2.resize(PHOTO, size[::-1], interpolation=cv2.INTER_AREA))


@pytest.mark.parametrize("size", [SMALL, LARGE])
@pytest.mark.parametrize("name", PILLOW)
def test_with_antialias_they_are_pillows(name, size):
    result = T.Resize(size, name)(Image.fromarray(PHOTO))
    expected = Image.fromarray(PHOTO).resize(size[::-1], PILLOW[name])
    assert np.array_equal(np.asarray(result), np.asarray(expected))


@pytest.mark.parametrize("name", [*PILLOW, "area"])
def test_crops_are_those_of_pillow_and_opencv(name):
    plan = T.Compose([T.RandomResizedCrop(24, interpolation=name)]).plan([PHOTO.shape[:2]], epoch=4)
    box = plan.passes[0].table["boxes"][0].tolist()
    result = apply(plan, PHOTO)
    if name == "area":
        left, top, right, bottom = map(int, box)
        expected = cv2.resize(PHOTO[top:bottom, left:right], (24, 24), interpolation=cv2.INTER_AREA)
    else:
        expected = np.asarray(Image.fromarray(PHOTO).resize((24, 24), PILLOW[name], box=box))
    assert np.array_equal(result, expected)


@pytest.mark.parametrize("name", PILLOW)
def test_parts_that_are_decoded_alone_hold_all_that_a_filter_reads(name):
    crop = T.Compose([T.RandomResizedCrop(9, (0.05, 0.1), interpolation=name)])
    for epoch in range(20):
        plan = crop.plan([PHOTO.shape[:2]], epoch=epoch)
        regions = regions_of(plan)
        if regions is None:
            continue
        (left, top, right, bottom), _ = regions[0]
        part = np.ascontiguousarray(PHOTO[top:bottom, left:right])
        assert np.array_equal(apply(plan_for(plan, regions), part), apply(plan, PHOTO))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        *[("bicubic", "cubic"), ("lanczos", "lanczos4"), ("bilinear", "linear")],
        *[(InterpolationMode.BICUBIC, "cubic"), (InterpolationMode.LANCZOS, "lanczos4")],
        *[(Image.Resampling.BICUBIC, "cubic"), (Image.Resampling.LANCZOS, "lanczos4")],
        *[(Image.Resampling.BOX, "box"), (Image.Resampling.NEAREST, "nearest")],
        *[(cv2.INTER_CUBIC, "cubic"), (cv2.INTER_AREA, "area"), (cv2.INTER_LANCZOS4, "lanczos4")],
        *[(cv2.INTER_LINEAR, "linear"), (cv2.INTER_NEAREST_EXACT, "nearest_exact")],
    ],
)
def test_names_of_other_libraries(given, name):
    for transform in (
        T.Resize(9, given),
        T.RandomResizedCrop(9, interpolation=given),
        T.ScaleJitter((9, 9), (1, 2), given),
    ):
        assert transform.interpolation == name


@pytest.mark.parametrize("interpolation", ["cubic hermite", 7, 17, None, True, 1.0])
def test_an_unknown_interpolation_is_named(interpolation):
    with pytest.raises(
        (ValueError, TypeError), match="Resize: expected interpolation as one of nearest, linear"
    ):
        T.Resize(9, interpolation)


def test_a_filter_of_pillows_needs_antialias():
    with pytest.raises(ValueError, match="expected antialias=True with interpolation hamming"):
        T.Resize(9, "hamming", antialias=False)


@pytest.mark.parametrize("name", ["cubic", "area", "lanczos4"])
def test_letterboxes_resize_in_a_pass_of_their_own(name):
    result = T.Letterbox((40, 60), fill=7, interpolation=name)(PHOTO)
    inner = orbbec.resize(PHOTO, (40, 53), interpolation=name)
    assert np.array_equal(result[:, 3:56], inner)
    assert (result[:, :3] == 7).all()
    assert (result[:, 56:] == 7).all()


def test_the_plan_says_why_a_resize_is_not_fused():
    pipeline = T.Compose([T.Resize(SMALL, "cubic", antialias=False), T.ToDtype(torch.float32, scale=True)])
    assert "because resized_crop reads 16 pixels" in str(pipeline.plan([(60, 80)], epoch=0))


SEVERAL = ("linear", "cubic", "lanczos4")


@pytest.mark.parametrize(("given", "names"), [("random", SEVERAL[:2]), (["bilinear", 2, "lanczos"], SEVERAL)])
def test_one_of_several_interpolations_is_drawn_for_each_image(given, names):
    crop = T.RandomResizedCrop(24, interpolation=given)
    assert crop.interpolation == names
    plan = T.Compose([crop]).plan([PHOTO.shape[:2]] * 60, epoch=1)
    table = plan.passes[0].table
    assert f"resized_crop draws {' or '.join(names)} per image" in str(plan)
    assert set(table["which"].tolist()) == set(range(len(names)))
    alone = T.Compose([T.RandomResizedCrop(24)]).plan([PHOTO.shape[:2]] * 60, epoch=1)
    assert np.array_equal(table["boxes"], alone.passes[0].table["boxes"])
    results = apply(plan, np.stack([PHOTO] * 60))
    for result, box, which in zip(results, table["boxes"].tolist(), table["which"].tolist(), strict=True):
        expected = Image.fromarray(PHOTO).resize((24, 24), PILLOW[names[which]], box=box)
        assert np.array_equal(result, np.asarray(expected))


def test_several_interpolations_are_drawn_equally_often_and_by_sample_id():
    crop = T.Compose([T.RandomResizedCrop(4, interpolation="random")])
    which = crop.plan([(8, 8)] * 4000, epoch=0).passes[0].table["which"]
    assert abs(which.mean() - 0.5) < 4 * 0.5 / 4000**0.5  # 4 deviations
    some = crop.plan([(8, 8)] * 3, sample_ids=[70, 2, 999], epoch=0).passes[0].table["which"]
    assert some.tolist() == which[[70, 2, 999]].tolist()


@pytest.mark.parametrize("antialias", [True, False])
def test_several_interpolations_of_images_of_every_kind(antialias):
    photos = [photograph(40, 63), photograph(63, 40), photograph(50, 50), photograph(40, 63)] * 3
    names = SEVERAL if antialias else ("linear", "area", "nearest", "cubic")
    pipeline = [T.RandomResizedCrop(16, interpolation=names, antialias=antialias), T.RandomHorizontalFlip()]
    pipeline = T.Compose([*pipeline, T.ToDtype("float32", True)])
    assert T.Compose.from_json(pipeline.to_json()) == pipeline
    tensors = [torch.from_numpy(photo).permute(2, 0, 1) for photo in photos]
    for images in (tensors, [tensor / 255 for tensor in tensors]):
        together = pipeline(images, epoch=3)
        for n, image in enumerate(images):
            assert torch.equal(together[n], pipeline(image, sample_ids=[n], epoch=3))
    assert pipeline(torch.zeros(0, 3, 9, 9, dtype=torch.uint8)).shape == (0, 3, 16, 16)


def test_images_that_are_not_chosen_keep_their_size_among_several_interpolations():
    crop = T.RandomApply([T.RandomResizedCrop(16, interpolation="random")], 0.5)
    results = crop(orbbec.ImageBatch.from_images([PHOTO] * 20), epoch=0)
    kept = [np.array_equal(image, PHOTO) for image in results.numpy()]
    assert 0 < sum(kept) < 20
    assert all(
        image.shape == (16, 16, 3) for image, same in zip(results.numpy(), kept, strict=True) if not same
    )


def test_parts_that_are_decoded_alone_hold_what_each_of_several_filters_reads():
    crop = T.Compose([T.RandomResizedCrop(9, (0.05, 0.1), interpolation=SEVERAL)])
    plan = crop.plan([PHOTO.shape[:2]] * 20, epoch=0)
    regions = regions_of(plan)
    photos = [
        PHOTO[top:bottom, left:right] for (left, top, right, bottom), _ in map(regions.__getitem__, range(20))
    ]
    parts = orbbec.ImageBatch.from_images([np.ascontiguousarray(photo) for photo in photos])
    whole = apply(plan, np.stack([PHOTO] * 20))
    assert np.array_equal(apply(plan_for(plan, regions), parts).permute(0, 2, 3, 1).numpy(), whole)


@pytest.mark.parametrize(
    ("interpolation", "antialias"),
    [
        ([], True),
        (("nearest", "cubic"), True),
        (("area", "cubic"), True),
        (("box", "cubic"), False),
        (("x",), True),
    ],
)
def test_several_interpolations_that_do_not_go_together(interpolation, antialias):
    with pytest.raises(ValueError, match="RandomResizedCrop: expected "):
        T.RandomResizedCrop(9, interpolation=interpolation, antialias=antialias)


def test_a_resize_that_draws_nothing_takes_one_interpolation():
    for several in ("random", ("linear", "cubic")):
        with pytest.raises((ValueError, TypeError), match="Resize: expected interpolation as one of nearest"):
            T.Resize(9, several)


def test_results_of_several_interpolations_lie_as_their_images():
    crop = T.RandomResizedCrop(9, interpolation="random")
    images = torch.from_numpy(np.stack([PHOTO] * 8)).permute(0, 3, 1, 2)
    results = crop(images, epoch=0)
    assert results.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(crop(images.contiguous(), epoch=0), results)


def test_several_interpolations_have_gradients():
    images = torch.rand(8, 3, 20, 30, requires_grad=True)
    T.RandomResizedCrop(9, (0.9, 1.0), interpolation="random")(images, epoch=0).sum().backward()
    assert torch.allclose(images.grad.sum((1, 2, 3)), torch.full((8,), 3.0 * 81), atol=0.01)


def test_the_longer_side_alone_is_set():
    resize = T.Resize(None, max_size=20)
    images = [np.zeros((*size, 3), np.uint8) for size in ((10, 40), (41, 30), (5, 5), (200, 3))]
    assert resize(images).sizes.tolist() == [[5, 20], [20, 14], [20, 20], [20, 1]]
    assert (resize(PHOTO) == T.Resize((15, 20))(PHOTO)).all()
    assert T.Compose.from_json(T.Compose([resize]).to_json()) == T.Compose([resize])
    with pytest.raises(
        TypeError, match="Resize: expected max_size as a whole number from 1 to 1073741824, but got None"
    ):
        T.Resize(None)
