"""LineBlur, AdvancedBlur, Spatter and clouds: by hand, by OpenCV, and their draws."""

import re

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec._library import operators
from orbbec.transforms.effects.kernels import gaussian_kernel, line_kernel
from orbbec.transforms.effects.plasma import _scale, _scale_by_torch, draw_count, plasma
from orbbec.transforms.effects.spatter import liquid, mud_cover, rain_cover
from tests.support import assert_same_bytes, photograph

edge_distances = torch.ops.orbbec.edge_distances
IMAGE = photograph(40, 52)


def patches(size):
    """Bytes with flat regions, dark ones and smooth ones."""
    noise = np.random.default_rng(0).integers(0, 256, size).astype(np.float32)
    for axis in (0, 1):
        noise = sum(np.roll(noise, shift, axis) for shift in range(-2, 3)) / 5
    return np.where(noise > 130, noise, 0).astype(np.uint8)


# OpenCV 5 adds 1, 1.4 and 2.1969 as floats: up to 2.5e-5 for paths of 20 pixels.
@pytest.mark.parametrize("size", [(1, 1), (1, 7), (9, 1), (2, 2), (40, 57), (128, 99)])
@pytest.mark.parametrize("limits", [(50, 150), (0, 0), (10, 2040)])
def test_distances_are_those_of_opencv(size, limits):
    cv2 = pytest.importorskip("cv2")
    image = patches(size) if min(size) > 2 else np.random.default_rng(1).integers(0, 256, size, np.uint8)
    edges = cv2.Canny(image, *limits)
    expected = np.full(size, 20.0)
    if edges.any():
        expected = np.minimum(cv2.distanceTransform(255 - edges, cv2.DIST_L2, 5), 20)
    found = edge_distances(torch.from_numpy(image), *limits, 20.0).numpy()
    assert ((found == 0) == (edges > 0)).all()
    assert np.abs(found - expected).max() < 1e-4


def test_distances_end_at_the_largest():
    image = torch.zeros(1, 40, dtype=torch.uint8)
    image[0, 20:] = 255
    found = edge_distances(image, 50, 150, 3.5)[0]
    assert found.max() == 3.5
    assert int((found == 0).sum()) == 1
    assert edge_distances(image[:0], 50, 150, 3.5).shape == (0, 40)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.zeros(3, 4), 1, 2, 3.0), "expected image as contiguous uint8 [H, W] on the CPU"),
        ((torch.zeros(3, dtype=torch.uint8), 1, 2, 3.0), "but got shape [3]"),
        ((torch.zeros(3, 4, dtype=torch.uint8), 3, 2, 3.0), "but got low 3 and high 2"),
        ((torch.zeros(3, 4, dtype=torch.uint8), 3, 2041, 3.0), "but got low 3 and high 2041"),
        (
            (torch.zeros(3, 4, dtype=torch.uint8), 1, 2, 0.0),
            "expected most above 0 and up to 1000",
        ),
    ],
)
def test_wrong_arguments_of_distances_are_named(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        edge_distances(*arguments)


def test_distances_pass_opcheck():
    torch.library.opcheck(edge_distances.default, (torch.from_numpy(patches((9, 11))), 50, 150, 20.0))


def test_lines_by_hand():
    assert (line_kernel(3, 0.0, 0.0) * 3).tolist() == [[0, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert (line_kernel(3, 45.0, 0.0) * 3).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]  # clockwise
    assert (line_kernel(5, 0.0, 1.0)[2] * 3).tolist() == [0, 0, 1, 1, 1]
    assert (line_kernel(5, 0.0, -1.0)[2] * 3).tolist() == [1, 1, 1, 0, 0]
    assert (line_kernel(5, 0.0, 0.0, (0.0, 1.0))[3] * 5).tolist() == [1, 1, 1, 1, 1]


def test_shapes_by_hand():
    flat = np.ones((3, 3))
    kernel = gaussian_kernel(3, (1.0, 2.0), 0.0, 1.0, flat)
    across, down = kernel[1, 2] / kernel[1, 1], kernel[2, 1] / kernel[1, 1]
    assert np.allclose((across, down), (np.exp(-0.5), np.exp(-0.125)))
    assert np.allclose(gaussian_kernel(3, (1.0, 2.0), 90.0, 1.0, flat), kernel.T)
    pointed = gaussian_kernel(3, (1.0, 1.0), 0.0, 0.5, flat)
    assert np.isclose(pointed[2, 2] / pointed[1, 1], np.exp(-0.5 * 2**0.5))
    factors = np.arange(9.0).reshape(3, 3)
    assert np.allclose(gaussian_kernel(3, (1e3, 1e3), 0.0, 1.0, factors), factors / 36, atol=1e-5)


@pytest.mark.parametrize("transform", [T.LineBlur((3, 9), p=1.0), T.AdvancedBlur((3, 9), p=1.0)])
def test_blurs_are_filters_with_their_kernels(transform):
    cv2 = pytest.importorskip("cv2")
    pipeline = T.Compose([transform], seed=2)
    sides = set()
    for sample in range(8):
        (step,) = pipeline.plan([IMAGE.shape[:2]], sample_ids=[sample], epoch=0).passes
        side = int(step.table["kernel_size"][0])
        sides.add(side)
        if transform.name == "AdvancedBlur":
            continue
        angle, direction, *shift = step.table["line"][0]
        kernel = line_kernel(side, angle, direction, shift).astype(np.float32)
        result = np.asarray(pipeline(IMAGE, sample_ids=[sample], epoch=0))
        assert (result == cv2.filter2D(IMAGE, -1, kernel)).all()
    assert len(sides) > 2
    assert all(side % 2 for side in sides)


def test_half_of_the_powers_are_below_1():
    (step,) = T.Compose([T.AdvancedBlur(p=1.0)], seed=1).plan([(9, 9)] * 2000, epoch=0).passes
    assert abs((step.table["shape"][:, 3] < 0).mean() - 0.5) < 4.5 * (0.25 / 2000) ** 0.5


@pytest.mark.parametrize("make", [T.LineBlur, T.AdvancedBlur])
def test_even_sides_are_refused(make):
    with pytest.raises(ValueError, match="expected kernel_size as odd numbers, but got"):
        make(kernel_size=(3, 6))
    with pytest.raises(ValueError, match="AdvancedBlur: expected beta_range around 1"):
        T.AdvancedBlur(beta_range=(1.5, 2.0))


def test_layers_by_hand():
    noise = torch.tensor([[-1.0, 0.0, 1.0, 2.0]])
    assert liquid(noise, 0.5, 0.1, 0.0, 0.55)[0].tolist() == pytest.approx([0, 0, 0.6, 0.7])
    assert mud_cover(torch.tensor([[0.0, 0.6, 0.7]]), 0.65, 0.0).tolist() == [[0, 0, 1]]
    assert rain_cover(torch.zeros(5, 6)).tolist() == [[0.0] * 6] * 5
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 60)).astype(np.float32))
    cover = rain_cover(liquid(noise, 0.65, 0.3, 2.0, 0.68))
    assert (cover.min(), cover.max()) == (0, 1)
    assert 0.05 < (cover > 0).float().mean() < 0.4


