"""A warp gives the same numbers on any device, in any batch, with any number of threads."""

import itertools

import numpy as np
import pytest
import torch

import orbbec
from tests.support import assert_same_bytes, photographs, same_bytes
from tests.support.samples import DTYPES
from tests.support.warps import ARITHMETICS, BORDERS, INTERPOLATIONS, WARPS, random_warps, warp

# One pixel, below a block of 16 and of 32 columns, just above one, not a multiple of one.
SIZES = [((1, 1), (1, 1)), ((3, 5), (2, 7)), ((20, 31), (9, 33)), ((40, 23), (37, 130))]
FILLS = [(3.5,), (3.5, -7.0, 300.0), (1.0, 2.0, 3.0, 4.0, 5.0)]  # one per channel
# Every border with every size, and each of them with every number of channels.
CASES = [
    (border, size, FILLS[(i + j) % len(FILLS)])
    for (i, border), (j, size) in itertools.product(enumerate(BORDERS), enumerate(SIZES))
]


def name_of(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=name_of)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_every_device_gives_the_bits_of_the_cpu(accelerator, op, dtype, interpolation, arithmetic):
    for border, (source, target), fill in CASES:
        images = photographs(2, len(fill), *source, dtype)
        maps = random_warps(op, source, target, 2)
        before = photographs(2, len(fill), *target, dtype, seed=5)
        options = {"interpolation": interpolation, "border": border, "fill": fill, "arithmetic": arithmetic}
        expected = warp(op, images, maps, target, out=before.clone(), **options)
        put = accelerator.put
        with accelerator.active():
            actual = warp(op, put(images), put(maps), target, out=put(before.clone()), **options)
        assert_same_bytes(actual, expected)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("border", ["constant", "transparent"])
def test_every_device_gives_the_sign_of_zero_of_the_cpu(accelerator, op, interpolation, border):
    images, maps = photographs(1, 3, 9, 9, torch.float32), random_warps(op, (9, 9), (40, 70))
    before = torch.full((1, 3, 40, 70), -0.0)
    options = {"interpolation": interpolation, "border": border, "fill": -0.0}
    expected = warp(op, images, maps, (40, 70), out=before.clone(), **options)
    with accelerator.active():
        out = accelerator.put(before.clone())
        actual = warp(op, accelerator.put(images), maps, (40, 70), out=out, **options)
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize(("interpolation", "half"), [("nearest", 512), ("linear", 16), ("lanczos4", 16)])
def test_every_device_rounds_positions_like_the_cpu_at_the_ends_of_int(accelerator, interpolation, half):
    images = photographs(1, 3, 9, 21)
    options = {"interpolation": interpolation, "border": "wrap", "arithmetic": "cv2_4", "inverse": True}

    def warped(images, position):
        # In 1/1024 pixel, sums of which wrap: column 1 lies `position` to the right of -2^31 + 2048.
        matrix = torch.tensor([[position, 0, 2048 - half - 2**31], [0, 1024, 0]], dtype=torch.float64) / 1024
        return orbbec.warp_affine(images, matrix, (9, 2), **options)

    within, beyond = [2**31 - 1.5, 2**31 - 1, -(2**31)], [2**31 - 0.5, 2**31, -(2**31) - 1, 3e9, -3e9]
    expected = {position: warped(images, position) for position in within + beyond}
    assert not same_bytes(expected[2**31 - 1], expected[2**31 - 0.5]).all()
    for position in beyond:
        assert_same_bytes(expected[position], expected[-(2**31)])
    for position in within + beyond:
        with accelerator.active():
            actual = warped(accelerator.put(images), position)
        assert_same_bytes(actual, expected[position])


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("last", [False, True])
def test_every_device_gives_the_bits_of_the_cpu_for_every_layout(accelerator, op, channels, last):
    images, maps = photographs(2, channels, 50, 60), random_warps(op, (50, 60), (35, 130), 2)
    if last:
        images = images.contiguous(memory_format=torch.channels_last)
    expected = warp(op, images, maps, (35, 130))
    with accelerator.active():
        actual = warp(op, accelerator.put(images), maps, (35, 130))
    assert_same_bytes(actual, expected)
    assert actual.stride() == expected.stride()


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_an_image_does_not_feel_the_rest_of_its_batch(device, op, interpolation, arithmetic):
    images = device.put(photographs(5, 3, 33, 47))
    maps = random_warps(op, (33, 47), (29, 51), 5)
    options = {"interpolation": interpolation, "arithmetic": arithmetic, "fill": 9}
    together = warp(op, images, maps, (29, 51), **options)
    for n in range(5):
        alone = warp(op, images[n : n + 1], maps[n : n + 1], (29, 51), **options)
        assert_same_bytes(together[n : n + 1], alone)
    assert (together[0] != together[1]).any()


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_one_thread_gives_the_bits_of_two(op, interpolation):
    images, maps = photographs(2, 3, 200, 210), random_warps(op, (200, 210), (190, 301), 2)
    threads = torch.get_num_threads()
    results = []
    try:
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append(warp(op, images, maps, (190, 301), interpolation=interpolation))
    finally:
        torch.set_num_threads(threads)
    assert_same_bytes(*results)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name_of)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("arithmetic", ARITHMETICS)
