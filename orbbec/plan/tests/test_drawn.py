"""Pipelines that one operator draws and augments, compared with planning; invalid arguments."""

import numpy as np
import pytest
import torch

import orbbec.transforms as T
from tests.support.compare import assert_same_bytes

FLOATS = [T.ToDtype(torch.float32, scale=True), T.Normalize()]
PIPELINES = {
    "training": [T.RandomResizedCrop(9, antialias=False), T.RandomHorizontalFlip(), *FLOATS],
    "evaluation": [T.Resize(12, antialias=False), T.CenterCrop((9, 11)), *FLOATS],
    "padded crop": [T.RandomCrop(24, padding=4, fill=7), T.RandomVerticalFlip(0.9)],
    "half precision": [T.RandomResizedCrop((5, 9), antialias=False), T.ToDtype(torch.float16, scale=True)],
    "channels_last": [T.CenterCrop(9), T.ToDtype(torch.float32, scale=True, channels_last=True)],
}
PIXELS = np.random.default_rng(0).integers(0, 256, (4, 19, 23, 3), dtype=np.uint8)
BATCH = torch.from_numpy(PIXELS).permute(0, 3, 1, 2)
INPUTS = {
    "array": PIXELS[0],
    "arrays": PIXELS,
    "read-only array": np.frombuffer(PIXELS[0].tobytes(), np.uint8).reshape(PIXELS[0].shape),
    "tensor": BATCH[1].contiguous(),
    "tensor, channels_last": BATCH[1],
    "batch": BATCH.contiguous(),
    "one channel": PIXELS[0, :, :, 0],
    "floats": BATCH[2].float() / 255,
}


def one_call_and_step_by_step(pipeline, images, **key):
    """The results of the operator, and of planning and applying with the same seed."""
    torch.manual_seed(3)
    expected = pipeline(images, **key)  # the first call plans step by step
    assert any(template is not None and template.at_once for template in pipeline._templates.values())
    torch.manual_seed(3)
    return pipeline(images, **key), expected


def assert_same(result, expected):
    assert type(result) is type(expected)
    pairs = [torch.as_tensor(each) for each in (result, expected)]
    assert pairs[0].stride() == pairs[1].stride()
    assert_same_bytes(*pairs)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("kind", INPUTS)
@pytest.mark.parametrize("key", [{}, {"epoch": 3}], ids=["anew", "epoch"])
def test_one_call_gives_what_planning_gives(name, kind, key):
    images = INPUTS[kind]
    if kind == "one channel" and FLOATS[1] in PIPELINES[name]:
        pytest.skip("the mean has three channels")
    pipeline = T.Compose(PIPELINES[name], seed=2)
    assert_same(*one_call_and_step_by_step(pipeline, images, **key))


def test_sample_ids_are_drawn_for():
    pipeline, ids = T.Compose(PIPELINES["training"], seed=2), [5, 1, 7, 2]
    result, expected = one_call_and_step_by_step(pipeline, INPUTS["batch"], sample_ids=ids, epoch=4)
    assert_same(result, expected)
    assert not torch.equal(result, pipeline(INPUTS["batch"], epoch=4))


def test_pil_images():
    image = pytest.importorskip("PIL.Image").fromarray(PIXELS[0])
    pipeline = T.Compose(PIPELINES["training"])
    result, expected = one_call_and_step_by_step(pipeline, image)
    assert_same(result, expected)
    assert result.shape == (3, 9, 9)
    assert type(T.Compose(PIPELINES["padded crop"])(image)) is type(image)


def test_arrays_become_tensors():
    result, expected = one_call_and_step_by_step(T.Compose([T.ToImage(), *PIPELINES["training"]]), PIXELS[0])
    assert_same(result, expected)
    assert result.is_contiguous()


def test_a_gradient_goes_by_the_plan():
    pipeline = T.Compose(PIPELINES["training"])
    images = INPUTS["floats"].clone().requires_grad_()
    for _ in range(2):
        pipeline(images).sum().backward()
    assert images.grad.abs().sum() > 0


