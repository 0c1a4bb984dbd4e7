"""The draws of transforms compared with torchvision's (torchvision.npz, by record_torchvision.py)."""

from pathlib import Path

import numpy as np

from orbbec import transforms as T
from orbbec.augment.codes import STEPS
from orbbec.plan import Stream
from orbbec.transforms.auto import OPERATIONS
from orbbec.transforms.tests.record_torchvision import AUGMIX_OPERATIONS, AUGMIX_SIZE
from tests.support.peers.transform_calls import operations
from tests.support.registers import Registers

RECORDED = np.load(Path(__file__).with_name("torchvision.npz"))
COUNT, HEIGHT, WIDTH = 4000, 375, 500
SIZES = np.tile([[HEIGHT, WIDTH]], (COUNT, 1))
BOXES = np.array([[10.0, 20.0, 200.0, 300.0], [250.0, 100.0, 480.0, 350.0]])
# Two empirical distributions of 4,000 and 20,000 draws are farther apart than 0.038 once in 10,000 cases; the
# largest distance of the 57 here is 0.0314 (a coefficient of RandomPerspective).
LARGEST = 0.038


def planned(transform, sizes=SIZES):
    return T.Compose([transform], seed=3).plan(sizes, epoch=0)


def assert_alike(name, values):
    points, fractions = RECORDED[f"draw.{name}"]
    values = np.sort(np.asarray(values, np.float32))
    reached = np.searchsorted(values, points * (1 + 1e-6), side="right") / len(values)
    distance = np.abs(reached - fractions).max()
    assert distance < LARGEST, f"{name}: {distance}"


def test_random_resized_crop_draws_as_torchvision():
    left, top, right, bottom = planned(T.RandomResizedCrop(224)).passes[0].table["boxes"].T
    edges = {"top": top, "left": left, "height": bottom - top, "width": right - left}
    for name, values in edges.items():
        assert_alike(f"RandomResizedCrop.{name}", values)


def test_random_resized_crop_falls_back_to_the_middle():
    plan = planned(T.RandomResizedCrop(8, scale=(1.0, 1.0)), [(10, 100), (100, 10)])
    assert plan.passes[0].table["boxes"].tolist() == [[43, 0, 43 + 13, 10], [0, 43, 10, 43 + 13]]


def test_random_crop_draws_as_torchvision():
    left, top = planned(T.RandomCrop((200, 300))).matrix[:, :2, 2].T
    assert_alike("RandomCrop.top", top)
    assert_alike("RandomCrop.left", left)


def test_rotation_and_affine_draw_as_torchvision():
    sine, cosine = planned(T.RandomRotation(30)).matrix[:, :2, 0].T[::-1]
    assert_alike("RandomRotation.angle", np.degrees(np.arctan2(sine, cosine)))
    transform = T.RandomAffine(10, translate=(0.1, 0.2), scale=(0.5, 2), shear=(-5, 5, -8, 8))
    (numbers,) = Registers(transform.rules, SIZES, seed=3).of("affine", count=7)
    columns = ("angle", "translate0", "translate1", "scale", None, "shear0", "shear1")
    for name, values in zip(columns, numbers.T, strict=True):
        if name is not None:
            assert_alike(f"RandomAffine.{name}", values)
    assert np.array_equal(numbers[:, 3], numbers[:, 4])


def test_random_perspective_draws_as_torchvision():
    back = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    matrix = back @ planned(T.RandomPerspective(p=1.0)).matrix @ np.linalg.inv(back)
    coefficients = (matrix / matrix[:, 2:, 2:]).reshape(COUNT, 9)
    for i in range(8):
        assert_alike(f"RandomPerspective.coefficients{i}", coefficients[:, i])


def adjustments(colors):
    """The order of brightness, contrast, saturation and hue, and their factors: both `[N, 4]`."""
    code, numbers = colors[..., 0], colors[..., 1:]
    to_gray = numbers[..., 1] != 0  # (1 - factor) * 0.587
    is_line = code == STEPS["matrix"]
    kinds = [is_line & ~to_gray, code == STEPS["contrast"], is_line & to_gray, code == STEPS["hue"]]
    values = [numbers[..., 0], numbers[..., 0], 1 - numbers[..., 1] / 0.587, numbers[..., 0]]
    order = sum(number * kind for number, kind in enumerate(kinds))
    factors = [(value * kind).sum(1) for value, kind in zip(values, kinds, strict=True)]
    return order, np.stack(factors, 1)


def test_color_jitter_draws_as_torchvision():
    colors = planned(T.ColorJitter(0.4, 0.4, 0.4, 0.1)).passes[0].colors
    order, factors = adjustments(colors)
    for position in range(4):
        assert_alike(f"ColorJitter.fn_idx{position}", order[:, position])
    for i, name in enumerate(("brightness", "contrast", "saturation", "hue")):
        assert_alike(f"ColorJitter.{name}_factor", factors[:, i])


