"""The draws of transforms compared with torchvision's (torchvision.npz, by record_torchvision.py)."""

from pathlib import Path

import numpy as np

from orbbec import transforms as T
from orbbec.plan import Stream
from orbbec.plan.steps import BatchState
from orbbec.transforms.auto import OPERATIONS
from orbbec.transforms.tests.record_torchvision import AUGMIX_OPERATIONS, AUGMIX_SIZE

RECORDED = np.load(Path(__file__).with_name("torchvision.npz"))
COUNT, HEIGHT, WIDTH = 4000, 375, 500
SIZES = np.tile([[HEIGHT, WIDTH]], (COUNT, 1))
BOXES = np.array([[10.0, 20.0, 200.0, 300.0], [250.0, 100.0, 480.0, 350.0]])
# Two empirical distributions of 4,000 and 20,000 draws are farther apart than 0.038 once in 10,000 cases; the
# largest distance of the 57 here is 0.0314 (a coefficient of RandomPerspective).
LARGEST = 0.038


def sampled(transform):
    return transform.sample(SIZES, Stream(np.arange(COUNT), seed=3))


def assert_alike(name, values):
    points, fractions = RECORDED[f"draw.{name}"]
    values = np.sort(np.asarray(values, np.float32))
    reached = np.searchsorted(values, points * (1 + 1e-6), side="right") / len(values)
    distance = np.abs(reached - fractions).max()
    assert distance < LARGEST, f"{name}: {distance}"


def test_random_resized_crop_draws_as_torchvision():
    boxes = sampled(T.RandomResizedCrop(224))
    for name in ("top", "left", "height", "width"):
        assert_alike(f"RandomResizedCrop.{name}", getattr(boxes, name))


def test_random_resized_crop_falls_back_to_the_middle():
    wide = T.RandomResizedCrop(8, scale=(1.0, 1.0)).sample(np.array([[10, 100]]), Stream(np.array([0])))
    assert [wide.left[0], wide.top[0], wide.width[0], wide.height[0]] == [43, 0, 13, 10]
    tall = T.RandomResizedCrop(8, scale=(1.0, 1.0)).sample(np.array([[100, 10]]), Stream(np.array([0])))
    assert [tall.left[0], tall.top[0], tall.width[0], tall.height[0]] == [0, 43, 10, 13]


def test_random_crop_draws_as_torchvision():
    boxes = sampled(T.RandomCrop((200, 300)))
    assert_alike("RandomCrop.top", boxes.top)
    assert_alike("RandomCrop.left", boxes.left)


def test_rotation_and_affine_draw_as_torchvision():
    assert_alike("RandomRotation.angle", -sampled(T.RandomRotation(30)).angle_degrees)
    drawn = sampled(T.RandomAffine(10, translate=(0.1, 0.2), scale=(0.5, 2), shear=(-5, 5, -8, 8)))
    columns = {
        "angle": drawn.angle_degrees,
        "translate0": drawn.translate[:, 0],
        "translate1": drawn.translate[:, 1],
        "scale": drawn.scale,
        "shear0": drawn.shear[:, 0],
        "shear1": drawn.shear[:, 1],
    }
    for name, values in columns.items():
        assert_alike(f"RandomAffine.{name}", values)


def test_random_perspective_draws_as_torchvision():
    transform = T.RandomPerspective(p=1.0)
    (step,) = transform.steps(sampled(transform), BatchState(SIZES))
    back = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    matrix = back @ step.matrix @ np.linalg.inv(back)
    coefficients = (matrix / matrix[:, 2:, 2:]).reshape(COUNT, 9)
    for i in range(8):
        assert_alike(f"RandomPerspective.coefficients{i}", coefficients[:, i])


def test_color_jitter_draws_as_torchvision():
    drawn = sampled(T.ColorJitter(0.4, 0.4, 0.4, 0.1))
    for position in range(4):
        assert_alike(f"ColorJitter.fn_idx{position}", drawn.order[:, position])
    for i, name in enumerate(("brightness", "contrast", "saturation", "hue")):
        assert_alike(f"ColorJitter.{name}_factor", drawn.factors[:, i])