def test_a_small_image_is_refused_by_name():
    pipeline = T.Compose([T.RandomCrop(15), *FLOATS])
    pipeline(PIXELS[0])
    with pytest.raises(ValueError, match=r"RandomCrop: .*15x15"):
        pipeline(PIXELS[0, :9])


def test_16_bits_are_planned():
    pipeline, images = T.Compose([T.RandomCrop(9)]), PIXELS[0].astype(np.uint16) * 257
    torch.manual_seed(3)
    expected = pipeline(PIXELS[0])
    for _ in range(2):
        torch.manual_seed(3)
        assert (pipeline(images) == expected.astype(np.uint16) * 257).all()


def test_results_of_several_sizes_are_planned():
    pipeline = T.Compose([T.Resize(12, antialias=False), T.RandomHorizontalFlip()])
    shapes = [pipeline(PIXELS[0, :height]).shape for height in (19, 10, 19)]
    assert shapes == [(12, 14, 3), (12, 27, 3), (12, 14, 3)]


OPERATOR = torch.ops.orbbec.augment_drawn.default
PROGRAM = torch.tensor([[3, 0, 0, 9, 9, 0, 0, 0, 0, 0], [5, 1, 0, 0.5, *[0] * 6]], dtype=torch.float64)
GOOD = {
    "images": INPUTS["batch"],
    "sample_ids": torch.arange(4),
    "program": PROGRAM,
    "seed": 1,
    "epoch": 0,
    "crops": True,
    "mean": [0.5],
    "std": [0.5],
    "scale": 1 / 255,
    "interpolation": "linear",
    "border": "replicate",
    "fill": [0.0],
    "out": torch.empty(4, 3, 9, 9),
}


def test_opcheck():
    torch.library.opcheck(OPERATOR, tuple(GOOD.values()))


def test_without_sample_ids_images_are_counted():
    results = [torch.zeros(4, 3, 9, 9) for _ in range(2)]
    for sample_ids, out in zip((None, torch.arange(4)), results, strict=True):
        OPERATOR(*{**GOOD, "sample_ids": sample_ids, "out": out}.values())
    assert_same_bytes(*results)
    assert len({result.numpy().tobytes() for result in results[0]}) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": BATCH[0]}, r"expected images of shape \[N, C, H, W\] on the CPU, but got \[3, 19, 23\]"),
        ({"images": BATCH[:, :, :0]}, "expected images with pixels"),
        ({"images": BATCH[:, :, :5]}, "expected images of at least 9x9, but image 0 is 5x23"),
        ({"images": BATCH.double()}, "augment: expected images of uint8, float16, bfloat16 or float32"),
        ({"sample_ids": torch.arange(3)}, r"expected sample_ids of shape \[4\], but got \[3\]"),
        ({"program": PROGRAM.float()}, r"expected program as contiguous float64 \[K, 10\]"),
        ({"program": PROGRAM + torch.eye(2, 10).roll(2, 1)}, "expected a program of one pass"),
        ({"mean": [0.5, 0.5]}, "augment: expected mean"),
        ({"interpolation": "lanczos4"}, "augment: expected interpolation of nearest, linear or cubic"),
        ({"border": "mirror"}, "augment: expected border"),
        ({"out": torch.empty(4, 3, 9, 8)}, r"expected out of size 9x9, but got \[4, 3, 9, 8\]"),
        ({"out": torch.empty(4, 1, 9, 9)}, r"augment: expected out"),
        ({"out": torch.empty(3, 9, 9)}, r"expected out of shape \[N, C, H, W\] on the CPU"),
    ],
)
def test_bad_calls(changed, message):
    with pytest.raises(ValueError, match=message):
        OPERATOR(*{**GOOD, **changed}.values())


def test_a_template_of_two_passes_has_none():
    pipeline = T.Compose([T.RandomResizedCrop(9), *FLOATS])
    pipeline(PIXELS[0])
    (template,) = pipeline._templates.values()
    assert template is None or template.at_once is None
    exact = T.Compose(PIPELINES["training"], exact=True)
    exact(PIXELS[0])
    assert not any(exact._templates.values())
