"""The functional form compared with torchvision's functions of the same names. Needs torchvision."""

import inspect

import numpy as np
import pytest
import torch

torchvision = pytest.importorskip("torchvision")
Image = pytest.importorskip("PIL.Image")

from torchvision import tv_tensors
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as theirs

from orbbec.transforms import functional as ours
from tests.support import assert_same_bytes, photograph
from tests.support.defaults import DEFAULTS, under

ARRAY = photograph(40, 50)
TENSOR = torch.from_numpy(ARRAY).permute(2, 0, 1).contiguous()
PIL = Image.fromarray(ARRAY)
BOXES = tv_tensors.BoundingBoxes([[1, 2, 9, 8]], format="XYXY", canvas_size=(40, 50))
MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
NEAREST = {"interpolation": InterpolationMode.NEAREST}
DISPLACEMENT = torch.rand(1, 40, 50, 2, generator=torch.Generator().manual_seed(0)) * 0.2 - 0.1
CORNERS = [[0, 0], [49, 0], [49, 39], [0, 39]], [[3, 2], [44, 5], [49, 36], [1, 39]]

# Calls on bytes, and the measured differences from torchvision in levels.
CALLS = [
    ("resize", (20,), {}, 1),
    ("resize", ([30, 70],), {}, 1),
    ("resize", ([20, 25],), {"interpolation": InterpolationMode.NEAREST}, 0),
    ("resize", (None,), {"max_size": 30}, 1),
    ("resized_crop", (3, 5, 20, 30, [10, 12]), {}, 1),
    ("resized_crop", (-3, 30, 20, 30, [25, 50]), {}, 1),
    ("crop", (3, 5, 20, 30), {}, 0),
    ("crop", (-3, 30, 20, 30), {}, 0),
    ("center_crop", ([21, 33],), {}, 0),
    ("center_crop", (60,), {}, 0),
    ("horizontal_flip", (), {}, 0),
    ("vertical_flip", (), {}, 0),
    ("hflip", (), {}, 0),
    ("vflip", (), {}, 0),
    ("pad", ([1, 2, 3, 4],), {"fill": 9}, 0),
    ("pad", (3,), {"padding_mode": "reflect"}, 0),
    ("affine", (20.0, [3, 4], 1.2, [5.0, 0.0]), {"fill": 7}, 0),
    ("affine", (20.0, [3, 4], 1.2, [5.0]), {"fill": 7}, 0),
    ("affine", (20.0, [3, 4], 1.2, 5.0), {"fill": 7}, 0),
    ("rotate", (30.0,), {"expand": True}, 0),
    ("rotate", (30.0,), {"expand": True, "center": [3, 4]}, 0),
    ("rotate", (30.0,), {"interpolation": InterpolationMode.BILINEAR}, 2),
    ("perspective", CORNERS, {"interpolation": InterpolationMode.NEAREST}, 0),
    ("perspective", (None, None), {"coefficients": [1.1, 0.1, -2, 0.1, 0.9, 3, 1e-3, 0], **NEAREST}, 0),
    ("elastic", (DISPLACEMENT,), {}, 1),
    ("elastic_transform", (DISPLACEMENT,), NEAREST, 0),
    ("adjust_brightness", (1.3,), {}, 0),
    ("adjust_contrast", (0.6,), {}, 0),
    ("adjust_saturation", (1.5,), {}, 0),
    ("adjust_hue", (0.1,), {}, 0),
    ("adjust_gamma", (1.7,), {"gain": 0.9}, 0),
    ("adjust_sharpness", (2.0,), {}, 0),
    ("invert", (), {}, 0),
    ("posterize", (3,), {}, 0),
    ("solarize", (100,), {}, 0),
    ("autocontrast", (), {}, 0),
    ("equalize", (), {}, 0),
    ("rgb_to_grayscale", (), {}, 1),
    ("rgb_to_grayscale", (3,), {}, 0),
    ("permute_channels", ([2, 0, 1],), {}, 0),
    ("gaussian_blur", ([5, 3],), {"sigma": [1.0, 0.7]}, 3),
    ("erase", (3, 4, 10, 12, torch.tensor([[[9]], [[8]], [[7]]], dtype=torch.uint8)), {}, 0),
    ("erase", (3, 4, 10, 12, torch.tensor([[[9]]], dtype=torch.uint8)), {}, 0),
    ("jpeg", (40,), {}, 0),
]


