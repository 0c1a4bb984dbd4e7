"""Warps with every interpolation and border have the bytes of the operators and of OpenCV."""

import numpy as np
import pytest
import torch

import orbbec
from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.plan import Plan, apply
from tests.support import photograph
from tests.support.registers import Registers

PHOTO = photograph(60, 80)
FILL = (114.0, 7.0, 250.0)
BORDERS = {
    **{"constant": "constant", "edge": "replicate", "reflect": "reflect101", "symmetric": "reflect"},
    "wrap": "wrap",
}
FUSED = ("nearest", "linear", "cubic")
KINDS = {
    "rotation": lambda **how: T.RandomRotation((20, 40), expand=True, **how),
    "affine": lambda **how: T.RandomAffine(30, (0.2, 0.2), (0.7, 1.4), 10, **how),
    "unequal": lambda **how: T.RandomAffine(30, scale=(0.5, 0.8, 1.2, 1.5), **how),
    "perspective": lambda **how: T.RandomPerspective(0.6, 1.0, **how),
}


def called(plan, interpolation, border):
    """The result of the operator that corresponds to the warp of a plan for `PHOTO`."""
    matrix, (size,) = torch.from_numpy(plan.passes[0].matrix[0]), plan.output_sizes.tolist()
    how = {"interpolation": interpolation, "border": border, "fill": FILL, "inverse": True}
    if interpolation == "lanczos4" and plan.passes[0].name == "warp_affine":
        return orbbec.warp_affine(PHOTO, matrix[:2], size, **how)
    return orbbec.warp_perspective(PHOTO, matrix, size, **how)


@pytest.mark.parametrize("padding_mode", BORDERS)
@pytest.mark.parametrize("interpolation", [*FUSED, "lanczos4"])
@pytest.mark.parametrize("kind", KINDS)
def test_warps_are_those_of_the_operators(kind, interpolation, padding_mode):
    transform = KINDS[kind](interpolation=interpolation, padding_mode=padding_mode, fill=FILL)
    for epoch in range(3):
        plan = T.Compose([transform]).plan([PHOTO.shape[:2]], epoch=epoch)
        expected = called(plan, interpolation, BORDERS[padding_mode])
        assert np.array_equal(apply(plan, PHOTO), expected)
        assert np.array_equal(apply(Plan.from_json(plan.to_json()), PHOTO), expected)


@pytest.mark.parametrize("padding_mode", BORDERS)
@pytest.mark.parametrize("interpolation", ["cubic", "lanczos4"])
@pytest.mark.parametrize("kind", KINDS)
def test_warps_are_those_of_opencv(kind, interpolation, padding_mode):
    cv2 = pytest.importorskip("cv2")
    from tests.support.peers import opencv

    transform = KINDS[kind](interpolation=interpolation, padding_mode=padding_mode, fill=FILL)
    plan = T.Compose([transform]).plan([PHOTO.shape[:2]], epoch=5)
    if opencv.arithmetic() != "cv2_5":
        pytest.skip(f"numbers of OpenCV 5, not of {cv2.__version__}")
    name = "warp_perspective" if plan.passes[0].name == "augment" else plan.passes[0].name
    matrix = plan.passes[0].matrix[0, : 2 if name == "warp_affine" else 3]
    how = {"interpolation": interpolation, "border": BORDERS[padding_mode], "fill": FILL, "inverse": True}
    expected = opencv.warp(name, PHOTO, matrix, plan.output_sizes[0].tolist(), **how)
    assert np.array_equal(apply(plan, PHOTO), expected)


@pytest.mark.parametrize("interpolation", FUSED)
@pytest.mark.parametrize("kind", KINDS)
def test_all_but_lanczos_are_fused(kind, interpolation):
    warp = KINDS[kind](interpolation=interpolation, padding_mode="wrap")
    pipeline = [
        T.RandomHorizontalFlip(),
        warp,
        T.ColorJitter(0.4),
        T.ToDtype(torch.float32, True),
        T.Normalize(),
    ]
    plan = T.Compose(pipeline).plan([(40, 50)], epoch=0)
    assert [step.name for step in plan.passes] == ["augment"]
    assert f"({interpolation}, border wrap" in str(plan)


@pytest.mark.parametrize(
    ("transform", "operator"),
    [
        (T.RandomRotation(30, "lanczos"), "warp_affine"),
        (T.RandomAffine(30, interpolation=4), "warp_affine"),
        (T.RandomPerspective(0.5, interpolation="lanczos4"), "warp_perspective"),
    ],
)
def test_a_plan_says_why_lanczos_is_not_fused(transform, operator):
    plan = T.Compose([transform, T.ColorJitter(0.4)]).plan([(40, 50)], epoch=0)
    assert [step.name for step in plan.passes] == [operator, "augment"]
    assert f"because {operator} reads 64 pixels" in str(plan)


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [("nearest", "cubic", "cubic"), ("cubic", "linear", "cubic"), ("nearest", "linear", "linear")],
)
def test_warps_of_several_interpolations_in_a_pass_read_by_the_smoothest(first, second, both):
    plan = T.Compose([T.RandomRotation(9, first), T.RandomAffine(9, interpolation=second)]).plan([(9, 9)])
    assert [step.interpolation for step in plan.passes] == [both]
    assert f"RandomAffine is fused with a warp of another interpolation: both are {both}" in str(plan)