def test_photometric_distort_draws_as_torchvision():
    registers = Registers(T.RandomPhotometricDistort().rules, SIZES, seed=3)
    order, factors, chosen = (registers.of("color_jitter", operand, 4)[0] for operand in (2, 3, 4))
    for i, name in enumerate(("brightness", "contrast", "saturation", "hue")):
        values = np.where(chosen[:, i] != 0, factors[:, i], 0)
        assert_alike(f"RandomPhotometricDistort.{name}_factor", values)
    assert_alike("RandomPhotometricDistort.contrast_before", order[:, 1] == 1)


def test_random_erasing_draws_as_torchvision():
    left, top, right, bottom = planned(T.RandomErasing(p=1.0)).passes[0].erase[:, 0, :4].T
    columns = {"j": left, "i": top, "w": right - left, "h": bottom - top}
    for name, values in columns.items():
        assert_alike(f"RandomErasing.{name}", values)


def test_gaussian_blur_draws_as_torchvision():
    assert_alike("GaussianBlur.sigma0", planned(T.GaussianBlur(23)).table(0)["sigma"])


def test_gaussian_noise_draws_within_its_ranges():
    noises = planned(T.GaussianNoise((-0.1, 0.3), (0.0, 0.2))).table(0)
    for values, low, high in ((noises["mean"], -0.1, 0.3), (noises["sigma"], 0.0, 0.2)):
        fraction = (np.sort(values) - low) / (high - low)
        assert np.abs(fraction - (np.arange(COUNT) + 0.5) / COUNT).max() < LARGEST
    certain = planned(T.GaussianNoise(0.1, 0.2)).table(0)
    assert set(certain["mean"]) == {0.1}
    assert set(certain["sigma"]) == {0.2}


def test_scales_draw_as_torchvision():
    zoomed = planned(T.RandomZoomOut(p=1.0))
    left, top = zoomed.matrix[:, :2, 2].T
    height, width = zoomed.output_sizes.T
    padding = {
        "padding0": -left,
        "padding1": -top,
        "padding2": width - WIDTH + left,
        "padding3": height - HEIGHT + top,
    }
    for name, values in padding.items():
        assert_alike(f"RandomZoomOut.{name}", values)
    for name, transform in (
        ("ScaleJitter", T.ScaleJitter((300, 400))),
        ("RandomShortestSize", T.RandomShortestSize((200, 300, 400), 600)),
    ):
        sizes = planned(transform).output_sizes
        assert_alike(f"{name}.size0", sizes[:, 0])
        assert_alike(f"{name}.size1", sizes[:, 1])


def test_iou_crop_draws_as_torchvision():
    plan = T.Compose([T.RandomIoUCrop()], seed=1).plan(SIZES, targets=[{"boxes": BOXES}] * COUNT, epoch=0)
    (step,) = plan.passes
    # torchvision reports no draws if the image is unchanged.
    cropped = (step.sizes != SIZES).any(1)
    columns = {
        "left": step.matrix[:, 0, 2],
        "top": step.matrix[:, 1, 2],
        "height": step.sizes[:, 0],
        "width": step.sizes[:, 1],
    }
    for name, values in columns.items():
        assert_alike(f"RandomIoUCrop.{name}", values[cropped])


def test_mixing_draws_as_torchvision():
    assert_alike("MixUp.lam", planned(T.MixUp(0.4)).table(0)["weights"])
    drawn = planned(T.CutMix(1.0)).table(0)
    assert_alike("CutMix.lam_adjusted", drawn["weights"])
    for i in range(4):
        assert_alike(f"CutMix.box{i}", drawn["boxes"][:, i])


def test_augmix_draws_as_torchvision():
    sizes = np.tile([AUGMIX_SIZE], (COUNT, 1))
    transform = T.AugMix()
    weights = planned(transform, sizes).passes[0].weights
    assert np.abs(weights.sum(1) - 1).max() < 1e-12
    for k in range(4):
        assert_alike(f"AugMix.weight{k}", weights[:, k])
    copies = Registers(transform.rules, sizes, seed=3).copies
    operation, magnitude = np.moveaxis(operations(copies), 2, 0)
    applied = operation > 0
    assert_alike("AugMix.length", applied.reshape(3, 3, COUNT).sum((0, 1)))
    names = np.array([AUGMIX_OPERATIONS.index(n) if n in AUGMIX_OPERATIONS else -1 for n in OPERATIONS])
    assert_alike("AugMix.operation", names[operation[applied].astype(int)])
    # Slightly lower, so that equal negative numbers in float32 are not above.
    assert_alike("AugMix.magnitude", magnitude[applied] - 1e-5)


def test_dirichlet_of_one_number_is_certain():
    stream = Stream(np.arange(5))
    assert (stream.dirichlets(0.3, 1) == 1).all()
    assert np.isfinite(stream.dirichlets(1e-6, 3)).all()  # all three underflow in most samples
    assert np.abs(stream.dirichlets(1e-6, 3).sum(1) - 1).max() < 1e-12
