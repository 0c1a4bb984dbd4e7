"""16-bit images: moved and filtered without loss, divided by 65535 when they become floats."""

import numpy as np
import pytest
import torch

from orbbec import gaussian_blur, mixup, resize, warp_affine
from orbbec import transforms as T
from orbbec.plan import Plan
from orbbec.transforms.tests.test_compose import ALL
from tests.support.samples import photograph


def deep(height=37, width=53, channels=1, seed=0):
    """An array `[H, W, C]` with the full range."""
    return np.random.default_rng(seed).integers(0, 65536, (height, width, channels), np.uint16)


def moved(transform, images, **options):
    return T.Compose([transform], **options)(images)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (T.RandomHorizontalFlip(p=1.0), lambda a: a[:, ::-1]),
        (T.RandomVerticalFlip(p=1.0), lambda a: a[::-1]),
        (T.CenterCrop((20, 30)), lambda a: a[8:28, 12:42]),
        (T.CenterCrop((41, 53)), lambda a: np.pad(a, ((2, 2), (0, 0), (0, 0)))),
        (T.Pad((1, 2), fill=54321), lambda a: np.pad(a, ((2, 2), (1, 1), (0, 0)), constant_values=54321)),
        (T.Pad(3, fill=70000), lambda a: np.pad(a, ((3, 3), (3, 3), (0, 0)), constant_values=65535)),
        (T.Pad(3, padding_mode="reflect"), lambda a: np.pad(a, ((3, 3), (3, 3), (0, 0)), "reflect")),
        (T.Resize((37, 106), "nearest", antialias=False), lambda a: a.repeat(2, axis=1)),
    ],
    ids=lambda value: value.name if isinstance(value, T.Transform) else "",
)
def test_what_moves_pixels_keeps_their_16_bits(transform, expected, channels, exact):
    array = deep(channels=channels)
    actual = moved(transform, array, exact=exact)
    assert actual.dtype == np.uint16
    assert np.array_equal(actual, expected(array))


@pytest.mark.parametrize("antialias", [False, True])
def test_resize_is_that_of_the_operator(antialias):
    array = deep(channels=3)
    actual = moved(T.Resize((20, 31), antialias=antialias), array, exact=True)
    assert np.array_equal(actual, resize(array, (20, 31), antialias=antialias))


@pytest.mark.parametrize("border", ["constant", "replicate"])
def test_a_rotation_is_that_of_opencv(border):
    cv2 = pytest.importorskip("cv2")
    array = photograph(60, 80, 3, "uint16")
    turn = T.RandomRotation((30, 30), interpolation="linear", fill=1000)
    plan = T.Compose([turn]).plan([(60, 80)], dtype="uint16")
    expected = cv2.warpAffine(
        array,
        plan.matrix[0, :2],
        (80, 60),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderValue=(1000,) * 3,
    )
    assert np.array_equal(T.Compose([turn])(array), expected)


@pytest.mark.parametrize(
    ("images", "shape"),
    [
        (deep()[..., 0], (8, 9)),
        (deep(channels=4), (8, 9, 4)),
        (np.stack([deep(), deep(seed=1)]), (2, 8, 9, 1)),
        (torch.from_numpy(deep(channels=3)).permute(2, 0, 1), (3, 8, 9)),
        (torch.from_numpy(deep(channels=3)).permute(2, 0, 1)[None], (1, 3, 8, 9)),
        (torch.zeros(0, 3, 20, 20, dtype=torch.uint16), (0, 3, 8, 9)),
        ([deep(), deep(20, 30)], (2, 1, 8, 9)),
    ],
)
@pytest.mark.parametrize("antialias", [False, True])
def test_the_kind_that_goes_in_comes_out(images, shape, antialias):
    result = moved(T.RandomResizedCrop((8, 9), antialias=antialias), images)
    assert (tuple(result.shape), str(result.dtype).removeprefix("torch.")) == (shape, "uint16")


def test_variable_size_results_are_a_list():
    arrays = [deep(), deep(20, 30)]
    results = T.Compose([T.Pad(1, fill=5), T.RandomHorizontalFlip(p=1.0)])(arrays)
    for result, array in zip(results, arrays, strict=True):
        expected = np.pad(array, ((1, 1), (1, 1), (0, 0)), constant_values=5)[:, ::-1]
        assert np.array_equal(result.permute(1, 2, 0).numpy(), expected)


def test_an_output_buffer_is_written():
    images = torch.from_numpy(deep(channels=3)).permute(2, 0, 1)[None]
    pipeline = T.Compose([T.CenterCrop(10)])
    out = torch.empty(1, 3, 10, 10, dtype=torch.uint16)
    pipeline.apply(pipeline.plan([(37, 53)], dtype="uint16"), images, out=out)
    assert torch.equal(out, pipeline(images))


