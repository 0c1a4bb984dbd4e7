"""Adaptation to reference images: the references, and results by hand."""

import pickle
import re

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.adaptation.adaptation import (
    matching_levels,
    principal_axes,
    principal_map,
    replaced_part,
)
from orbbec.transforms.adaptation.references import References
from tests.support import photograph

IMAGE = photograph(40, 52)
OTHER = photograph(30, 44)[::-1] // 2 + 60
KINDS = [
    lambda references: T.HistogramMatching(references, (1.0, 1.0), 1.0),
    lambda references: T.PixelDistributionAdaptation(references, (1.0, 1.0), "standard", 1.0),
    lambda references: T.FDA(references, (0.1, 0.1), 1.0),
]


def test_levels_are_clipped():
    bright = np.where(OTHER > 110, 255, 200).astype(np.uint8)
    result = T.PixelDistributionAdaptation([bright], (1.0, 1.0), "standard", 1.0)(IMAGE)
    assert (result.max(), result.min() > 0) == (255, True)


@pytest.mark.parametrize("make", KINDS)
def test_references_of_every_kind_give_the_same(make, tmp_path):
    image = pytest.importorskip("PIL.Image").fromarray(np.ascontiguousarray(OTHER))
    image.save(tmp_path / "other.png")
    kinds = [OTHER, torch.from_numpy(OTHER.copy()).permute(2, 0, 1), image, tmp_path / "other.png"]
    results = [np.asarray(make([kind])(IMAGE)) for kind in kinds]
    results.append(np.asarray(make(lambda: [OTHER])(IMAGE)))
    results.append(np.asarray(make([OTHER.astype(np.float32) / 255])(IMAGE)))
    assert (results[0] != IMAGE).mean() > 0.5
    assert all((each == results[0]).all() for each in results)


@pytest.mark.parametrize("make", KINDS)
def test_gray_images_take_gray_references(make, tmp_path):
    pytest.importorskip("PIL.Image").fromarray(np.ascontiguousarray(OTHER)).save(tmp_path / "other.png")
    result = make([str(tmp_path / "other.png")])(IMAGE[..., :1])
    assert result.shape == (40, 52, 1)
    with pytest.raises(ValueError, match="expected references of 1 channels, as the images, but reference 0"):
        make([OTHER])(IMAGE[..., :1])


