"""Every function with every kind of input, compared with one image at a time and with torchvision."""

import inspect
from enum import Enum
from itertools import product

import numpy as np
import pytest
import torch

pytest.importorskip("torchvision")

from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as theirs

from orbbec.transforms import functional as ours
from orbbec.transforms.tests.test_functional import CALLS, TENSOR
from tests.support import assert_same_bytes

OTHER = TENSOR.flip(-1).roll(7, -2).contiguous()
NAMES = [name for name in ours.__all__ if hasattr(theirs, name)]


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isfunction(getattr(ours, name))])
def test_defaults_are_torchvisions(name):
    own, known = (list(inspect.signature(getattr(each, name)).parameters.values()) for each in (ours, theirs))
    assert [_value(parameter) for parameter in own] == [_value(parameter) for parameter in known]


def _value(parameter):
    default = parameter.default
    return default.value if isinstance(default, Enum) else default


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize(("name", "arguments", "options", "_"), CALLS)
def test_a_batch_has_the_results_of_its_images(name, arguments, options, _, count):
    function, images = getattr(ours, name), [TENSOR, OTHER][:count]
    batch = torch.stack(images) if images else TENSOR.new_zeros(0, *TENSOR.shape)
    expected = [function(image, *arguments, **options) for image in images or [TENSOR]]
    result = function(batch, *arguments, **options)
    assert result.dtype == expected[0].dtype
    assert list(result.shape) == [count, *expected[0].shape]
    for one, other in zip(result, expected[:count], strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize(("name", "arguments", "options", "_"), CALLS)
def test_clips_have_the_results_of_their_frames(name, arguments, options, _):
    function = getattr(ours, name)
    frames = torch.stack([TENSOR, OTHER, OTHER.flip(1), TENSOR.flip(2)])
    expected = function(frames, *arguments, **options)
    clips = function(frames.unflatten(0, (2, 2)), *arguments, **options)
    assert_same_bytes(clips, expected.unflatten(0, (2, 2)))
    array = frames.unflatten(0, (2, 2)).permute(0, 1, 3, 4, 2).contiguous().numpy()
    assert_same_bytes(torch.from_numpy(function(array, *arguments, **options)).permute(0, 1, 4, 2, 3), clips)
    video = function(tv_tensors.Video(frames), *arguments, **options)
    assert type(video) is tv_tensors.Video
    assert_same_bytes(video.as_subclass(torch.Tensor), expected)


BYTES_ALONE = ("jpeg", "erase", "posterize", "equalize", "autocontrast")  # or that mean a number of them
UNITS = {"solarize": (100 / 255,)}
FLOATS = [call for call in CALLS if call[0] not in BYTES_ALONE]


@pytest.mark.parametrize(("name", "arguments", "options", "_"), FLOATS)
def test_floats_have_the_results_of_bytes(name, arguments, options, _):
    function = getattr(ours, name)
    bytes_ = function(TENSOR, *arguments, **options)
    if "fill" in options:
        options = {**options, "fill": options["fill"] / 255}
    floats = function(TENSOR / 255, *UNITS.get(name, arguments), **options)
    assert floats.dtype == torch.float32
    difference = (floats * 255 - bytes_).abs()
    assert difference.max() <= 1.1  # measured: 1.07, since bytes are rounded or truncated, also the mean gray
    assert difference.mean() <= 0.7  # measured: 0.68


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32])
@pytest.mark.parametrize("format", ["XYXY", "XYWH", "CXCYWH"])
def test_boxes_of_each_format_are_clamped_and_sanitized_as_torchvisions(format, dtype):
    corners = [
        [-5, 3, 61, 70],
        [10, 8, 30, 28],
        [10, 8, 11, 9],
        [10, 8, 11, 8],
        [0, 0, 50, 40],
        [1, 1, 51, 9],
    ]
    corners += [[-1, 1, 9, 9], [4, -1, 9, 9], [4, 2, 9, 41], [4, 2, 6, 4]]
    values = torch.tensor(corners, dtype=dtype)
    boxes = theirs.convert_bounding_box_format(values, "XYXY", format)
    size = {"format": format, "canvas_size": (40, 50)}
    for mode in ("soft", None):
        results = (each.clamp_bounding_boxes(boxes, **size, clamping_mode=mode) for each in (ours, _Theirs))
        assert_same_bytes(*results)
    for least in ({}, {"min_size": 2.0}, {"min_area": 4.0}, {"min_size": 0.5, "min_area": 0.0}):
        (kept, rows), (expected, known) = (
            each.sanitize_bounding_boxes(boxes, **size, **least) for each in (ours, _Theirs)
        )
        assert rows.tolist() == known.tolist()
        assert_same_bytes(kept, expected)
        tensor = tv_tensors.BoundingBoxes(boxes, **size)
        assert ours.sanitize_bounding_boxes(tensor, **least)[1].tolist() == known.tolist()
    assert ours.clamp_bounding_boxes(tv_tensors.BoundingBoxes(boxes, **size)).format.name == format


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32])
def test_boxes_are_converted_as_torchvisions(dtype):
    values = torch.randint(0, 60, (200, 4), generator=torch.Generator().manual_seed(0)).to(dtype)
    for old, new in product(("XYXY", "XYWH", "CXCYWH"), repeat=2):
        expected = theirs.convert_bounding_box_format(values, old, new)
        assert_same_bytes(ours.convert_bounding_box_format(values, old, new), expected)