def levels(one, other):
    return np.abs(np.asarray(one).astype(int) - np.asarray(other).astype(int)).max()


@pytest.mark.parametrize(("name", "arguments", "options", "tolerance"), CALLS)
def test_calls_give_what_torchvisions_give(name, arguments, options, tolerance):
    result = getattr(ours, name)(TENSOR, *arguments, **options)
    expected = getattr(theirs, name)(TENSOR, *arguments, **options)
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    difference = levels(result, expected)
    # Nearest warps may read the neighbor if a position is exactly between two pixels.
    shared = (result == expected).float().mean() if tolerance == 0 else 1.0
    warps = ("affine", "rotate", "perspective", "elastic_transform")
    assert difference <= tolerance or (name in warps and shared > 0.999)


@pytest.mark.parametrize("name", DEFAULTS)
def test_calls_give_the_same_whatever_torchs_defaults_are(name):
    video = TENSOR.repeat(7, 1, 1, 1)
    calls = [(call, TENSOR, *rest) for call, *rest, _ in CALLS]
    for call, images, arguments, options in [*calls, ("uniform_temporal_subsample", video, (3,), {})]:
        expected = getattr(ours, call)(images, *arguments, **options)
        result = under(name, getattr(ours, call))(images, *arguments, **options)
        assert_same_bytes(result, expected)


def test_channels_of_variable_size_images_are_not_permuted():
    with pytest.raises(TypeError, match="permute_channels: expected a tensor, an array or a PIL image"):
        ours.permute_channels([ARRAY, ARRAY[:20]], [2, 1, 0])


@pytest.mark.parametrize("name", ["resize", "crop", "horizontal_flip", "pad", "adjust_hue", "gaussian_blur"])
def test_pil_images_and_arrays_have_the_bytes_of_tensors(name):
    arguments = {"resize": (20,), "crop": (1, 2, 20, 30), "pad": (3,), "adjust_hue": (0.1,)}.get(name, ())
    arguments = (3,) if name == "gaussian_blur" else arguments
    function = getattr(ours, name)
    array, image = function(ARRAY, *arguments), function(PIL, *arguments)
    assert isinstance(image, Image.Image)
    assert np.array_equal(np.asarray(image), array)
    assert np.array_equal(array, function(TENSOR, *arguments).permute(1, 2, 0).numpy())


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "lanczos", "box", "hamming"])
def test_resizes_of_pil_images_have_torchvisions_bytes(name):
    mode = InterpolationMode(name)
    for size in ([20, 33], [70, 90]):
        result, expected = (each.resize(PIL, size, mode) for each in (ours, theirs))
        assert np.array_equal(np.asarray(result), np.asarray(expected))
        box = (3, 5, 30, 22)
        result, expected = (
            each.resized_crop(PIL.crop((5, 3, 27, 33)), 0, 0, 30, 22, size, mode) for each in (ours, theirs)
        )
        assert np.array_equal(np.asarray(result), np.asarray(expected)), box


def test_floats_and_types():
    floats = ours.to_dtype(TENSOR, torch.float32, scale=True)
    assert torch.equal(floats, theirs.to_dtype(TENSOR, torch.float32, scale=True))
    assert torch.allclose(
        ours.normalize(floats, MEAN, STD), theirs.normalize(floats, list(MEAN), list(STD)), atol=1e-6
    )
    for given in (PIL, ARRAY):
        assert torch.equal(ours.to_image(given), TENSOR)
        assert torch.allclose(
            ours.to_tensor(given), torchvision.transforms.functional.to_tensor(given), atol=6e-8
        )
    assert torch.equal(ours.pil_to_tensor(PIL), theirs.pil_to_tensor(PIL))


@pytest.mark.parametrize("name", ["five_crop", "ten_crop"])
@pytest.mark.parametrize("size", [12, (20, 31), (40, 50)])
def test_crops_are_torchvisions(name, size):
    for results, expected in (
        (getattr(ours, name)(image, size), getattr(theirs, name)(image, size)) for image in (TENSOR, PIL)
    ):
        assert len(results) == len(expected)
        for result, part in zip(results, expected, strict=True):
            assert np.array_equal(np.asarray(result), np.asarray(part))