def test_a_function_is_called_once():
    calls = []
    transform = T.HistogramMatching(lambda: calls.append(1) or [OTHER, OTHER // 2], p=1.0)
    pipeline = T.Compose([transform])
    for epoch in range(3):
        pipeline(IMAGE, epoch=epoch)
    assert len(calls) == 1


def test_each_reference_is_drawn():
    others = [np.full((5, 5, 3), level, np.uint8) for level in (10, 90, 200)]
    pipeline = T.Compose([T.HistogramMatching(others, (1.0, 1.0), 1.0)], seed=1)
    images = torch.from_numpy(IMAGE).permute(2, 0, 1).expand(90, -1, -1, -1)
    levels = [int(each.unique()) for each in pipeline(images, epoch=0)]
    assert set(levels) == {10, 90, 200}
    assert all(levels.count(level) > 12 for level in set(levels))


def test_paths_are_written_as_text_and_images_are_pickled():
    paths = T.Compose([T.FDA(["a.png", "b.png"])], seed=1)
    again = T.Compose.from_json(paths.to_json())
    assert again == paths
    assert again != T.Compose([T.FDA(["a.png"])], seed=1)
    assert hash(again.transforms[0].references) == hash(paths.transforms[0].references)
    images = T.Compose([T.FDA([OTHER], (0.2, 0.2), 1.0)], seed=1)
    with pytest.raises(TypeError, match="FDA: only references that are paths can be serialized as text"):
        images.to_json()
    copy = pickle.loads(pickle.dumps(images))
    assert (np.asarray(copy(IMAGE, epoch=0)) == np.asarray(images(IMAGE, epoch=0))).all()
    assert repr(images.transforms[0].references) == "<1 images>"
    assert repr(paths.transforms[0].references) == "['a.png', 'b.png']"


def test_a_reference_of_other_channels_is_refused_though_it_is_not_drawn():
    gray = OTHER[..., :1]
    for epoch in range(8):
        pipeline = T.Compose([T.HistogramMatching([gray, OTHER], p=1.0)], seed=1)
        with pytest.raises(ValueError, match="as the images, but reference 1 has 3"):
            pipeline(IMAGE[..., :1], epoch=epoch)


@pytest.mark.parametrize(
    ("references", "message"),
    [
        (3, "expected references as a list of images or paths, or a function that returns one, but got int"),
        ([], "expected at least one image in references, but got []"),
        (
            [OTHER, 7],
            "expected arrays, tensors, images of Pillow or paths in references, but",
        ),
        ([np.zeros(3)], "expected references [H, W, C] or tensors [C, H, W], but reference 0 has shape [3]"),
    ],
)
def test_what_is_no_reference_is_refused(references, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(f"FDA: {message}")):
        T.FDA(references)


def test_resized_references_are_those_of_opencv():
    cv2 = pytest.importorskip("cv2")
    resized = References("FDA", [OTHER]).resized(0, 3, (40, 52))
    assert (resized.permute(1, 2, 0).numpy() == cv2.resize(OTHER, (52, 40))).all()


def test_levels_are_matched_by_hand():
    source, reference = np.array([0.25, 0.5, 1.0]), np.array([0.0, 0.5, 0.5, 1.0])
    assert matching_levels(source, reference).tolist() == [1, 1, 3]


def test_principal_axes_are_paired_and_point_the_same_way():
    turn = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    one = np.diag([9.0, 4.0, 1.0])
    matrix = principal_map(one, turn @ one @ turn.T)
    assert np.abs(matrix - turn).max() < 1e-12
    assert np.abs(principal_map(one, one) - np.eye(3)).max() < 1e-12


@pytest.mark.parametrize("size", [(8, 8), (7, 9), (6, 11), (1, 1), (2, 3)])
@pytest.mark.parametrize("beta", [0.0, 0.2, 0.5])
def test_frequencies_are_replaced_as_by_a_whole_spectrum(size, beta):
    reach, middle = int(min(size) * beta), [(side - 1) / 2 for side in size]
    ends = [
        (max(0, int(at - reach)), min(int(at + reach), side)) for at, side in zip(middle, size, strict=True)
    ]
    whole = np.zeros(size)
    whole[ends[0][0] : ends[0][1], ends[1][0] : ends[1][1]] = 1
    whole = np.fft.ifftshift(whole)
    opposite = np.roll(whole[::-1, ::-1], 1, (0, 1))
    expected = ((whole + opposite) / 2)[:, : size[1] // 2 + 1]
    assert (replaced_part(size, beta) == expected).all()


def test_an_image_whose_spectrum_keeps_all_frequencies_is_unchanged():
    pipeline = T.Compose([T.FDA([OTHER], (0.0, 0.1), 1.0)])
    images = np.stack([IMAGE] * 20)
    betas = pipeline.plan([IMAGE.shape[:2]] * 20, epoch=0).passes[0].table["beta"]
    is_unchanged = np.array([not replaced_part((40, 52), float(beta)).any() for beta in betas])
    assert 0 < is_unchanged.sum() < 20
    assert ((pipeline(images, epoch=0) == images).all((1, 2, 3)) == is_unchanged).all()


def test_floats_are_close_to_bytes():
    for make in KINDS:
        result = np.asarray(make([OTHER])(IMAGE)).astype(float)
        floats = make([OTHER])(IMAGE.astype(np.float32) / 255) * 255
        assert np.abs(floats - result).max() < 0.51


def test_principal_axes_are_those_of_lapack():
    rng = np.random.default_rng(0)
    for channels in (1, 2, 3, 4):
        for _ in range(50):
            factor = rng.normal(size=(channels, channels))
            matrix = factor @ factor.T
            axes = principal_axes(matrix)
            variances = axes.T @ matrix @ axes
            np.testing.assert_allclose(axes.T @ axes, np.eye(channels), atol=1e-14)
            np.testing.assert_allclose(variances, np.diag(np.linalg.eigvalsh(matrix)), atol=1e-13)
    assert principal_axes(np.diag([3.0, 1.0, 2.0])).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