@pytest.mark.parametrize("mode", ["rain", "mud"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.float16])
def test_drops_have_their_color(mode, dtype):
    image = torch.full((3, 40, 50), 100 if dtype == torch.uint8 else 100 / 255, dtype=dtype)
    transform = T.Spatter(intensity_range=(1.0, 1.0), mode=mode, color=(255, 0, 100), p=1.0)
    red, green, blue = T.Compose([transform], seed=1)(image, epoch=0).float()
    if dtype != torch.uint8:
        red, green, blue = (each * 255 for each in (red, green, blue))
    assert red.max() > 250
    assert blue.max() == pytest.approx(190 if mode == "rain" else 100, abs=1)
    assert green.min() == pytest.approx(100 if mode == "rain" else 0, abs=1)
    assert (red - 100).abs().min() < 0.5  # where it is dry


def grid_sides(size):
    """Each grid halves the spacing of the one before, until one has the size."""
    sides = [3]
    while sides[-1] < max(size):
        sides.append(2 * sides[-1] - 1)
    return sides


def test_grids_and_clouds():
    assert draw_count((1, 1)) == 9
    assert draw_count((9, 4)) == 9 + 25 + 81
    clouds = plasma((9, 4), 2.0, torch.from_numpy(np.random.default_rng(0).random(115).astype(np.float32)))
    assert clouds.shape == (9, 4)
    assert (clouds.min(), clouds.max()) == (0, 1)
    assert plasma((5, 5), 2.0, torch.full((34,), 0.5)).tolist() == [[0.0] * 5] * 5


def clouds_by_numpy(size, roughness, draws):
    """Midpoint displacement of whole grids, in float32."""

    def from_0_to_1(values):
        low = values.min()
        return (values - low) / max(values.max() - low, np.float32(1e-30))

    def displaced(sums, noise):
        return (sums * np.float32(0.25) + noise) * (sums > 0)

    sides = grid_sides(size)
    parts = np.split(draws * 2 - 1, np.cumsum([side * side for side in sides])[:-1])
    grid = parts[0].reshape(3, 3)
    for level, (side, part) in enumerate(zip(sides[1:], parts[1:], strict=True)):
        noise, finer = (part * np.float32(roughness**level)).reshape(side, side), np.empty((side, side), "f4")
        corners = finer[::2, ::2] = grid + noise[::2, ::2]
        rows, columns = corners[:-1] + corners[1:], corners[:, :-1] + corners[:, 1:]
        middle = finer[1::2, 1::2] = displaced(rows[:, :-1] + rows[:, 1:], noise[1::2, 1::2])
        tall, wide = np.pad(middle, ((1, 1), (0, 0))), np.pad(middle, ((0, 0), (1, 1)))
        finer[::2, 1::2] = displaced(columns + (tall[:-1] + tall[1:]), noise[::2, 1::2])
        finer[1::2, ::2] = displaced(rows + (wide[:, :-1] + wide[:, 1:]), noise[1::2, ::2])
        grid = from_0_to_1(finer)
    return from_0_to_1(grid[: size[0], : size[1]])