@pytest.mark.parametrize("mode", ["I;16", "I;16B", "I;16L"])
def test_pil_images_of_16_bits_come_out_as_such(mode):
    image = pytest.importorskip("PIL.Image")
    array = deep()[..., 0]
    order = ">" if mode.endswith("B") else "<"
    given = image.frombytes(mode, array.shape[::-1], array.astype(f"{order}u2").tobytes())
    pipeline = T.Compose([T.RandomHorizontalFlip(p=1.0), T.CenterCrop((20, 30))])
    result = pipeline(given)
    assert (result.mode, result.size) == ("I;16", (30, 20))
    assert np.array_equal(np.asarray(result), array[:, ::-1][8:28, 12:42])
    assert [each.mode for each in pipeline([given, given])] == ["I;16", "I;16"]
    floats = T.Compose([T.ToDtype(torch.float32, scale=True)])(given)
    assert torch.equal(floats[0], torch.from_numpy(array).float() * (1 / 65535))


def test_three_channels_of_16_bits_are_a_tensor_since_pillow_has_none():
    gray = pytest.importorskip("PIL.Image").fromarray(deep()[..., 0])
    for result in (T.RGB()(gray), *T.RGB()([gray])):
        assert np.array_equal(result.numpy(), np.stack([deep()[..., 0]] * 3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_floats_are_a_65535th(dtype):
    every = torch.arange(65536, dtype=torch.int32).to(torch.uint16).reshape(1, 256, 256)
    scaled, kept = (T.ToDtype(dtype, scale=scale)(every) for scale in (True, False))
    assert torch.equal(scaled, (every.float() * (1 / 65535)).to(dtype))
    assert torch.equal(kept, every.float().to(dtype))


def test_floats_of_16_bits_go_through_the_rest():
    images = torch.from_numpy(deep(channels=3)).permute(2, 0, 1)[None]
    rest = [T.ColorJitter(0.4, 0.4), T.RandomErasing(p=1.0, value=0.5), T.Pad(2, fill=0.5), T.Normalize()]
    first = [T.RandomHorizontalFlip(p=1.0), T.ToDtype(torch.float32, scale=True)]
    actual = T.Compose([*first, *rest])(images, sample_ids=[5])
    pipeline = T.Compose([T.Lambda(torch.clone), T.Lambda(torch.clone), *rest])  # draws at the same positions
    floats = torch.from_numpy(images.numpy()[..., ::-1].copy()).float() * (1 / 65535)
    assert torch.equal(actual, pipeline(floats, sample_ids=[5]))


def test_fill_after_unscaled_floats_is_in_their_units():
    array = deep()
    result = T.Compose([T.ToDtype(torch.float32), T.Pad(1, fill=50000)])(array)
    assert np.array_equal(
        result, np.pad(array, ((1, 1), (1, 1), (0, 0)), constant_values=50000).astype(np.float32)
    )


def test_filters_and_mixing_take_16_bits():
    images = torch.from_numpy(deep(channels=3)).permute(2, 0, 1)[None].repeat(4, 1, 1, 1)
    pipeline = T.Compose([T.RandomHorizontalFlip(), T.RandomApply([T.GaussianBlur(3, 1.0)], p=0.5)])
    blurred = pipeline(images, sample_ids=range(4))
    flipped = T.Compose([T.RandomHorizontalFlip()])(images, sample_ids=range(4))
    chosen = [not torch.equal(one, other) for one, other in zip(blurred, flipped, strict=True)]
    assert 0 < sum(chosen) < 4
    assert torch.equal(blurred[chosen], gaussian_blur(flipped[chosen], 3, 1.0))
    flips = T.Compose([T.RandomHorizontalFlip(), T.CutMix()])(images, sample_ids=range(4))
    assert (flips.dtype, flips.shape) == (torch.uint16, images.shape)
    plan = T.Compose([T.MixUp()]).plan([(37, 53)] * 4, dtype="uint16", epoch=0)
    table = plan.passes[0].table
    expected = mixup(images, torch.tensor(table["pair_indices"]), torch.tensor(table["weights"]))
    assert torch.equal(T.Compose([T.MixUp()]).apply(plan, images), expected)


@pytest.mark.parametrize(
    "transform",
    [
        T.ColorJitter(0.4),
        T.RandomInvert(p=1.0),
        T.RandomGrayscale(p=1.0),
        T.Grayscale(),
        T.Gamma(),
        T.RandomSolarize(0.5),
        T.RandomErasing(p=1.0),
        T.RandomAdjustSharpness(2.0, p=1.0),
        T.GaussianNoise(),
        T.AugMix(),
        T.RandAugment(),
        T.ToDtype(torch.uint8, scale=True),
    ],
    ids=lambda transform: transform.name,
)
@pytest.mark.parametrize("exact", [False, True])
def test_what_knows_no_16_bits_says_what_to_do(transform, exact):
    message = "expected images of uint8 or floats, but got uint16; put ToDtype"
    with pytest.raises(ValueError, match=f"{transform.name}: {message}"):
        moved(transform, deep(channels=3), exact=exact)


@pytest.mark.parametrize(
    "transform", [T.JPEG(50), T.RandomEqualize(p=1.0), T.RandomAutocontrast(p=1.0)], ids=lambda t: t.name
)
def test_what_takes_bytes_alone_says_so(transform):
    message = "expected images of uint8, but got uint16; give images of 8 bits"
    with pytest.raises(ValueError, match=f"{transform.name}: {message}"):
        moved(transform, deep(channels=3))


def test_floats_are_normalized_first_of_all_scaled():
    with pytest.raises(
        ValueError, match=r"Normalize: expected floats; put ToDtype\(torch.float32, scale=True\)"
    ):
        moved(T.Normalize(0.5, 0.5), deep())


def test_other_dtypes_are_refused_by_name():
    with pytest.raises(TypeError, match="of uint8, uint16, float16, bfloat16 or float32, but got float64"):
        moved(T.Pad(1), deep().astype(np.float64))


def test_targets_follow_and_a_plan_can_be_kept():
    array = deep()
    pipeline = T.Compose([T.RandomHorizontalFlip(p=1.0), T.Resize((74, 106))])
    _, target = pipeline(array, {"boxes": np.array([[0.0, 0, 10, 10]])})
    assert target["boxes"].tolist() == [[86, 0, 106, 20]]
    plan = pipeline.plan([(37, 53)], dtype="uint16", channels=1)
    again = Plan.from_json(plan.to_json())
    assert np.array_equal(pipeline.apply(again, array), pipeline(array))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.uint16])