@pytest.mark.parametrize("padding_mode", BORDERS)
@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "lanczos4"])
def test_elastic_is_that_of_the_operator(interpolation, padding_mode):
    how = {"interpolation": interpolation, "fill": FILL}
    elastic = T.Compose([T.ElasticTransform(90.0, 3.0, **how, padding_mode=padding_mode)], seed=3)
    expected = orbbec.elastic_transform(
        PHOTO, 90.0, 3.0, **how, border=BORDERS[padding_mode], seed=3, sample_ids=np.array([8]), epoch=2
    )
    assert np.array_equal(elastic(PHOTO, sample_ids=[8], epoch=2), expected)


@pytest.mark.parametrize("interpolation", ["linear", "cubic", "lanczos4"])
def test_faces_are_aligned_by_every_interpolation(interpolation):
    align = T.Compose([T.AlignFaces(64, interpolation=interpolation, fill=FILL, padding_mode="symmetric")])
    targets = [{"landmarks": np.array([[20, 20], [50, 22], [36, 35], [25, 48], [47, 49]], np.float32)}]
    plan = align.plan([PHOTO.shape[:2]], targets=targets)
    assert np.array_equal(apply(plan, PHOTO), called(plan, interpolation, "reflect"))


@pytest.mark.parametrize("kind", KINDS)
def test_variable_size_images_are_warped_by_lanczos_as_each_alone(kind):
    photos = [photograph(30, 41), photograph(52, 20), photograph(30, 41)]
    transform = KINDS[kind](interpolation="lanczos4", padding_mode="edge")
    together = transform(ImageBatch.from_images(photos), epoch=1)
    for n, photo in enumerate(photos):
        assert np.array_equal(together[n].numpy(), transform(photo, sample_ids=[n], epoch=1))


