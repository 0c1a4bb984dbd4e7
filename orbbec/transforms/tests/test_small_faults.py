"""Tests for faults that `make mutate` found untested."""

import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.augment.codes import PLACED, STEPS
from orbbec.plan.points import forward_of, rotated_boxes, rotated_corners, through_displacement
from orbbec.plan.rules import REGISTERS
from orbbec.plan.steps import Colors
from orbbec.transforms.auto import NARROW, OPERATIONS
from orbbec.transforms.convert import ConversionError
from orbbec.transforms.targets.numbers import _rounded
from tests.support import assert_same_bytes, photographs
from tests.support.defaults import under
from tests.support.registers import Registers

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def test_the_least_values_are_accepted():
    assert T.RandomIoUCrop(trials=1, rounds=1).trials == 1
    assert T.JPEG(1).quality == T.JPEG((1, 1)).quality
    assert T.MixUp(alpha=1e-6).alpha == T.CutMix(alpha=1e-6).alpha == 1e-6


def test_the_largest_seed_has_63_bits():
    assert T.Compose([T.Pad(1)], seed=2**63 - 1).seed == 2**63 - 1
    with pytest.raises(ValueError, match="expected seed as a whole number from 0"):
        T.Compose([T.Pad(1)], seed=2**63)


FLIP = T.RandomHorizontalFlip()


@pytest.mark.parametrize(
    ("transforms", "streams"),
    [
        ([FLIP] * 4, 4),
        ([T.RandomApply([FLIP, FLIP]), FLIP], 4),
        ([T.RandomChoice([T.RandomOrder([FLIP]), FLIP])], 4),
        ([T.SomeOf([FLIP, FLIP], 2)], 3),
        ([T.SomeOf([FLIP, FLIP], 3, replace=True)], 7),
    ],
)
def test_containers_count_as_transforms_where_these_are_limited(monkeypatch, transforms, streams):
    monkeypatch.setattr("orbbec.transforms.compose._MAX_TRANSFORMS", streams)
    T.Compose(transforms)
    monkeypatch.setattr("orbbec.transforms.compose._MAX_TRANSFORMS", streams - 1)
    with pytest.raises(ValueError, match=f"expected at most {streams - 1} transforms"):
        T.Compose(transforms)


def test_augmix_of_a_list_is_that_of_its_images():
    pipeline, images = (
        T.Compose([T.AugMix()], seed=2),
        [*photographs(2, 3, 20, 25), *photographs(1, 3, 17, 30)],
    )
    results = pipeline(images, sample_ids=[4, 5, 6], epoch=0)
    for number, image in enumerate(images):
        alone = pipeline(image, sample_ids=[4 + number], epoch=0)
        assert_same_bytes(results[number], alone.permute(1, 2, 0))


def test_an_array_of_another_rank_is_named_as_the_images_of_compose():
    pipeline = T.Compose([T.RandomResizedCrop(8, antialias=False), T.ToDtype("float32", scale=True)])
    pipeline(np.zeros((9, 9, 3), np.uint8))  # compiles the path of one array
    with pytest.raises(ValueError, match=r"^Compose: expected images of shape"):
        pipeline(np.zeros(9, np.uint8))


@pytest.mark.parametrize(
    ("code", "name"), [(STEPS["contrast"], "contrast"), *((code, "placed") for code in sorted(PLACED))]
)
def test_what_a_step_of_any_image_reads_must_be_declared(code, name):
    class Undeclared(T.ColorJitter):
        def steps(self, params, state):
            rows = np.zeros((len(state), 1, 16), np.float32)
            rows[-1, 0, :2] = code, 1.5
            return [Colors(rows, False, ())]

    with pytest.raises(ValueError, match=f"expected Colors\\({name}=True\\)"):
        T.Compose([Undeclared()]).plan([(8, 8)] * 2, epoch=0)


def test_points_at_the_last_pixels_follow_their_displacement():
    displacement = np.zeros((2, 6, 8))
    displacement[0, :, -1], displacement[1, -1, :] = 3.0, 2.0  # only there
    positions = through_displacement(np.array([[7.0 + 3.0, 2.0], [3.0, 5.0 + 2.0]]), displacement)
    assert positions == pytest.approx(np.array([[7.0, 2.0], [3.0, 5.0]]))