@pytest.mark.parametrize("scale", [False, True])
def test_floats_have_the_layout_that_is_asked_for(dtype, scale):
    to_floats = T.ToDtype(torch.float32, scale=scale, channels_last=True)
    result = to_floats(torch.zeros(2, 3, 6, 7, dtype=dtype))
    assert result.is_contiguous(memory_format=torch.channels_last)


def test_one_of_several_interpolations_is_that_of_the_operator():
    images = [deep(channels=3, seed=seed) for seed in range(6)]
    transform = T.RandomResizedCrop(16, (1.0, 1.0), (53 / 37, 53 / 37), interpolation="random")
    results = moved(transform, images)
    for result, image in zip(results, images, strict=True):
        both = [resize(image, (16, 16), interpolation=name, antialias=True) for name in ("linear", "cubic")]
        assert any(np.array_equal(result.permute(1, 2, 0), each) for each in both)


def test_lanczos_warps_are_those_of_the_operator():
    array = deep(channels=3)
    pipeline = T.Compose([T.RandomRotation((30, 30), "lanczos", padding_mode="wrap")])
    plan = pipeline.plan([(37, 53)], dtype="uint16")
    options = {"interpolation": "lanczos4", "border": "wrap", "inverse": True}
    expected = warp_affine(array, plan.matrix[0, :2], (37, 53), **options)
    assert np.array_equal(pipeline(array), expected)


SIXTEEN = {
    *("AlignFaces", "AlignPoints", "AtLeastOneBBoxRandomCrop", "BBoxSafeRandomCrop", "BoxBlur", "CenterCrop"),
    *(
        "ChromaticAberration",
        "ClampBoundingBoxes",
        "ConvertBoundingBoxFormat",
        "Crop",
        "CropAndPad",
        "Downscale",
    ),
    *(
        "ElasticTransform",
        "Emboss",
        "GaussianBlur",
        "GridDistortion",
        "Letterbox",
        "MedianBlur",
        "MotionBlur",
    ),
    *("OpticalDistortion", "PILToTensor", "Pad", "PadIfNeeded", "RGB", "RandomAffine", "RandomCrop"),
    *("RandomHalfBody", "RandomHorizontalFlip", "RandomIoUCrop", "RandomPerspective", "RandomResize"),
    *("RandomResizedCrop", "RandomRotation", "RandomScale", "RandomShift", "RandomShortestSize"),
    *("RandomSizedCrop", "RandomVerticalFlip", "RandomZoomOut", "Resize", "ResizeKeepRatio", "ResizeToFit"),
    *(
        "ResizeToHeight",
        "ResizeToMultiple",
        "RingingOvershoot",
        "SanitizeBoundingBoxes",
        "ScaleJitter",
        "Sharpen",
        "ToDtype",
    ),
    *("ToImage", "ToPureTensor", "ToTensor", "CropNonEmptyMaskIfExists", "Perspective", "SafeRotate"),
    *("AdvancedBlur", "LineBlur", "RandomCropFromBorders", "RandomGridShuffle", "ThinPlateSpline"),
}


@pytest.mark.parametrize("transform", ALL, ids=lambda t: t.name)
def test_the_transforms_that_take_16_bits_are_these(transform):
    images = torch.arange(2 * 3 * 40 * 50, dtype=torch.int32).reshape(2, 3, 40, 50).to(torch.uint16)
    fills_rectangle = transform.name == "ResizeToHeight" and transform.fill is not None
    if transform.name in SIXTEEN and not fills_rectangle:
        assert len(T.Compose([transform], seed=3)(images, epoch=1)) == 2
        return
    with pytest.raises((TypeError, ValueError), match=r"uint16|at most 255"):
        T.Compose([transform], seed=3)(images, epoch=1)