@pytest.mark.parametrize("interpolation", ["cubic", "lanczos4"])
def test_images_that_are_not_chosen_keep_size_and_bytes(interpolation):
    apply_some = T.RandomApply([T.RandomRotation((30, 60), interpolation, expand=True)], 0.5)
    batch = ImageBatch.from_images([PHOTO] * 16)
    results = apply_some(batch, epoch=0)
    same = [image.shape == PHOTO.shape and np.array_equal(image, PHOTO) for image in results.numpy()]
    assert 0 < sum(same) < 16
    assert same == [size == list(PHOTO.shape[:2]) for size in results.sizes.tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_targets_follow_lanczos_as_linear(kind):
    mask = torch.from_numpy((PHOTO[..., 0] > 100).astype(np.uint8))
    targets = {"boxes": torch.tensor([[10.0, 12, 50, 40]]), "masks": mask[None], "keypoints": [[[20.0, 30]]]}
    moved = [
        KINDS[kind](interpolation=name, padding_mode="reflect")(PHOTO, targets, epoch=3)[1]
        for name in ("linear", "lanczos4")
    ]
    assert torch.equal(moved[0]["boxes"], moved[1]["boxes"])
    assert torch.equal(moved[0]["masks"], moved[1]["masks"])
    assert np.array_equal(moved[0]["keypoints"], moved[1]["keypoints"])


@pytest.mark.parametrize("policy", [T.RandAugment, T.TrivialAugmentWide, T.AutoAugment, T.AugMix])
def test_policies_take_the_interpolations_of_warps(policy):
    photos = torch.from_numpy(PHOTO).permute(2, 0, 1).repeat(32, 1, 1, 1)
    results = [policy(interpolation=name)(photos, epoch=1) for name in ("nearest", "bicubic", "lanczos")]
    assert not torch.equal(results[0], results[1])
    assert not torch.equal(results[1], results[2])
    plan = T.Compose([policy(interpolation="lanczos")]).plan([PHOTO.shape[:2]], epoch=1)
    inner = plan.passes[0].passes if policy is T.AugMix else plan.passes
    assert inner[0].name == "warp_affine"
    assert inner[0].options["interpolation"] == "lanczos4"


def test_scales_along_x_and_y_have_ranges_of_their_own():
    transform = T.RandomAffine(0, scale=(2, 2, 0.5, 0.5))
    assert T.Compose([transform]).plan([(5, 9)]).matrix[0].tolist() == [[0.5, 0, 2], [0, 2, -2], [0, 0, 1]]
    sizes = np.tile([[60, 80]], (1000, 1))
    unequal, equal = (
        Registers(T.RandomAffine(30, (0.1, 0.1), scale, 10).rules, sizes).of("affine", count=7)[0]
        for scale in ((0.5, 1.0, 1.0, 2.0), (0.5, 1.0))
    )
    scale_x, scale_y = unequal[:, 3:5].T
    assert np.array_equal(scale_x, equal[:, 3])
    assert np.array_equal(scale_x, equal[:, 4])
    assert scale_y.min() >= 1.0
    assert scale_y.max() <= 2.0
    assert abs(np.corrcoef(scale_x, scale_y)[0, 1]) < 0.13  # 4 standard deviations
    others = [0, 1, 2, 5, 6]  # angle, shifts, shears
    assert np.array_equal(unequal[:, others], equal[:, others])
    assert (np.ptp(unequal[:, others[:4]], axis=0) > 10).all()


def test_an_expanded_affine_holds_the_whole_result():
    image = torch.full((1, 3, 5), 7, dtype=torch.uint8)
    # Twice as wide and half as high: positions from -2 to 8 along x and from 0.5 to 2 along y.
    result = T.RandomAffine(0, scale=(2, 2, 0.5, 0.5), interpolation="linear", expand=True)(image)
    assert result.shape == (1, 3, 11)
    pipeline = T.Compose(
        [T.RandomAffine(40, None, (0.5, 2.0), (10, 30), interpolation="linear", expand=True)]
    )
    images = torch.full((20, 1, 30, 41), 200, dtype=torch.uint8)
    box = {"boxes": torch.tensor([[0.0, 0.0, 41.0, 30.0]])}
    results, targets = pipeline(images, [box] * 20, epoch=0)
    assert len({tuple(each.shape) for each in results}) > 10
    for each, target in zip(results, targets, strict=True):
        (left, top, right, bottom), (height, width) = target["boxes"][0].tolist(), each.shape[:2]
        assert 0 <= left < 2
        assert 0 <= top < 2
        assert width - 4 < right <= width
        assert height - 4 < bottom <= height
        around = torch.cat([each[[0, -1]].flatten(), each[:, [0, -1]].flatten()])
        assert (around < 200).float().mean() > 0.9  # only corners reach the border


@pytest.mark.parametrize("how", [{"translate": (0.1, 0.1)}, {"center": (1.0, 1.0)}])
def test_an_expanded_affine_has_no_shift(how):
    with pytest.raises(ValueError, match="RandomAffine: expected neither center nor translate together with"):
        T.RandomAffine(9, **how, expand=True)


def test_scales_come_before_the_rotation():
    (matrix,) = T.Compose([T.RandomAffine((90, 90), scale=(2, 2, 0.5, 0.5))]).plan([(9, 9)]).matrix
    # A step along a column of the output moves along a row of the image.
    assert matrix[:2, :2].tolist() == [[0, 0.5], [-2, 0]]


@pytest.mark.parametrize(
    ("padding_mode", "row"),
    [
        *[("constant", "ffabcdff"), ("edge", "aaabcddd"), ("replicate", "aaabcddd")],
        *[("reflect", "cbabcdcb"), ("reflect101", "cbabcdcb"), ("symmetric", "baabcddc")],
        *[("wrap", "cdabcdab"), (0, "ffabcdff"), (1, "aaabcddd"), (2, "baabcddc")],
        *[(3, "cdabcdab"), (4, "cbabcdcb")],
    ],
)
def test_padding_modes(padding_mode, row):
    letters = np.frombuffer(b"abcd", np.uint8)[None]
    padded = T.Pad((2, 0), ord("f"), padding_mode)(letters)
    shifted = T.RandomAffine(0, fill=ord("f"), padding_mode=padding_mode)
    assert bytes(padded.ravel()).decode() == row
    assert (
        T.Compose([shifted]).plan([(1, 4)]).passes[0].border
        == T.Compose([T.Pad(1, padding_mode=padding_mode)]).plan([(1, 4)]).passes[0].border
    )


@pytest.mark.parametrize("value", ["cubic hermite", "box", 7, None, 1.0, True])
@pytest.mark.parametrize("kind", [*KINDS.values(), T.ElasticTransform, T.AlignFaces, T.RandAugment, T.AugMix])
def test_an_unknown_interpolation_is_named(kind, value):
    message = r"^\w+: expected interpolation as one of nearest, linear, cubic, lanczos4, but got"
    with pytest.raises((ValueError, TypeError), match=message):
        kind(interpolation=value)


@pytest.mark.parametrize("value", ["transparent", "mirror", 5, 16, -1, None, True])
@pytest.mark.parametrize("kind", [*KINDS.values(), T.ElasticTransform, T.AlignFaces])
def test_an_unknown_padding_mode_is_named(kind, value):
    with pytest.raises(
        (ValueError, TypeError), match=r"^\w+: expected padding_mode as one of constant, edge,"
    ):
        kind(padding_mode=value)


def test_bad_scales_are_named():
    for scale in (1.0, (0.5,), (1, 2, 3), (0.5, 1, 2, 1), (0.5, 1, -1, 1)):
        with pytest.raises(ValueError, match="RandomAffine: expected scale as"):
            T.RandomAffine(0, scale=scale)