def test_each_axis_is_shifted_by_a_share_of_its_own_side():
    def shift(build):
        operation, level, sign = range(REGISTERS, REGISTERS + 3)
        build.warp("auto_warp", operation, NARROW.magnitude(build, operation, level, sign))

    along = [(OPERATIONS.index(name), 1.0, 0.9) for name in ("TranslateX", "TranslateY")]
    magnitudes = Registers(shift, [[331, 662], [331, 662]], values=along).of("auto_warp", 1)
    assert magnitudes.ravel() == pytest.approx([300.0, 150.0])


@pytest.mark.parametrize("transform", [T.AugMix(), T.RandAugment(), T.RandomAffine(9)], ids=lambda t: t.name)
def test_a_transform_is_a_module(transform):
    assert transform.to("cpu").float() is transform
    assert transform.apply(lambda module: None) is transform


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int32, torch.float64, torch.complex64])
def test_images_that_no_pipeline_takes_are_named_as_those_of_compose(dtype):
    images = torch.zeros(2, 3, 4, 4, dtype=dtype)
    for step in (T.CenterCrop(2), T.GaussianBlur(3), T.RandomResizedCrop(2), T.RandomPosterize(3)):
        for each in (images, images[0], list(images)):
            with pytest.raises(TypeError, match=r"^Compose: expected image"):
                T.Compose([step])(each, epoch=0)


def test_an_image_that_no_operator_takes_is_named_as_one_of_composes():
    with pytest.raises(TypeError, match=r"^Compose: expected image 0 of uint8"):
        T.Compose([T.CenterCrop(2)])([torch.zeros(3, 4, 4, dtype=torch.complex64)], epoch=0)


def test_boxes_follow_those_images_alone_that_are_cropped_by_chance():
    images = torch.zeros(16, 3, 40, 40, dtype=torch.uint8)
    images[:, :, 12:28, 8:30] = 255
    targets = [{"boxes": torch.tensor([[8.0, 12.0, 30.0, 28.0]])} for _ in range(16)]
    pipeline = T.Compose([T.RandomApply([T.RandomResizedCrop(40, scale=(0.5, 0.8))], 0.5)], seed=3)
    moved, boxes = pipeline(images, targets, sample_ids=list(range(16)))
    for image, target in zip(moved, boxes, strict=True):
        rows, columns = (image[0] > 127).nonzero().T
        seen = torch.stack([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])
        assert (seen - target["boxes"][0]).abs().max() <= 1
    changed = [not torch.equal(a, b) for a, b in zip(moved, images, strict=True)]
    assert 4 < sum(changed) < 12


@pytest.mark.parametrize(("size", "longest"), [((5, 9), 7), ((9, 5), 11)])
def test_a_largest_side_is_refused_with_two_numbers_whatever_they_are(size, longest):
    with pytest.raises(ValueError, match="expected max_size only with one number for size"):
        T.Resize(size, max_size=longest)


@pytest.mark.parametrize(("module", "name"), [("torch.nn", "RandomHorizontalFlip"), ("ours", "Identity")])
def test_what_is_torchvisions_in_name_alone_is_not_converted(module, name):
    step = type(name, (), {"__module__": module, "p": 0.5})()
    with pytest.raises(ConversionError, match=name):
        T.Compose.from_torchvision([step])


@pytest.mark.parametrize(("max_value", "dtype"), [(255, torch.uint8), (1.0, torch.float32)])
def test_the_maximum_alone_is_solarized_at_the_largest_threshold(max_value, dtype):
    images = (torch.tensor([0.0, 0.5, 1.0]) * max_value).to(dtype).reshape(1, 1, 1, 3)
    solarized = T.Compose([T.RandomSolarize(max_value, p=1.0)])(images, epoch=0)
    assert solarized.flatten().tolist() == [*images.flatten().tolist()[:2], 0]


def test_a_flip_after_a_resize_that_is_not_the_first_pass():
    images, steps = photographs(3, 3, 20, 30), [T.GaussianBlur(3), T.Resize((9, 12))]
    flipped = T.Compose([*steps, T.RandomHorizontalFlip(1.0)], seed=1)
    assert [each.name for each in flipped.plan([(20, 30)] * 3, epoch=0).passes] == [
        "gaussian_blur",
        "resized_crop",
    ]
    assert_same_bytes(flipped(images, epoch=0), T.Compose(steps, seed=1)(images, epoch=0).flip(-1))


