"""Crops of half bodies, compared with mmpose's rule written in NumPy."""

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.plan import Stream

COUNT, SIZE, SEED = 60, (90, 70), 3
IDS = np.arange(COUNT)


def people():
    """Joints within the image, with visibilities; some people have few visible joints, or of one half."""
    rng = np.random.default_rng(1)
    points = rng.integers(0, SIZE[::-1], (COUNT, 17, 2)).astype(float)
    visible = rng.random((COUNT, 17)) < rng.choice([0.3, 0.6, 0.9, 1.0], (COUNT, 1))
    visible[::7, 11:] = False
    visible[3::7, :10] = False
    return np.concatenate([points, 2.0 * visible[..., None]], 2)


def images():
    """The position of each pixel, from 1."""
    y, x = np.mgrid[1 : SIZE[0] + 1, 1 : SIZE[1] + 1]
    return torch.from_numpy(np.stack([y, x, 0 * x]).astype(np.uint8)).expand(COUNT, -1, -1, -1)


def chosen_joints(visible, draws, p=0.3, total=9, least=(2, 3), upper_prob=0.7):
    """The indices of mmpose's `RandomHalfBody._random_select_half_body`, or None."""
    if visible.sum() < total or draws[0] >= p:
        return None
    upper, lower = [k for k in range(11) if visible[k]], [k for k in range(11, 17) if visible[k]]
    if len(upper) < least[0] and len(lower) < least[1]:
        return None
    if len(lower) < least[1]:
        return upper
    if len(upper) < least[0]:
        return lower
    return upper if draws[1] < upper_prob else lower


def moved(transform, epoch=0, **options):
    pipeline = T.Compose([transform], seed=SEED, **options)
    targets = [{"keypoints": person} for person in people()]
    results, after = pipeline(list(images()), targets, epoch=epoch, sample_ids=IDS)
    return [image.permute(2, 0, 1) for image in results], [target["keypoints"] for target in after]


@pytest.mark.parametrize("options", [{}, {"p": 1.0}, {"p": 1.0, "upper_prob": 0.2, "min_total_keypoints": 3}])
def test_crops_are_those_of_mmpose(options):
    names = {"p": "p", "upper_prob": "upper_prob", "min_total_keypoints": "total"}
    results, points = moved(T.RandomHalfBody(**options))
    halves = set()
    for person, draws, image, joints in zip(
        people(), Stream(IDS, SEED, 0, 0).uniforms(2), results, points, strict=True
    ):
        half = chosen_joints(person[:, 2] > 0, draws, **{names[key]: value for key, value in options.items()})
        corner = np.zeros(2)
        if half is None:
            assert image.shape[1:] == SIZE
        else:
            selected = person[half, :2]
            center, scale = selected.mean(0), (selected.max(0) - selected.min(0)) * 1.5
            corner, size = np.rint(center - scale / 2), np.array(image.shape[:0:-1])
            assert size.tolist() == (np.rint(center + scale / 2) - corner + 1).tolist()
            halves.add(half[0] >= 11)
        assert np.array_equal(joints[:, :2], person[:, :2] - corner)
        inside = (corner >= 0).all()
        assert not inside or image[:2, 0, 0].tolist() == [corner[1] + 1, corner[0] + 1]
    assert halves == {False, True}


def test_crops_have_a_ratio_and_a_fill():
    transform = T.RandomHalfBody(p=1.0, aspect_ratio=0.5, fill=200, min_total_keypoints=1)
    results, _ = moved(transform)
    cropped = [image for image in results if image.shape[1:] != SIZE]
    assert len(cropped) > 50
    for image in cropped:
        _, height, width = image.shape
        assert abs(width - height / 2) <= 1.5
    assert any((image == 200).all(0).any() for image in cropped)


def test_joints_are_where_the_steps_before_moved_them():
    flip, half = T.RandomHorizontalFlip(p=1.0), T.RandomHalfBody(p=1.0)
    person = {"keypoints": people()[9]}
    _, alone = T.Compose([half], seed=SEED)(images()[:1], [person], epoch=0)
    joints = torch.from_numpy(people()[9])
    joints[:, 0] = SIZE[1] - 1 - joints[:, 0]
    pipeline = T.Compose([flip, half], seed=SEED)
    plan = pipeline.plan([SIZE], IDS[:1], epoch=0, targets=[person])
    assert [each.holds for each in plan.passes] == [("RandomHorizontalFlip", "RandomHalfBody")]
    _, flipped = pipeline(images()[:1], [person], epoch=0)
    half_width = flipped[0]["keypoints"][:, 0] + alone[0]["keypoints"][:, 0]
    assert np.ptp(half_width) < 1e-9


def test_images_without_a_person_stay_whole():
    nowhere = [np.zeros((0, 17, 3)), *(np.tile(joint, (17, 1)) for joint in ([np.nan] * 2, [5, np.nan]))]
    for target in ({}, *({"keypoints": joints} for joints in nowhere)):
        result, _ = T.RandomHalfBody(p=1.0)(images()[:1], [target])
        assert torch.equal(result[0], images()[0])
    one = np.concatenate([np.ones((1, 17, 2)), np.full((1, 17, 1), 2.0)], 2)
    (result,) = T.RandomHalfBody(p=1.0)(images()[:1], [{"keypoints": one}])[0]
    assert 1 in result.shape


def of_joints(shape):
    return T.RandomHalfBody()(images()[:1], [{"keypoints": np.zeros(shape)}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: T.RandomHalfBody(upper=()), "upper"),
        (lambda: T.RandomHalfBody(lower=(1, -1)), "lower"),
        (lambda: T.RandomHalfBody(key=3), "key"),
        (lambda: T.RandomHalfBody(padding_mode="none"), "padding_mode"),
        (
            lambda: T.RandomHalfBody()(images()[:1], [{"keypoints": np.zeros((5, 3))}]),
            r"\[17, 3\], but image 0",
        ),
        (lambda: of_joints((5, 3)), r"\[17, 3\], but image 0 has \[5, 3\]"),
        (lambda: of_joints((2, 17, 3)), "of one person"),
        (lambda: T.Compose([T.MixUp(), T.RandomHalfBody()])(images(), [{}] * COUNT), "images are mixed"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises((TypeError, ValueError), match=f"RandomHalfBody: expected .*{message}"):
        make()
