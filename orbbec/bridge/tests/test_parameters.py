"""Parameters that operators cannot use: those that need a gradient, and sizes without an order."""

import pytest
import torch

import orbbec

IMAGES = torch.linspace(0, 1, 2 * 3 * 8 * 9).view(2, 3, 8, 9)
BOXES = torch.tensor([0, 0, 3, 3])
SHIFT = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
# Each call takes two floats, one per image.
CALLS = {
    ("adjust_brightness", "brightness_factor"): orbbec.adjust_brightness,
    ("adjust_contrast", "contrast_factor"): orbbec.adjust_contrast,
    ("adjust_gamma", "gamma"): orbbec.adjust_gamma,
    ("adjust_saturation", "saturation_factor"): orbbec.adjust_saturation,
    ("adjust_sharpness", "sharpness_factor"): orbbec.adjust_sharpness,
    ("elastic_transform", "alpha"): orbbec.elastic_transform,
    ("elastic_transform", "sigma"): lambda images, numbers: orbbec.elastic_transform(images, 5.0, numbers),
    ("erase", "fill"): lambda images, numbers: orbbec.erase(images, BOXES, fill=numbers[:1]),
    ("filter2d", "kernel"): lambda images, numbers: orbbec.filter2d(images, numbers.expand(3, 3, 2).mT[:2]),
    ("gaussian_blur", "sigma"): lambda images, numbers: orbbec.gaussian_blur(images, 3, numbers),
    ("gaussian_noise", "sigma"): lambda images, numbers: orbbec.gaussian_noise(images, 0.0, numbers),
    ("mixup", "weights"): lambda images, numbers: orbbec.mixup(images, [1, 0], numbers),
    ("motion_blur", "angle_degrees"): lambda images, numbers: orbbec.motion_blur(images, 3, numbers),
    ("normalize", "mean"): lambda images, numbers: orbbec.normalize(images, numbers[:1], 1.0),
    ("normalize", "std"): lambda images, numbers: orbbec.normalize(images, 0.0, numbers[:1]),
    ("pillow_blur", "radius"): lambda images, numbers: orbbec.pillow_blur(images.byte(), numbers),
    ("salt_and_pepper", "amount"): orbbec.salt_and_pepper,
    ("sharpen", "amount"): orbbec.sharpen,
    ("shot_noise", "scale"): orbbec.shot_noise,
    ("solarize", "threshold"): orbbec.solarize,
    ("warp_affine", "fill"): lambda images, numbers: orbbec.warp_affine(
        images, SHIFT, (8, 9), fill=numbers[:1]
    ),
}


@pytest.mark.parametrize(("op", "name"), CALLS)
def test_a_parameter_that_needs_a_gradient_is_refused_by_name(op, name):
    call, numbers = CALLS[op, name], torch.nn.Parameter(torch.tensor([0.25, 0.5]))
    with pytest.raises(ValueError, match=f"{op}: there is no gradient for {name}; detach it"):
        call(IMAGES, numbers)
    with torch.no_grad():
        call(IMAGES, numbers)
    call(IMAGES, numbers.detach())


@pytest.mark.parametrize(("mean", "std", "name"), [("a", 1.0, "mean"), (0.0, [1, "b", 2], "std")])
def test_a_number_per_channel_is_named(mean, std, name):
    with pytest.raises(TypeError, match=f"normalize: expected {name} as a number or one per channel"):
        orbbec.normalize(IMAGES, mean, std)


@pytest.mark.parametrize("size", [{4, 5}, frozenset((4, 5)), {4: 1, 5: 2}], ids=["set", "frozenset", "dict"])
def test_a_size_without_an_order_is_refused_by_name(size):
    with pytest.raises(TypeError, match=r"resize: expected size as \(height, width\), but got"):
        orbbec.resize(IMAGES, size)
    with pytest.raises(TypeError, match=r"warp_affine: expected size as \(height, width\), but got"):
        orbbec.warp_affine(IMAGES, SHIFT, size)


@pytest.mark.parametrize("size", [{4, 5}, (4, None), (None, 5)], ids=["set", "no width", "no height"])
def test_boxes_are_clipped_to_whole_sizes_only(size):
    with pytest.raises(ValueError, match=r"clip_boxes_to_image: expected size as \(height, width\)"):
        orbbec.clip_boxes_to_image(torch.tensor([[0.0, 0.0, 9.0, 9.0]]), size)


def test_a_whole_number_is_one_number():
    boxes, scores = torch.tensor([[0.0, 0.0, 5.0, 5.0]]), torch.tensor([0.5])
    with pytest.raises(TypeError, match="nms: expected max_output as a whole number, but got tensor"):
        orbbec.nms(boxes, scores, 0.5, max_output=torch.tensor([1, 2]))


def test_sides_of_a_motion_blur_may_be_tensors():
    expected = orbbec.motion_blur(IMAGES, (5, 5), 30.0)
    actual = orbbec.motion_blur(IMAGES, (torch.tensor(5), torch.tensor(5)), 30.0)
    assert torch.equal(actual, expected)