def test_an_image_without_points_to_align_is_resized_whole():
    image = torch.zeros(1, 3, 16, 32, dtype=torch.uint8)
    image[:, :, 8:] = 255
    aligned, _ = T.Compose([T.AlignPoints(8, [(1, 1), (5, 5)])])(image, [{}], epoch=0)
    assert aligned[0, 0, :, 4].tolist() == [0] * 4 + [255] * 4


def test_corners_give_back_every_angle_of_a_rotated_box():
    boxes = np.array([[20.0, 30.0, 9.0, 4.0, angle] for angle in range(-179, 180)])
    assert rotated_boxes(rotated_corners(boxes)) == pytest.approx(boxes, abs=1e-9)


def test_no_images_without_pixels_get_the_size_of_a_resize():
    assert T.Compose([T.Resize((4, 6))])(torch.zeros(0, 3, 0, 5, dtype=torch.uint8), epoch=0).shape == (
        0,
        3,
        4,
        6,
    )


def test_no_images_without_pixels_get_the_size_of_a_shorter_side():
    assert T.Compose([T.Resize(4)])(torch.zeros(0, 3, 0, 5, dtype=torch.uint8), epoch=0).shape == (
        0,
        3,
        4,
        20,
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_call_takes_one_number_of_a_generator_whatever_its_images(count):
    generators = [torch.Generator().manual_seed(5) for _ in range(2)]
    T.Compose([T.RandomCrop(3)])(torch.zeros(count, 3, 4, 5, dtype=torch.uint8), generator=generators[0])
    T.Compose([T.RandomCrop(3)]).plan([(4, 5)], generator=generators[1])
    assert_same_bytes(*(generator.get_state() for generator in generators))


def test_the_image_without_pixels_is_named():
    with pytest.raises(
        ValueError, match=r"^Compose: expected .* with pixels, but image 1 is of size \[0, 4\]"
    ):
        T.Compose([T.CenterCrop(2)]).plan([(4, 4), (0, 4)], epoch=0)


def test_a_crop_pads_no_more_than_is_lacking():
    images = photographs(9, 3, 8, 8)
    assert_same_bytes(T.Compose([T.RandomCrop(8, pad_if_needed=True)])(images, epoch=0), images)


@pytest.mark.parametrize("as_list", [False, True])
def test_bytes_of_floats_keep_the_numbers(as_list):
    image = torch.tensor([[[0.0, 0.9, 1.0, 200.7, 300.0, -4.0]]])
    images = [image, image[:, :, :5]] if as_list else image[None]
    result = T.Compose([T.ToDtype(torch.uint8)])(images)
    assert result[0].flatten().tolist() == [0, 0, 1, 200, 255, 0]
    there_and_back = T.Compose([T.ToDtype(torch.float32), T.ToDtype(torch.uint8)])
    pixels = torch.arange(256, dtype=torch.uint8).reshape(1, 16, 16)
    assert torch.equal(there_and_back(pixels), pixels)


@pytest.mark.parametrize("size", [(1, 1), (1, 2), (2, 1)])
def test_a_crop_of_one_pixel_fits_into_any_image(size):
    resize = T.Resize(5, antialias=False, max_size=9)
    pipeline = T.Compose([T.RandomRotation(9, "linear", padding_mode="edge"), resize, T.CenterCrop(size)])
    assert len(pipeline.plan([(40, 50)], epoch=0).passes) == 1 + (size != (1, 1))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: T.Mosaic(0, fill="red"), "size"),
        (lambda: T.RandomResizedCrop(0, antialias="yes"), "size"),
        (lambda: T.RandomCrop(0, fill="red"), "size"),
        (lambda: T.Letterbox(0, fill="red"), "size"),
        (lambda: T.PadIfNeeded(0, fill="red"), "size"),
        (lambda: T.RandomZoomOut(fill="red", p=2.0), "fill"),
    ],
)
def test_the_first_of_two_bad_arguments_is_named(make, name):
    with pytest.raises((ValueError, TypeError), match=f": expected {name} as"):
        make()


def test_a_matrix_without_an_inverse_moves_points_to_nan_and_others_are_inverted():
    singular, double = forward_of(np.stack([np.diag([1.0, 0.0, 1.0]), np.diag([2.0, 4.0, 1.0])]))
    assert np.isnan(singular).all()
    assert double.tolist() == np.diag([0.5, 0.25, 1.0]).tolist()