@pytest.mark.parametrize("size", [(0, 4), (4, 1 << 17)])
def test_bad_sides_of_clouds_are_named(size):
    with pytest.raises(ValueError, match="plasma: expected sides from 1 to 65536, but got"):
        draw_count(size)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("shape", [(2, 3, 7, 300), (1, 3, 1, 1), (2, 1, 5, 40), (1, 4, 9, 17), (0, 3, 4, 4)])
def test_pixels_are_scaled_as_by_torch(monkeypatch, level, dtype, channels_last, shape):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    random = torch.Generator().manual_seed(1)
    images = torch.rand(shape, generator=random)
    images = images if dtype == torch.float32 else (images * 256).to(dtype)
    if channels_last:
        images = images.contiguous(memory_format=torch.channels_last)
    planes = torch.randn((2, shape[0], *shape[2:]), generator=random)
    top = 1 if dtype == torch.float32 else 255
    factors, shifts = list(planes[0] + 1), list(planes[1] * top)
    for last in (shifts, [None] * len(shifts)):
        assert_same_bytes(_scale(images, factors, last), _scale_by_torch(images, factors, last))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"images": torch.zeros(2, 3, 4, 5, dtype=torch.float64)}, "expected images of uint8 or float32"),
        ({"images": torch.zeros(3, 4, 5)}, "expected images of shape"),
        ({"factors": torch.zeros(2, 4, 4)}, "expected factors as contiguous float32 [2, 4, 5]"),
        ({"shifts": torch.zeros(2, 4, 5).double()}, "expected shifts as contiguous float32 [2, 4, 5]"),
        ({"out": torch.zeros(2, 3, 4, 4)}, "expected out of shape"),
    ],
)
def test_the_bad_argument_of_factors_is_named(changed, message):
    images, planes = torch.zeros(2, 3, 4, 5), torch.zeros(2, 4, 5)
    call = {"images": images, "factors": planes, "shifts": None, "out": torch.zeros(2, 3, 4, 5), **changed}
    call["out"] = call["out"] if call["images"].dim() == 4 else torch.zeros(call["images"].shape)
    with pytest.raises(ValueError, match=re.escape(message)):
        operators.scale_by_factors_out(**call)


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("size", [(1, 1), (3, 2), (1, 7), (40, 60), (129, 300)])
def test_clouds_are_those_of_numpy(monkeypatch, level, size):
    monkeypatch.setenv("ORBBEC_SIMD", level)
    draws = np.random.default_rng(3).random(draw_count(size)).astype(np.float32)
    for roughness in (0.5, 2.0):
        expected = clouds_by_numpy(size, roughness, draws)
        assert_same_bytes(plasma(size, roughness, torch.from_numpy(draws)), expected)


@pytest.mark.parametrize(
    ("draws", "out", "message"),
    [
        (torch.zeros(9), torch.zeros(4, 4), "expected draws as contiguous float32 [34]"),
        (torch.zeros(9).double(), torch.zeros(3, 3), "expected draws as contiguous float32 [9]"),
        (torch.zeros(9), torch.zeros(3, 0), "expected out as contiguous float32 [H, W]"),
        (torch.zeros(9), torch.zeros(3), "expected out as contiguous float32 [H, W]"),
    ],
)
def test_the_bad_argument_of_clouds_is_named(draws, out, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        operators.plasma_out(draws, 2.0, out)


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        (T.PlasmaBrightnessContrast((-0.4, -0.4), (0.0, 0.0), p=1.0), (-102, 0)),
        (T.PlasmaShadow((0.25, 0.25), p=1.0), (-30, 0)),
    ],
)
def test_clouds_change_images_by_their_range(transform, expected):
    image = torch.full((3, 50, 40), 120, dtype=torch.uint8)
    change = T.Compose([transform], seed=1)(image, epoch=0).int() - 120
    assert (int(change.min()), int(change.max())) == expected
    assert (change[0] == change[2]).all()


def test_frames_share_their_draws_unless_said():
    clip = torch.full((1, 3, 3, 20, 30), 120, dtype=torch.uint8)
    for kind in (T.Spatter, T.PlasmaShadow, T.PlasmaBrightnessContrast):
        shared = T.Compose([kind(p=1.0)], seed=1)(clip, epoch=0)[0]
        assert torch.equal(shared[0], shared[1])
        several = T.Compose([kind(p=1.0, per_frame=True)], seed=1)(clip, epoch=0)[0]
        assert not torch.equal(several[0], several[1])
