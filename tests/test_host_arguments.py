"""Arguments that parametrize a call may lie on the host while the images are on a device."""

import inspect

import pytest
import torch

import orbbec
from tests.support import Device, assert_same_bytes, photographs

FLOATS = ("adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_saturation", "adjust_sharpness")
PER_IMAGE = {
    **{name: torch.tensor([0.5, 1.25]) for name in FLOATS},
    "adjust_hue": torch.tensor([0.25, -0.25]),
    "posterize": torch.tensor([3, 5]),
    "solarize": torch.tensor([100.0, 200.0]),
    "clahe": torch.tensor([2.0, 3.0]),
    "filter2d": torch.arange(18, dtype=torch.float32).reshape(2, 3, 3) / 81,
    "jpeg_compression": torch.tensor([20, 70]),
    "lut": torch.arange(512).reshape(2, 1, 256).to(torch.uint8),
    "median_blur": torch.tensor([3, 5]),
    "sharpen": torch.tensor([0.5, 1.5]),
}
IDS = torch.tensor([3, 8])
BOXES = torch.tensor([[1, 1, 6, 7], [0, 2, 9, 8]])
PAIRS = torch.tensor([1, 0])
SHIFTS = torch.tensor([[[1.0, 0.1, 0.5], [0.0, 0.9, 0.25]], [[0.9, 0.0, 1.5], [0.2, 1.0, -2.0]]])
LAST_ROWS = torch.tensor([[[0.01, 0.02, 1.0]], [[0.0, 0.0, 1.0]]])
MAPS = torch.arange(2 * 4 * 5, dtype=torch.float32).view(2, 4, 5) / 5
CALLS = {
    **{name: lambda x, name=name, t=table: getattr(orbbec, name)(x, t) for name, table in PER_IMAGE.items()},
    "augment": lambda x: orbbec.augment(x, SHIFTS, (4, 5)),
    "box_blur": lambda x: orbbec.box_blur(x, torch.tensor([3, 5])),
    "copy_paste": lambda x: orbbec.copy_paste(x, PAIRS, torch.arange(10 * 12).reshape(10, 12) % 3 == 0),
    "cutmix": lambda x: orbbec.cutmix(x, PAIRS, BOXES),
    "elastic_transform": lambda x: orbbec.elastic_transform(x, 5.0, 1.0, sample_ids=IDS),
    "erase": lambda x: orbbec.erase(x, BOXES[:, None], fill=torch.tensor([3.0, 4.0, 5.0])),
    "gaussian_blur": lambda x: orbbec.gaussian_blur(x, 3, torch.tensor([1.0, 2.0])),
    "gaussian_noise": lambda x: orbbec.gaussian_noise(
        x, torch.tensor([0.0, 0.1]), torch.tensor([0.1, 0.2]), sample_ids=IDS
    ),
    "shot_noise": lambda x: orbbec.shot_noise(x, torch.tensor([0.1, 0.2]), sample_ids=IDS),
    "salt_and_pepper": lambda x: orbbec.salt_and_pepper(
        x, torch.tensor([0.1, 0.2]), torch.tensor([0.3, 0.6]), sample_ids=IDS
    ),
    "mixup": lambda x: orbbec.mixup(x, PAIRS, torch.tensor([0.25, 0.75])),
    "mosaic": lambda x: orbbec.mosaic(x, torch.tensor([[0, 1, 1, 0]]), torch.tensor([[5, 6]]), (11, 13)),
    "pillow_blur": lambda x: orbbec.pillow_blur(x, torch.tensor([0.5, 3.0])),
    "motion_blur": lambda x: orbbec.motion_blur(x, torch.tensor([3, 5]), torch.tensor([30.0, 45.0])),
    "normalize": lambda x: orbbec.normalize(x, torch.tensor([0.5, 0.4, 0.3]), torch.tensor([0.3, 0.2, 0.1])),
    "remap": lambda x: orbbec.remap(x, MAPS, MAPS),
    "resized_crop": lambda x: orbbec.resized_crop(x, BOXES, (4, 5), flips=torch.tensor([True, False])),
    "warp_affine": lambda x: orbbec.warp_affine(x, SHIFTS, (4, 5)),
    "warp_perspective": lambda x: orbbec.warp_perspective(x, torch.cat([SHIFTS, LAST_ROWS], 1), (4, 5)),
}
# Of images alone, or with numbers that are the same for all images.
WITHOUT = {
    *("autocontrast", "channel_statistics", "cvt_color", "equalize", "equalize_hist", "invert"),
    *("resize", "to_float"),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_on_the_host_are_copied_to_the_device_of_the_images(accelerator, name):
    images = photographs(2, 3, 10, 12)
    expected = CALLS[name](images)
    with accelerator.active():
        assert_same_bytes(CALLS[name](accelerator.put(images)), expected)


OF_LISTS = sorted(PER_IMAGE.keys() - {"filter2d", "lut", "median_blur"})


@pytest.mark.parametrize("name", OF_LISTS)
def test_one_number_per_image_may_be_a_list(name):
    images, function = photographs(2, 3, 10, 12), getattr(orbbec, name)
    expected = function(images, PER_IMAGE[name])
    assert_same_bytes(function(images, PER_IMAGE[name].tolist()), expected)
    assert_same_bytes(function(images, tuple(PER_IMAGE[name].numpy())), expected)
    with pytest.raises(ValueError, match=rf"^{name}: expected \w+ of shape \[2\], but got \[3\]"):
        function(images, [1, 1, 1])
    with pytest.raises(TypeError, match=f"^{name}: expected "):
        function(images, [1, "1"])


def test_every_operator_on_images_is_here():
    functions = [getattr(orbbec, name) for name in orbbec.__all__]
    of_images = {
        function.__name__
        for function in functions
        if inspect.isfunction(function) and "images" in inspect.signature(function).parameters
    }
    assert of_images == CALLS.keys() | WITHOUT


def test_a_tensor_on_a_device_is_a_copy_with_the_same_strides_that_is_no_leaf(accelerator):
    view = torch.arange(24.0).reshape(2, 3, 4)[:, 1:, ::2].requires_grad_()
    copy = accelerator.put(view)
    assert (copy.stride(), copy.storage_offset()) == (view.stride(), view.storage_offset())
    assert_same_bytes(copy.detach(), view.detach())
    assert not copy.is_leaf
    assert copy.untyped_storage().data_ptr() != view.untyped_storage().data_ptr()


def test_a_tensor_on_the_cpu_is_itself():
    tensor = torch.ones(2)
    assert Device("cpu").put(tensor) is tensor