@pytest.mark.parametrize("name", ["shear", "degrees"])
def test_a_list_of_one_number_is_that_number(name):
    arguments = {"degrees": 0, name: [20]} if name == "shear" else {"degrees": (-20, 20)}
    expected = {"degrees": 0, "shear": 20} if name == "shear" else {"degrees": 20}
    assert T.RandomAffine(**arguments) == T.RandomAffine(**expected)


@pytest.mark.parametrize("name", ["shear", "scale"])
@pytest.mark.parametrize("ranges", [(2.0, 1.0, 1.0, 2.0), (1.0, 2.0, 2.0, 1.0), (1.0, 2.0, 1.0, math.nan)])
def test_each_of_two_ranges_is_in_order(name, ranges):
    with pytest.raises(ValueError, match=rf"^RandomAffine: expected {name} as "):
        T.RandomAffine(0, **{name: ranges})


@pytest.mark.parametrize("translate", [0.5, [0.5], (0.1, 0.2, 0.3)])
def test_a_shift_has_two_numbers(translate):
    with pytest.raises(ValueError, match=r"^RandomAffine: expected translate as .*2"):
        T.RandomAffine(0, translate=translate)


@pytest.mark.parametrize(("fill", "count"), [(51 / 255, 1), (0.5, 2), (1.0, 1), (0.3, 2)])
def test_a_fill_of_floats_that_is_a_byte_is_filled_in_bytes(fill, count):
    steps = [T.Resize((9, 8), antialias=False), T.ToDtype(torch.float32, scale=True)]
    turn = T.RandomRotation((20, 20), "linear", fill=fill)
    assert len(T.Compose([*steps, turn]).plan([(20, 24)], epoch=0).passes) == count


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_fill_of_bytes_is_filled_in_floats(dtype):
    for fill in (1, 3, 114, 200, 255):  # of halfs, the nearest to a byte may lie below it
        steps = [T.ToDtype(torch.uint8, scale=True), T.RandomRotation((20, 20), "linear", fill=fill)]
        assert len(T.Compose(steps).plan([(20, 24)], dtype=dtype, epoch=0).passes) == 1


@pytest.mark.parametrize("pixels", [1, 2, 6])
def test_areas_follow_masks_of_few_pixels(pixels):
    masks = np.zeros((1, 8, 10), bool)
    masks[0, 3, 4 : 4 + pixels] = True
    target = {"boxes": np.array([[4.0, 3, 4 + pixels, 4]]), "masks": masks, "area": np.array([5.0])}
    crop = T.Compose([T.Crop(0, 0, 8, 5)], target_options=T.TargetOptions(min_size=0.0))
    _, moved = crop(np.zeros((8, 10, 3), np.uint8), target, epoch=0)
    assert moved["area"].tolist() == pytest.approx([5.0 / pixels])
    empty = {**target, "masks": np.zeros_like(masks)}
    _, moved = crop(np.zeros((8, 10, 3), np.uint8), empty, epoch=0)
    assert moved["area"].tolist() == pytest.approx([5.0 / pixels])


def test_images_are_clips_of_one_frame_also_where_the_epoch_is_a_tensor():
    images, ids = photographs(8, 3, 6, 7), list(range(8))
    pipeline = T.Compose([T.PerFrame([T.RandomHorizontalFlip(), T.RandomInvert()])], seed=3)
    result = pipeline(images, sample_ids=ids, epoch=torch.tensor(1))
    assert_same_bytes(result, pipeline(images, sample_ids=ids, epoch=1))


def test_sample_ids_are_where_the_images_are_whatever_torchs_default():
    images, epoch = photographs(2, 3, 20, 24), torch.tensor(1)
    pipeline = T.Compose([T.RandomResizedCrop(9, antialias=False)], seed=3)

    def result():
        return pipeline(images, sample_ids=[3, 1], epoch=epoch)

    expected = pipeline(images, sample_ids=[3, 1], epoch=1)
    assert_same_bytes(result(), expected)
    assert_same_bytes(under("meta", result)(), expected)
    assert_same_bytes(pipeline(images, sample_ids=[3, 1], epoch=epoch[None]), expected)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_number_fills_every_channel(channels):
    erasing = T.RandomErasing(1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=9)
    erased = T.Compose([erasing])(torch.zeros(1, channels, 8, 8, dtype=torch.uint8), epoch=0)
    assert (erased == 9).sum((0, 2, 3)).tolist() == [16] * channels