def test_noise_is_drawn_anew_by_torchs_generator():
    gray = torch.full((3, 200, 300), 0.5)
    torch.manual_seed(3)
    first, second = (ours.gaussian_noise(gray, 0.1, 0.05) for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(ours.gaussian_noise(gray, 0.1, 0.05), first)
    assert not torch.equal(first, second)
    # The mean of 180,000 numbers of deviation 0.05 varies by 0.00012.
    assert first.mean().item() == pytest.approx(0.6, abs=0.0006)
    assert first.std().item() == pytest.approx(0.05, rel=0.01)


def test_gray_images_become_three_channels():
    gray = TENSOR[:1]
    assert torch.equal(ours.grayscale_to_rgb(gray), theirs.grayscale_to_rgb(gray))
    assert torch.equal(ours.rgb_to_grayscale(gray, 3), theirs.rgb_to_grayscale(gray, 3))
    assert ours.grayscale_to_rgb(TENSOR) is TENSOR
    assert torch.equal(ours.grayscale_to_rgb(TENSOR[:2]), theirs.grayscale_to_rgb(gray))
    assert ours.grayscale_to_rgb(PIL.convert("L")).mode == "RGB"


@pytest.mark.parametrize(
    ("pic", "mode"),
    [
        (TENSOR, None),
        (TENSOR, "HSV"),
        (ARRAY, None),
        (TENSOR[:1], None),
        (TENSOR[0], None),
        (TENSOR / 255, None),
        (TENSOR[:1] / 255, "F"),
        (TENSOR[:1].to(torch.int32), None),
        (torch.cat([TENSOR, TENSOR[:1]]), "CMYK"),
    ],
)
def test_pil_images_are_torchvisions(pic, mode):
    result, expected = ours.to_pil_image(pic, mode), theirs.to_pil_image(pic, mode)
    assert result.mode == expected.mode
    assert result.tobytes() == expected.tobytes()


MOVES = [
    ("resize", ([20, 75],), {}),
    ("resize", (30,), {}),
    ("crop", (3, 5, 30, 40), {}),
    ("center_crop", ([30, 60],), {}),
    ("resized_crop", (3, 5, 30, 40, [25, 35]), {}),
    ("horizontal_flip", (), {}),
    ("vertical_flip", (), {}),
    ("pad", ([1, 2, 3, 4],), {}),
    ("affine", (20.0, [3, 4], 0.8, [5.0, 0.0]), {}),
    ("rotate", (30.0,), {}),
    ("perspective", CORNERS, {}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), MOVES)
def test_boxes_and_masks_follow_as_torchvisions_do(name, arguments, options):
    corners = torch.tensor([[10.0, 8.0, 30.0, 28.0], [0.0, 0.0, 50.0, 40.0]])
    boxes = tv_tensors.BoundingBoxes(corners, format="XYXY", canvas_size=(40, 50))
    mask = tv_tensors.Mask(torch.arange(2000).reshape(2, 20, 50).repeat_interleave(2, 1) // 300)
    own, reference = getattr(ours, name), getattr(theirs, name)
    moved, expected = own(boxes, *arguments, **options), reference(boxes, *arguments, **options)
    assert moved.canvas_size == expected.canvas_size
    assert torch.allclose(moved, expected, atol=1e-4)  # float32 there, float64 here
    moved, expected = own(mask, *arguments, **options), reference(mask, *arguments, **options)
    assert type(moved) is type(expected)
    assert moved.dtype == expected.dtype
    assert (moved == expected).float().mean() > 0.998  # positions between two pixels


def test_points_and_elastic_masks_follow():
    points = tv_tensors.KeyPoints([[10.0, 8.0], [30.0, 28.0]], canvas_size=(40, 50))
    assert ours.horizontal_flip(points).tolist() == [[39.0, 8.0], [19.0, 28.0]]
    mask = tv_tensors.Mask(TENSOR[0].long() * 1000)
    moved, expected = (each.elastic(mask, DISPLACEMENT) for each in (ours, theirs))
    assert (moved == expected).float().mean() > 0.998


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
@pytest.mark.parametrize("source", ["XYXY", "XYWH", "CXCYWH"])
@pytest.mark.parametrize("target", ["XYXY", "XYWH", "CXCYWH"])
def test_formats_of_boxes_are_torchvisions(source, target, dtype):
    values = torch.tensor([[10, 8, 30, 29], [2, 3, 9, 7]], dtype=dtype)
    boxes = tv_tensors.BoundingBoxes(values, format=source, canvas_size=(40, 50))
    for each in (ours, theirs):
        assert each.convert_bounding_box_format(boxes, new_format=target).format.name == target
    results = (each.convert_bounding_box_format(values, source, target) for each in (ours, theirs))
    assert torch.equal(*results)


def test_clamped_and_sanitized_boxes_are_torchvisions():
    values = torch.tensor([[-5, 3, 60, 70], [10, 8, 30, 28], [10, 8, 10, 28]])
    boxes = tv_tensors.BoundingBoxes(values, format="XYXY", canvas_size=(40, 50))
    assert torch.equal(*(each.clamp_bounding_boxes(boxes) for each in (ours, theirs)))
    for result, expected in zip(
        *(each.sanitize_bounding_boxes(boxes) for each in (ours, theirs)), strict=True
    ):
        assert torch.equal(result, expected)
    points = tv_tensors.KeyPoints([[-2.0, 3.0], [49.0, 39.0], [49.5, 41.0]], canvas_size=(40, 50))
    assert torch.equal(*(each.clamp_keypoints(points) for each in (ours, theirs)))
    assert torch.equal(*(each.sanitize_keypoints(points)[1] for each in (ours, theirs)))
    assert type(ours.sanitize_keypoints(points)[0]) is tv_tensors.KeyPoints


@pytest.mark.filterwarnings("ignore:The function `get_image_size:UserWarning")
@pytest.mark.parametrize(
    ("name", "images", "arguments"),
    [
        ("convert_image_dtype", TENSOR, ()),
        ("convert_image_dtype", TENSOR / 300, (torch.uint8,)),
        ("to_grayscale", PIL, ()),
        ("to_grayscale", PIL, (3,)),
        *[
            (name, each, ())
            for name in ("get_image_size", "get_image_num_channels")
            for each in (TENSOR, PIL)
        ],
        *[("get_num_channels", each, ()) for each in (TENSOR, PIL, TENSOR[:1], PIL.convert("L"))],
    ],
)
def test_older_names_give_what_torchvisions_give(name, images, arguments):
    result, expected = (getattr(each, name)(images, *arguments) for each in (ours, theirs))
    assert type(result) is type(expected)
    result, expected = np.asarray(result), np.asarray(expected)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    tolerance = int(bool(arguments) or name == "to_grayscale")  # measured: 1 level where bytes are rounded
    assert np.abs(result.astype(float) - expected).max() <= tolerance


@pytest.mark.parametrize(
    "call", [ours.convert_image_dtype, ours.to_image, ours.pil_to_tensor, ours.to_tensor]
)
def test_conversions_name_themselves(call):
    with pytest.raises(TypeError, match=f"^{call.__name__}: expected images"):
        call(object())


@pytest.mark.parametrize("size", [0, (3, 0), (1, 2, 3)])
def test_sizes_that_are_none_are_named(size):
    with pytest.raises(ValueError, match=r"^resized_crop: expected size as a side"):
        ours.resized_crop(TENSOR, 1, 2, 9, 9, size)
    for name in ("resize", "center_crop", "five_crop", "ten_crop"):
        with pytest.raises(ValueError, match=f"(?i)^{name.replace('_', '_?')}: expected size"):
            getattr(ours, name)(TENSOR, size)
    for name in ("five_crop", "ten_crop"):
        with pytest.raises(
            ValueError, match=rf"^{name}: expected size of at most \[40, 50\], but got \[41, 5\]"
        ):
            getattr(ours, name)(TENSOR, (41, 5))


def test_frames_of_videos():
    video = tv_tensors.Video(TENSOR.repeat(7, 1, 1, 1))
    assert ours.get_num_frames(video) == 7
    results = [each.uniform_temporal_subsample(video, 3) for each in (ours, theirs)]
    assert type(results[0]) is tv_tensors.Video
    assert torch.equal(*results)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.resize(object(), 3), "resize: expected images, but got <class 'object'>"),
        (lambda: ours.invert(tv_tensors.Mask(TENSOR[0])), "invert: expected images, but got .*Mask"),
        (lambda: ours.elastic(TENSOR, [1.0]), "elastic: expected displacement as a tensor"),
        (lambda: ours.elastic(BOXES, DISPLACEMENT), "elastic: expected images, but got .*BoundingBoxes"),
        (lambda: ours.clamp_keypoints(BOXES), "clamp_keypoints: expected KeyPoints or a tensor"),
        (lambda: ours.get_num_frames(PIL), "get_num_frames: expected a video, but got"),
        (lambda: ours.to_pil_image(PIL), "to_pil_image: expected a tensor or an array"),
        (lambda: ours.to_pil_image(TENSOR.repeat(2, 1, 1)), "expected bytes of 1 to 4 channels, but got 6"),
        (lambda: ours.convert_bounding_box_format(BOXES), "expected new_format"),
    ],
)
def test_other_types_are_named(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize("image", [TENSOR, PIL, TENSOR[None]], ids=["tensor", "PIL", "batch"])
def test_sizes(image):
    assert ours.get_size(image) == theirs.get_size(image)
    assert ours.get_dimensions(image) == theirs.get_dimensions(image)


@pytest.mark.parametrize("name", [name for name in ours.__all__ if hasattr(theirs, name)])
def test_signatures_are_torchvisions(name):
    own = inspect.signature(getattr(ours, name)).parameters
    known = inspect.signature(getattr(theirs, name)).parameters
    assert list(own) == [
        {"image": "inpt"}.get(parameter, parameter) if "inpt" in own else parameter for parameter in known
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ours.affine(TENSOR, 0, [0, 0], 0.0, 0), "affine: expected a scale above 0"),
        (lambda: ours.rotate(TENSOR, float("nan")), "rotate: expected angle as a number"),
        (lambda: ours.perspective(TENSOR, [[0, 0]] * 4, [[0, 0]] * 4), "no three of them on a line"),
        (lambda: ours.permute_channels(TENSOR, [0, 0, 1]), "expected an order of 3 channels"),
        (lambda: ours.normalize(TENSOR / 255, MEAN, STD, inplace=True), "expected inplace=False"),
        (
            lambda: ours.elastic(TENSOR, DISPLACEMENT[:, :9]),
            r"expected displacement of shape \[1, 40, 50, 2\]",
        ),
        (lambda: ours.five_crop(TENSOR, 41), r"expected size of at most \[40, 50\], but got \[41, 41\]"),
        (lambda: ours.perspective(TENSOR, None, None), "expected startpoints and endpoints, or coefficients"),
        (lambda: ours.perspective(TENSOR, None, CORNERS, coefficients=[0] * 8), "but got both"),
        (lambda: ours.perspective(TENSOR, CORNERS, None, coefficients=[0] * 8), "but got both"),
        (lambda: ours.perspective(TENSOR, *CORNERS, coefficients=[0] * 8), "but got both"),
        (lambda: ours.to_pil_image(TENSOR, "L"), "expected mode as one of RGB, YCbCr, HSV, but got 'L'"),
        (lambda: ours.clamp_bounding_boxes(TENSOR[0, :, :4]), "expected format for a tensor, and only for"),
        (lambda: ours.clamp_keypoints(torch.zeros(1, 2)), "expected canvas_size for a tensor, and only for"),
        (lambda: ours.get_num_frames(TENSOR), r"expected a video \[..., T, C, H, W\]"),
        (lambda: ours.erase(TENSOR, 0, 0, 3, 3, [1, 2]), "expected 1 or 3 numbers as v, but got 2"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_positions_have_32_bits():
    for edge in (-(2**31), 2**31):
        assert not ours.crop(TENSOR, edge, edge, 2, 3).any()
        assert torch.equal(ours.erase(TENSOR, edge, edge, 2, 3, 0), TENSOR)
        for arguments in ((edge + (1 if edge > 0 else -1), 0), (0, edge + (1 if edge > 0 else -1))):
            with pytest.raises(ValueError, match=r"^crop: expected (top|left) as a whole number"):
                ours.crop(TENSOR, *arguments, 2, 3)
            with pytest.raises(ValueError, match=r"^erase: expected [ij] as a whole number"):
                ours.erase(TENSOR, *arguments, 2, 3, 0)