def test_short_floats_are_computed_in_float32_and_rounded(device, op, dtype, interpolation, arithmetic):
    images = device.put(photographs(2, 3, 33, 47, dtype))
    images[0, 0, 5:9, 5:9] *= 1e-7  # subnormal in float16
    maps = random_warps(op, (33, 47), (29, 51), 2)
    options = {"interpolation": interpolation, "arithmetic": arithmetic, "fill": 2.5}
    expected = warp(op, images.float(), maps, (29, 51), **options).to(dtype)
    assert_same_bytes(warp(op, images, maps, (29, 51), **options), expected)


@pytest.mark.parametrize("bits", range(0, 65536, 4096))
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=name_of)
def test_every_short_float_comes_through_unchanged(device, dtype, bits):
    words = torch.arange(bits, bits + 4096, dtype=torch.int32).to(torch.uint16)
    images = device.put(words.view(dtype).view(1, 1, 64, 64))
    same = warp("warp_affine", images, torch.eye(2, 3), (64, 64), interpolation="linear")
    finite = torch.isfinite(images)
    # The right and lower neighbors have weight 0, and 0 times infinity is NaN.
    finite[..., :-1] &= torch.isfinite(images)[..., 1:]
    finite[..., :-1, :] &= finite[..., 1:, :].clone()
    assert_same_bytes(same[finite] + 0, images[finite] + 0)
    nearest = warp("warp_affine", images, torch.eye(2, 3), (64, 64), interpolation="nearest")
    assert_same_bytes(nearest, images)


def cubic_weights(t):
    """Keys' kernel with A = -0.75 at the distances of four pixels: 1 + t, t, 1 - t, 2 - t."""
    a = -0.75
    near, far = np.stack([t, 1 - t]), np.stack([1 + t, 2 - t])
    w_near = ((a + 2) * near - (a + 3)) * near**2 + 1
    w_far = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.stack([w_far[0], w_near[0], w_near[1], w_far[1]], -1)


def float64_reference(image, matrix, size, interpolation):
    """Nearest, linear or cubic in float64 with a constant border of 0; `matrix` from output to source."""
    y, x = np.mgrid[: size[0], : size[1]].astype(np.float64)
    at_x, at_y = (m[0] * x + m[1] * y + m[2] for m in matrix)
    if interpolation == "nearest":
        left, top, reach, wx, wy = np.rint(at_x), np.rint(at_y), 1, np.ones((*size, 1)), np.ones((*size, 1))
    else:
        left, top = np.floor(at_x), np.floor(at_y)
        a, b = at_x - left, at_y - top
        if interpolation == "linear":
            reach, wx, wy = 2, np.stack([1 - a, a], -1), np.stack([1 - b, b], -1)
        else:
            reach, wx, wy = 4, cubic_weights(a), cubic_weights(b)
            left, top = left - 1, top - 1
    padded = np.pad(image, 8)
    total = np.zeros(size)
    for r, q in itertools.product(range(reach), range(reach)):
        row = np.clip(top + r + 8, 0, padded.shape[0] - 1).astype(int)
        column = np.clip(left + q + 8, 0, padded.shape[1] - 1).astype(int)
        total += wy[..., r] * wx[..., q] * padded[row, column]
    return total


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
def test_float64_is_computed_in_float64(device, interpolation):
    images = photographs(1, 1, 33, 47, torch.float64)
    for seed in range(10):
        matrix = random_warps("warp_affine", (29, 51), (33, 47), seed=seed)
        expected = float64_reference(images[0, 0].numpy(), matrix.numpy(), (29, 51), interpolation)
        actual = warp(
            "warp_affine", device.put(images), matrix, (29, 51), inverse=True, interpolation=interpolation
        )
        # Only the order of the sums differs, on values of about 100.
        assert np.abs(actual[0, 0].cpu().numpy() - expected).max() < 1e-11