def test_each_of_four_channels_has_its_own_fill():
    erasing = T.RandomErasing(1.0, scale=(0.25, 0.25), ratio=(1.0, 1.0), value=(9, 8, 7, 6))
    erased = T.Compose([erasing])(torch.zeros(1, 4, 8, 8, dtype=torch.uint8), epoch=0)
    assert erased.amax((0, 2, 3)).tolist() == [9, 8, 7, 6]


def test_a_generator_goes_without_sample_ids():
    pipeline, generator = T.Compose([T.RandomErasing(1.0)]), torch.Generator()
    for images in (photographs(1, 3, 8, 8), list(photographs(1, 3, 8, 8))):
        with pytest.raises(ValueError, match="Compose: expected a generator only without sample_ids"):
            pipeline(images, sample_ids=[1], generator=generator)


def test_a_plan_describes_its_rectangles():
    erasing = T.RandomErasing(1.0)
    passes = T.Compose([erasing, erasing]).plan([(8, 8)], epoch=0).passes
    assert "2 rectangles" in passes[0].describe()


def test_images_of_a_structure_have_three_axes_or_more():
    image, table = photographs(1, 3, 8, 9)[0], torch.zeros(4, 2)
    found = T.Compose([T.RandomHorizontalFlip(1.0)])((table, image), epoch=0)
    assert found[0] is table
    assert_same_bytes(found[1], image.flip(-1))


def test_rounded_targets_fit_up_to_the_ends_of_their_dtype():
    ends = np.array([-128.4, 127.4])
    assert _rounded(ends, np.iinfo(np.int8), "boxes").tolist() == [-128, 127]
    for beyond in (-129.0, 128.0):
        with pytest.raises(ValueError, match="transform_targets: boxes do not fit int8"):
            _rounded(np.array([beyond]), np.iinfo(np.int8), "boxes")


def test_a_field_that_moves_nothing_leaves_targets_where_they_are():
    target = {
        "boxes": np.array([[3.0, 4, 20, 18]]),
        "polygons": [np.array([[3.0, 4], [20, 5], [12, 18]])],
        "keypoints": np.array([[[5.0, 6.0]]]),
    }
    _, moved = T.Compose([T.ElasticTransform(1e-6, 3.0)])(torch.zeros(3, 24, 30), target, epoch=0)
    for key, values in target.items():
        assert np.allclose(moved[key], values, atol=1e-5)  # a displacement of 1e-6 pixels at most


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (8, 9)])
def test_a_field_that_moves_nothing_leaves_a_flow_as_it_is(size):
    flow = np.arange(2.0 * size[0] * size[1]).reshape(2, *size)
    _, moved = T.Compose([T.ElasticTransform(1e-6, 3.0)])(torch.zeros(3, *size), {"flow": flow}, epoch=0)
    assert np.allclose(moved["flow"], flow, atol=1e-3)


@pytest.mark.parametrize("image", [np.zeros((8, 9, 3), np.float32), np.zeros((8, 9, 3), np.uint8)[::-1]])
def test_the_tensor_of_one_array_has_three_axes(image):
    assert T.Compose([T.RandomHorizontalFlip(1.0), T.ToTensor()])(image, epoch=0).shape == (3, 8, 9)


def test_a_clip_of_one_frame_keeps_what_belongs_to_it():
    targets = [{"boxes": torch.tensor([[[0.0, 1, 2, 3]]]), "id": 7}] * 2
    flip = T.Compose([T.RandomHorizontalFlip(1.0)])
    _, moved = flip(torch.zeros(2, 1, 3, 8, 9), targets, epoch=0)
    assert [target["boxes"].tolist() for target in moved] == [[[[7.0, 1, 9, 3]]]] * 2
    assert [target["id"] for target in moved] == [7, 7]


def test_sample_ids_have_63_bits():
    pipeline = T.Compose([T.RandomHorizontalFlip()])
    images = torch.zeros(2, 3, 4, 4, dtype=torch.uint8)
    calls = lambda **ids: pipeline(images, **ids), lambda **ids: pipeline.plan([(4, 4)] * 2, **ids)
    for call in calls:
        assert len(call(sample_ids=np.array([2**63 - 1, 0], np.uint64))) == 2
        with pytest.raises(
            ValueError, match=r"sample_ids up to 2\^63 - 1, but got \[9223372036854775808, 0\]"
        ):
            call(sample_ids=np.array([2**63, 0], np.uint64))