def test_photometric_distort_draws_as_torchvision():
    drawn = sampled(T.RandomPhotometricDistort())
    for i, name in enumerate(("brightness", "contrast", "saturation", "hue")):
        assert_alike(
            f"RandomPhotometricDistort.{name}_factor", np.where(drawn.chosen[:, i], drawn.factors[:, i], 0)
        )
    assert_alike("RandomPhotometricDistort.contrast_before", drawn.order[:, 1] == 1)


def test_random_erasing_draws_as_torchvision():
    boxes = sampled(T.RandomErasing(p=1.0)).boxes
    columns = {
        "j": boxes[:, 0],
        "i": boxes[:, 1],
        "w": boxes[:, 2] - boxes[:, 0],
        "h": boxes[:, 3] - boxes[:, 1],
    }
    for name, values in columns.items():
        assert_alike(f"RandomErasing.{name}", values)


def test_gaussian_blur_draws_as_torchvision():
    assert_alike("GaussianBlur.sigma0", sampled(T.GaussianBlur(23)).values)


def test_gaussian_noise_draws_within_its_ranges():
    noises = sampled(T.GaussianNoise((-0.1, 0.3), (0.0, 0.2)))
    for values, low, high in ((noises.mean, -0.1, 0.3), (noises.sigma, 0.0, 0.2)):
        fraction = (np.sort(values) - low) / (high - low)
        assert np.abs(fraction - (np.arange(COUNT) + 0.5) / COUNT).max() < LARGEST
    certain = sampled(T.GaussianNoise(0.1, 0.2))
    assert set(certain.mean) == {0.1}
    assert set(certain.sigma) == {0.2}


def test_scales_draw_as_torchvision():
    zoomed = sampled(T.RandomZoomOut(p=1.0))
    padding = {
        "padding0": -zoomed.left,
        "padding1": -zoomed.top,
        "padding2": zoomed.width - WIDTH + zoomed.left,
        "padding3": zoomed.height - HEIGHT + zoomed.top,
    }
    for name, values in padding.items():
        assert_alike(f"RandomZoomOut.{name}", values)
    for name, transform in (
        ("ScaleJitter", T.ScaleJitter((300, 400))),
        ("RandomShortestSize", T.RandomShortestSize((200, 300, 400), 600)),
    ):
        sizes = sampled(transform).sizes
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
    assert_alike("MixUp.lam", sampled(T.MixUp(0.4)).weight)
    drawn = sampled(T.CutMix(1.0))
    assert_alike("CutMix.lam_adjusted", drawn.weight)
    for i in range(4):
        assert_alike(f"CutMix.box{i}", drawn.boxes[:, i])


def test_augmix_draws_as_torchvision():
    sizes = np.tile([AUGMIX_SIZE], (COUNT, 1))
    drawn = T.AugMix().sample(sizes, Stream(np.arange(COUNT), seed=3))
    assert np.abs(drawn.weights.sum(1) - 1).max() < 1e-12
    for k in range(4):
        assert_alike(f"AugMix.weight{k}", drawn.weights[:, k])
    applied = drawn.choices.operation > 0
    assert_alike("AugMix.length", applied.reshape(3, COUNT, 3).sum((0, 2)))
    names = np.array([AUGMIX_OPERATIONS.index(n) if n in AUGMIX_OPERATIONS else -1 for n in OPERATIONS])
    assert_alike("AugMix.operation", names[drawn.choices.operation[applied]])
    # Slightly lower, so that equal negative numbers in float32 are not above.
    assert_alike("AugMix.magnitude", drawn.choices.magnitude[applied] - 1e-5)


def test_dirichlet_of_one_number_is_certain():
    stream = Stream(np.arange(5))
    assert (stream.dirichlets(0.3, 1) == 1).all()
    assert np.isfinite(stream.dirichlets(1e-6, 3)).all()  # all three underflow in most samples
    assert np.abs(stream.dirichlets(1e-6, 3).sum(1) - 1).max() < 1e-12
