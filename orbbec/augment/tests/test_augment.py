"""augment compared with the warps and NumPy, worked by hand, and inside torch."""

import re
from functools import partial

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, augments, photograph, photographs
from tests.support.augments import CONTRAST, GAMMA, HUE, MATRIX, POSTERIZE, SOLARIZE
from tests.support.augments import fused as augment
from tests.support.warps import random_warps

DTYPES = (torch.uint8, torch.float16, torch.bfloat16, torch.float32)
BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap")
EXACT = (MATRIX, HUE, POSTERIZE, SOLARIZE)
FLIP = torch.tensor([[-1.0, 0, 3], [0, 1, 0]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_matrices_of_two_rows_are_completed(device, dtype):
    images, rows = device.put(photographs(3, 3, 20, 30)), random_warps("warp_affine", (20, 30), (25, 35), 3)
    rows = rows.to(dtype)
    whole = torch.cat([rows, torch.tensor([0.0, 0, 1], dtype=dtype).expand(3, 1, 3)], 1)
    expected = orbbec.augment(images, device.put(whole), (25, 35))
    assert_same_bytes(orbbec.augment(images, device.put(rows), (25, 35)), expected)
    assert_same_bytes(orbbec.augment(images, rows, (25, 35)), expected)
    assert_same_bytes(orbbec.augment(images, rows[1], (25, 35))[1], expected[1])


def images_of(dtype, count=3, channels=3, height=21, width=34, seed=0):
    images = photographs(count, channels, height, width, seed=seed)
    return images if dtype == torch.uint8 else (images / 255).to(dtype)


def draw_program(rng, count, codes):
    """`[count, len(codes), 16]`: these steps in order, with random numbers per image."""
    program = np.zeros((count, len(codes), 16), np.float32)
    for row, code in zip(program.reshape(-1, 16), list(codes) * count, strict=True):
        row[0] = code
        if code == MATRIX:
            row[1:13] = np.concatenate([np.eye(3).ravel() + rng.normal(0, 0.3, 9), rng.normal(0, 0.2, 3)])
        elif code == POSTERIZE:
            row[1] = rng.integers(0, 9)
        elif code == HUE:
            row[1] = rng.uniform(-0.5, 0.5)
        elif code == SOLARIZE:
            row[1:4] = rng.random(), rng.integers(2), rng.random() * rng.integers(2)
        else:
            row[1:3] = rng.uniform(0.2, 2.5), rng.uniform(0.5, 1.5)
    return program


def draw_call(seed, channels=None, codes=None, size=None):
    """A random call: images, matrix, size and options."""
    rng = np.random.default_rng(seed)
    dtype, target = DTYPES[seed % 4], DTYPES[rng.integers(4)]
    channels = channels or int(rng.choice((1, 3)))
    images = images_of(dtype, 2, channels, *rng.integers(1, 40, 2).tolist(), seed)
    size = size or tuple(rng.integers(1, (9, 40, 300)[rng.integers(3)], 2).tolist())
    matrix = np.eye(3) + rng.normal(0, 1, (2, 3, 3)) * [[0.3, 0.3, 5], [0.3, 0.3, 5], [0.001, 0.001, 0]]
    if codes is None:
        codes = rng.permutation([*EXACT, GAMMA, CONTRAST])[: rng.integers(4)]
    corners, sides = rng.integers(-5, 30, (2, 2, 2)), rng.integers(0, 20, (2, 2, 2))
    boxes = np.concatenate([corners, corners + sides, rng.random((2, 2, 4))], -1).astype(np.float32)
    options = {
        "colors": torch.from_numpy(draw_program(rng, 2, codes)) if len(codes) else None,
        "erase": torch.from_numpy(boxes) if seed % 3 else None,
        "dtype": target,
        "interpolation": ("nearest", "linear")[seed // 4 % 2],
        "border": BORDERS[seed % 5],
        "fill": 77 if dtype == torch.uint8 else 0.25,
    }
    if target != torch.uint8:
        options |= {"mean": rng.uniform(0.3, 0.6, channels).tolist(), "std": [0.5] * channels}
    return images, torch.from_numpy(matrix if seed % 3 else matrix[:, :2]), size, options


def run(device, images, matrix, size, options):
    """The call with its tensors on a device."""
    put = {
        name: device.put(value) if isinstance(value, torch.Tensor) else value
        for name, value in options.items()
    }
    return augment(device.put(images), device.put(matrix), size, **put)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_a_map_alone_is_a_warp(device, dtype, interpolation, channels):
    size = (7, 300)
    images = device.put(images_of(dtype, channels=channels))
    for border in BORDERS:
        options = {"interpolation": interpolation, "border": border, "fill": 7}
        matrices = device.put(random_warps("warp_perspective", (21, 34), size, 3))
        expected = orbbec.warp_perspective(images, matrices, size, inverse=True, **options)
        assert_same_bytes(augment(images, matrices, size, **options), expected)
        last = images.contiguous(memory_format=torch.channels_last)
        assert_same_bytes(augment(last, matrices, size, **options), expected)
        if interpolation != "cubic":
            matrices = device.put(random_warps("warp_affine", (21, 34), size, 3))
            expected = orbbec.warp_affine(images, matrices, size, inverse=True, **options)
            assert_same_bytes(augment(images, matrices, size, **options), expected)


@pytest.mark.parametrize("seed", range(40))
def test_exact_steps_are_those_of_numpy(device, seed):
    rng = np.random.default_rng(seed)
    call = draw_call(seed, codes=rng.permutation(EXACT)[: rng.integers(4)])
    images, matrix, size, options = call
    assert_same_bytes(run(device, *call), augments.augment(images, matrix, size, **options))


# As fractions of the maximum value: twice the largest difference in 400 calls.
TOLERANCES = {GAMMA: 3.6e-7, CONTRAST: 2.4e-7}


@pytest.mark.parametrize("code", TOLERANCES)
@pytest.mark.parametrize("channels", [1, 3])
def test_other_steps_are_near_those_of_numpy(device, code, channels):
    for seed in range(8):
        images, matrix, size, options = draw_call(seed, channels, codes=(MATRIX, code))
        options |= {"dtype": torch.float32, "mean": None, "std": None}
        expected = augments.augment(images, matrix, size, **options)
        actual = run(device, images, matrix, size, options).cpu()
        assert (actual - expected).abs().max() <= TOLERANCES[code]


@pytest.mark.parametrize("seed", range(30))
def test_the_accelerator_gives_the_bits_of_the_cpu(accelerator, seed):
    call = draw_call(seed)
    with accelerator.active():
        actual = run(accelerator, *call)
        again = run(accelerator, *call)
    expected = augment(*call[:3], **call[3])
    assert_same_bytes(actual, expected)
    assert_same_bytes(again, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("layout", ["planes", "pixels", "gray"])
def test_the_accelerator_scales_with_the_bits_of_the_cpu(accelerator, dtype, border, layout):
    images = images_of(dtype, 3, 1 if layout == "gray" else 3, 23, 37)
    if layout == "pixels":
        images = images.contiguous(memory_format=torch.channels_last)
    steps = [(MATRIX, 1.2, 0, 0, 0, 0.9, 0, 0, 0, 1), (CONTRAST, 1.3), (HUE, -0.4), (SOLARIZE, 0.6)]
    program = torch.zeros(3, 12, 16)
    for step, row in enumerate(steps * 3):
        program[:, step, : len(row)] = torch.tensor(row)
    for scale, count in ((0.4, 0), (1, 4), (1.3, 4), (2.1, 12)):
        matrix = torch.tensor([[scale, 0, -1.5], [0, scale, 0.25]]).repeat(3, 1, 1)
        matrix[1, 0] = torch.tensor([-scale, 0, 38.5])
        matrix[2, 1] = torch.tensor([0, -scale, 22.5])
        options = {"colors": program[:, :count] if count else None, "border": border, "dtype": dtype}
        call = images, matrix, (43, 35), options
        expected = augment(*call[:3], **options)
        with accelerator.active():
            assert_same_bytes(run(accelerator, *call), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("level", ["scalar", "avx2"])
def test_vectors_change_nothing(monkeypatch, seed, level):
    images, matrix, size, options = draw_call(seed, size=(5, (15, 33, 255, 520)[seed // 2 % 4]))
    images = images.contiguous(memory_format=torch.channels_last) if seed % 2 else images
    expected = augment(images, matrix, size, **options)
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_bytes(augment(images, matrix, size, **options), expected)


SCALES = [
    (0.4, 0.5),
    (-0.7, 1),
    (0.3, -0.9),
    (1.1, 1.2),
    (2, 0.05),
    (1.7, 3.1),
    (-0.9, 1.4),
    (0.01, 0.01),
    (0, 1),
    (1, 0),
    (np.nan, 1),
    (1, np.nan),
]


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("border", BORDERS)
def test_scaled_images_have_the_bits_of_any_other(monkeypatch, level, channels, border):
    """Matrices without rotation and shear, reading inside and outside, with and without kept rows."""
    rng = np.random.default_rng(channels)
    matrices = np.zeros((len(SCALES), 2, 3))
    matrices[:, [0, 1], [0, 1]] = SCALES
    options = {"border": border, "channels_last": channels % 2 == 1}
    for dtype, (height, width) in ((torch.uint8, (21, 34)), (torch.float32, (13, 50)), (torch.uint8, (2, 3))):
        matrices[:, :, 2] = rng.uniform(-4, 20, (len(SCALES), 2))
        images = images_of(dtype, len(SCALES), channels, height, width)
        if channels in (1, 3):
            options["colors"] = torch.from_numpy(draw_program(rng, len(SCALES), [CONTRAST, MATRIX]))
        for memory_format in (torch.contiguous_format, torch.channels_last):
            given = images.contiguous(memory_format=memory_format)
            for size in ((17, 85), (9, 530), (33, 15)):
                results = []
                for simd in ("scalar", level):
                    monkeypatch.setenv("ORBBEC_SIMD", simd)
                    results.append(augment(given, torch.from_numpy(matrices), size, dtype=dtype, **options))
                assert_same_bytes(results[1], results[0])


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("border", BORDERS)
def test_scaled_bytes_are_normalized_with_the_bits_of_any_other(monkeypatch, level, border):
    """No step between matrix and finish, also for images that end at the end of their memory."""
    rng = np.random.default_rng(3)
    matrices = np.zeros((len(SCALES), 2, 3))
    matrices[:, [0, 1], [0, 1]] = SCALES
    options = {"border": border, "dtype": torch.float32, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.25]}
    for height, width in ((1, 2), (2, 3), (1, 9), (9, 1), (7, 5), (21, 34)):
        matrices[:, :, 2] = rng.uniform(-4, 20, (len(SCALES), 2))
        part = torch.tensor([[0, 0, width, height], [width // 2, height // 2, width, height]])
        for memory_format in (torch.contiguous_format, torch.channels_last):
            images = images_of(torch.uint8, len(SCALES), 3, height, width)
            images = images.contiguous(memory_format=memory_format)
            for size, regions in (((17, 85), None), ((9, 530), part.repeat(6, 1)), ((33, 16), None)):
                results = []
                for simd in ("scalar", level):
                    monkeypatch.setenv("ORBBEC_SIMD", simd)
                    call = images, torch.from_numpy(matrices), size
                    results.append(augment(*call, regions=regions, **options))
                assert_same_bytes(results[1], results[0])


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_any_float_becomes_the_byte_nearest_to_it(monkeypatch, level, channels_last):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**32, (2, 3, 9, 77), np.uint32).view(np.float32)
    values[1] = rng.uniform(-1, 2, values[1].shape)
    with np.errstate(over="ignore", invalid="ignore"):
        levels = values * np.float32(255)
    held = (levels >= -(2**31)) & (levels < 2**31)  # values beyond int become INT_MIN, hence black
    expected = np.where(held, levels, 0).round().clip(0, 255).astype(np.uint8)
    options = {"interpolation": "nearest", "dtype": torch.uint8, "channels_last": channels_last}
    result = augment(torch.from_numpy(values), torch.eye(3), (9, 77), **options)
    np.testing.assert_array_equal(result.numpy(), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_are_rounded_as_torch_rounds_them(device, dtype):
    bits = np.random.default_rng(0).integers(0, 2**32, 4096, np.uint32)
    special = np.array([0, np.nan, -np.nan, np.inf, 65504, 65519.99, 65520, 2**-14, 2**-24, 2**-25, 1e-40])
    values = np.concatenate([bits.view(np.float32), special.astype(np.float32), -special.astype(np.float32)])
    image = torch.from_numpy(values).view(1, 1, -1)
    result = augment(device.put(image), torch.eye(3), (1, len(values)), interpolation="nearest", dtype=dtype)
    same = result.cpu().view(torch.int16) == image.to(dtype).view(torch.int16)
    assert bool((same | image.isnan()).all())
    assert bool((result.cpu().isnan() == image.isnan()).all())


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["avx2", "avx512"])
@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_vectors_of_halves_have_the_bits_of_single_ones(monkeypatch, level, interpolation, dtype):
    bits = np.random.default_rng(0).integers(0, 2**32, (2, 3, 31, 99), np.uint32)
    images = torch.from_numpy(bits.view(np.float32))
    images[0, :, :, ::2] = torch.from_numpy(np.random.default_rng(1).normal(0, 1e-4, (3, 31, 50)))
    stored = []
    for simd in ("scalar", level):
        monkeypatch.setenv("ORBBEC_SIMD", simd)
        options = {"interpolation": interpolation, "border": "replicate", "dtype": dtype}
        stored.append(augment(images, torch.eye(3) * torch.tensor([0.7, 1, 1]), (31, 99), **options))
    assert bool(stored[0].isnan().any() and (stored[0] < 0).any())
    assert_same_bytes(*stored)


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32], ids=str)
def test_whole_pixels_are_copied(device, interpolation, dtype):
    images = device.put(images_of(dtype, count=5, width=600))
    check_whole_pixels(images, interpolation, [3, 0, 1])


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_each_level_of_vectors_copies_whole_pixels(monkeypatch, level, channels):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    check_whole_pixels(images_of(torch.uint8, 5, channels, width=600), "linear", 7)


def check_whole_pixels(images, interpolation, fill):
    flips = torch.tensor([[1.0, 1], [-1, 1], [1, -1], [-1, -1], [1, 1]])
    matrices = torch.zeros(5, 2, 3)
    matrices[:, 0, 0], matrices[:, 1, 1] = flips.T
    matrices[:, :, 2] = torch.tensor([[0.0, 0], [599, 0], [3, 20], [620, 15], [-7, -2]])
    inversion = torch.zeros(1, 16, device=images.device)
    inversion[0, [0, 1, 5, 9]] = torch.tensor([float(MATRIX), -1, -1, -1], device=images.device)
    inversion[0, 10:13] = 1
    for border in BORDERS:
        options = {"interpolation": interpolation, "border": border, "fill": fill}
        expected = orbbec.warp_affine(images, matrices, (21, 600), inverse=True, **options)
        scaled = expected * torch.tensor(1 / 255, device=expected.device)
        for memory_format in (torch.contiguous_format, torch.channels_last):
            given = images.contiguous(memory_format=memory_format)
            for last in (False, True):
                call = partial(augment, given, matrices, (21, 600), **options, channels_last=last)
                assert_same_bytes(call(), expected)
                if images.dtype == torch.uint8:
                    assert_same_bytes(call(dtype=torch.float32), scaled)
                if images.dtype == torch.uint8 and images.shape[1] < 4:
                    assert_same_bytes(call(colors=inversion), 255 - expected)


def test_by_hand(device):
    image = device.put(torch.tensor([[[[0, 50, 100, 255]]]], dtype=torch.uint8))
    invert = torch.zeros(1, 16)
    invert[0, [0, 1, 5, 9, 10, 11, 12]] = torch.tensor([MATRIX, -1.0, -1, -1, 1, 1, 1])
    box = torch.tensor([[1.0, 0, 2, 1, 1, 1, 1, 1]])
    result = augment(image, FLIP, (1, 4), colors=device.put(invert), erase=device.put(box))
    assert result.flatten().tolist() == [0, 255, 205, 255]
    signed = augment(image, FLIP, (1, 4), dtype=torch.float32, mean=0.5, std=0.5)
    assert signed.flatten().tolist()[::3] == [1.0, -1.0]


def test_the_mean_of_contrast_is_that_of_the_output(device):
    images = device.put(images_of(torch.float32))
    contrast = torch.zeros(1, 16)
    contrast[0, :2] = torch.tensor([CONTRAST, 0.0])
    crop = torch.tensor([[1.0, 0, 5], [0, 1, 3]])
    result = augment(images, crop, (8, 9), colors=device.put(contrast))
    weights = torch.tensor([0.2989, 0.587, 0.114]).view(1, 3, 1, 1).to(images.device)
    means = (images[:, :, 3:11, 5:14] * weights).sum(1).mean((1, 2))
    assert (result - means.view(3, 1, 1, 1)).abs().max() <= 1e-6


@pytest.mark.parametrize("border", ["constant", "replicate", "reflect101"])
def test_a_region_is_an_image_of_its_own(device, border):
    images = device.put(images_of(torch.uint8))
    matrices = device.put(random_warps("warp_affine", (9, 20), (11, 40), 3))
    regions = torch.tensor([[4, 2, 24, 11], [-3, -3, 17, 6], [30, 15, 90, 90]])
    together = augment(images, matrices, (11, 40), regions=regions, border=border, fill=9)
    for n, (left, top, right, bottom) in enumerate(regions.clamp(min=0).tolist()):
        part = images[n : n + 1, :, top:bottom, left:right]
        alone = augment(part, matrices[n], (11, 40), border=border, fill=9)
        assert_same_bytes(together[n : n + 1], alone)


def test_an_empty_region_is_all_fill(device):
    images = device.put(images_of(torch.uint8))
    empty = augment(images, FLIP, (2, 3), regions=torch.tensor([9, 9, 5, 5]), border="replicate", fill=9)
    assert (empty == 9).all()


def test_variable_size_images_are_as_each_alone(device):
    arrays = [photograph(h, w, 3, seed=h) for h, w in ((3, 4), (20, 41), (1, 70))]
    batch = ImageBatch.from_images(arrays).to("cuda" if device.name == "cuda" else "cpu")
    matrices = random_warps("warp_affine", (20, 30), (12, 33), 3)
    program = torch.from_numpy(draw_program(np.random.default_rng(1), 3, (MATRIX, CONTRAST, HUE)))
    options = {"dtype": torch.float32, "mean": [0.5, 0.4, 0.3], "std": 0.25}
    together = augment(batch, device.put(matrices), (12, 33), colors=device.put(program), **options).cpu()
    for n, array in enumerate(arrays):
        alone = augment(array, matrices[n], (12, 33), colors=program[n], **options)
        assert_same_bytes(together[n].permute(1, 2, 0).numpy(), alone)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_the_identity_is_normalize(device, dtype):
    images = device.put(images_of(torch.uint8))
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    actual = augment(images, torch.eye(3), (21, 34), mean=mean, std=std, dtype=dtype)
    assert_same_bytes(actual, orbbec.normalize(images, mean, std, dtype=dtype))


def test_layouts_and_out(device):
    images = device.put(images_of(torch.uint8))
    expected = augment(images, FLIP, (5, 6), dtype=torch.float32)
    last = augment(images, FLIP, (5, 6), dtype=torch.float32, channels_last=True)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert_same_bytes(last, expected)
    buffer = torch.zeros(3, 5, 6, 3, device=images.device).permute(0, 3, 1, 2)
    assert augment(images, FLIP, (5, 6), out=buffer) is buffer
    assert_same_bytes(buffer, expected)


def test_an_empty_batch(device):
    none = device.put(torch.zeros(0, 3, 4, 5))
    assert augment(none, torch.zeros(0, 2, 3), (2, 3), dtype=torch.uint8).shape == (0, 3, 2, 3)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"matrix": torch.eye(4)}, "expected matrix of shape [2, 3, 3], but got [4, 4]"),
        ({"colors": torch.zeros(1, 12)}, "expected colors of shape [2, rows, 16] or [rows, 16], but got"),
        ({"erase": torch.zeros(3, 1, 8)}, "expected erase of shape [2, rows, 8] or [rows, 8], but got"),
        ({"regions": torch.zeros(3, 4).long()}, "expected regions of shape [2, 4], but got [3, 4]"),
        ({"regions": torch.zeros(2, 4)}, "expected regions of whole numbers, but got float32"),
        ({"mean": 0.5}, "expected mean and std together"),
        ({"mean": [0.5, 0.5], "std": 1.0}, "expected mean of 1 or 3 numbers, but got 2"),
        ({"mean": 0.0, "std": 0.0}, "expected nonzero std"),
        ({"dtype": torch.float64}, "expected dtype to be one of uint8, float16, bfloat16, float32, but"),
        ({"images": torch.zeros(2, 3, 4, 5).double()}, "expected images of uint8, float16, bfloat16 or"),
        ({"border": "transparent"}, "border 'transparent' needs out=, whose pixels it keeps"),
        ({"interpolation": "lanczos4"}, "expected interpolation of nearest, linear or cubic"),
        ({"size": (0, 4)}, "expected size as (height, width), each from 1 to 2147483647, but got [0, 4]"),
        ({"out": torch.zeros(2, 3, 4, 5)}, "expected out of shape [2, 3, 4, 4], but got [2, 3, 4, 5]"),
    ],
)
def test_the_bad_argument_is_named(device, changed, message):
    given = {"images": torch.zeros(2, 3, 4, 5, dtype=torch.uint8), "matrix": torch.eye(3), "size": (4, 4)}
    given = {
        name: device.put(value) if isinstance(value, torch.Tensor) else value
        for name, value in {**given, **changed}.items()
    }
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        augment(**given)


def test_colors_are_for_one_or_three_channels(device):
    images = device.put(torch.zeros(1, 4, 2, 2))
    with pytest.raises(ValueError, match="expected images of 1 or 3 channels for colors, but got 4"):
        augment(images, torch.eye(3), (2, 2), colors=device.put(torch.zeros(1, 16)))


def test_opcheck_and_compile(device):
    images, matrix, size, options = draw_call(7, codes=(MATRIX, CONTRAST), size=(5, 6))
    images, matrix, program = device.put(images), device.put(matrix), device.put(options["colors"])
    square = torch.eye(3, dtype=torch.float64, device=images.device).expand(2, 3, 3).contiguous()
    sampling = (square, list(size), "linear", "constant", [0.0], None)
    values = (program, None, None, [], [], 1.0, 1.0, True)
    arguments = (images, None, 0, *sampling, *values, None, None, torch.float32, False)
    torch.library.opcheck(torch.ops.orbbec.augment.default, arguments)

    def doubled(x):
        return augment(x, matrix, size, colors=program, contrast=True, dtype=torch.float32) * 2

    assert_same_bytes(torch.compile(doubled, fullgraph=True, backend="aot_eager")(images), doubled(images))