class _Theirs:
    """torchvision's functions, with formats by name."""

    @staticmethod
    def clamp_bounding_boxes(boxes, format, **how):
        return theirs.clamp_bounding_boxes(boxes, tv_tensors.BoundingBoxFormat[format], **how)

    @staticmethod
    def sanitize_bounding_boxes(boxes, format, **how):
        return theirs.sanitize_bounding_boxes(boxes, tv_tensors.BoundingBoxFormat[format], **how)


@pytest.mark.parametrize("points", [[[-2.0, 3.0]], [[0.0, 0.0], [49.0, 39.0]], [[50.0, 3.0]], [[3.0, 40.0]]])
def test_points_at_the_edges_are_torchvisions(points):
    values = torch.tensor(points)
    for shape in (values, values[None], values[:, None].repeat(1, 3, 1)):
        assert torch.equal(*(each.clamp_keypoints(shape, (40, 50)) for each in (ours, theirs)))
        if shape.ndim > 1:
            results = (each.sanitize_keypoints(shape, (40, 50)) for each in (ours, theirs))
            (kept, rows), (expected, known) = results
            assert rows.tolist() == known.tolist()
            assert torch.equal(kept, expected)


@pytest.mark.parametrize("pixels", [np.zeros((5, 7, channels), np.uint8) for channels in (1, 2, 3, 4)])
def test_images_of_each_number_of_channels_become_pil_images(pixels):
    image = ours.to_pil_image(pixels)
    assert (image.mode, image.size) == ({1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[pixels.shape[2]], (7, 5))
    assert ours.get_num_channels(image) == pixels.shape[2]
    assert ours.to_pil_image(torch.from_numpy(pixels).permute(2, 0, 1)).mode == image.mode


def test_frames_of_a_video_are_chosen_as_torchvisions():
    video = torch.arange(2 * 9, dtype=torch.uint8).reshape(2, 9, 1, 1, 1).expand(2, 9, 3, 4, 5)
    for count in (1, 2, 4, 9, 12):
        results = (each.uniform_temporal_subsample(video, count) for each in (ours, theirs))
        assert torch.equal(*results)
    assert ours.get_num_frames(video) == 9


NAMED = ("center", "coefficients", "displacement", "fill", "interpolation", "max_size", "padding")
NAMED += ("padding_mode", "shear", "size", "translate")
WRONG = [
    pytest.param(function, call, name, id=f"{function.__name__}-{name}")
    for function, call in (
        (getattr(ours, name), inspect.signature(getattr(ours, name)).bind(TENSOR, *arguments, **options))
        for name, arguments, options, _ in CALLS
        if name not in ("resized_crop", "hflip", "vflip")  # a resize names itself
    )
    for name in NAMED
    if name in call.signature.parameters and (name in call.arguments or name != "coefficients")
]


@pytest.mark.parametrize(("function", "call", "name"), WRONG)
def test_a_wrong_argument_is_named_by_its_function(function, call, name):
    with pytest.raises(TypeError, match=f"(?i)^{function.__name__}: expected {name} "):
        function(**{**call.arguments, name: object()})
