"""Depth, flow and normals compared with masks, keypoints, NumPy and the derivatives of a surface."""

import math

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.data import BadSample, Loader, Sample
from orbbec.plan.points import carried, forward_of
from orbbec.transforms.targets.dense import Reading, following
from orbbec.transforms.targets.tests.test_targets import MAPS
from tests.support import assert_same_bytes

HEIGHT, WIDTH = 60, 80
IMAGE = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
CURVED = {"perspective", "elastic", "second elastic"}


def depths():
    rng = np.random.default_rng(0)
    depth = rng.uniform(1, 80, (HEIGHT, WIDTH)).astype(np.float32)
    depth[rng.random(depth.shape) < 0.1] = np.nan
    depth[rng.random(depth.shape) < 0.1] = np.inf
    return depth


def unit_normals(seed=0, size=(HEIGHT, WIDTH)):
    normals = np.random.default_rng(seed).standard_normal((3, *size))
    return (normals / np.linalg.norm(normals, axis=0)).astype(np.float32)


def result_of(transforms, target, seed=0, image=IMAGE, **options):
    compose = T.Compose(transforms, seed=seed, target_options=T.TargetOptions(**options))
    plan = compose.plan([image.shape[:2]], sample_ids=[0], epoch=0)
    return plan, compose(image, target, epoch=0)[1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint16])
@pytest.mark.parametrize("name", MAPS)
def test_depth_is_read_where_a_mask_is(name, dtype):
    with np.errstate(invalid="ignore"):
        depth = depths().astype(dtype)
    _, target = result_of(MAPS[name], {"depth": depth, "mask": depth}, depth_fill=3, mask_fill=3)
    assert target["depth"].dtype == dtype
    assert_same_bytes(target["depth"], target["mask"])


@pytest.mark.parametrize("name", sorted(set(MAPS) - CURVED))
def test_depth_scale_divides_by_the_zoom(name):
    depth = depths()
    plan, scaled = result_of(MAPS[name], {"depth": depth, "mask": depth}, depth_scale=True)
    zoom = math.sqrt(abs(np.linalg.det(forward_of(plan.matrix)[0][:2, :2])))
    expected = scaled["mask"].astype(np.float64) / zoom
    assert np.isnan(scaled["depth"]).any()
    assert np.isinf(scaled["depth"]).any()
    np.testing.assert_allclose(scaled["depth"], expected, rtol=7e-8)  # half a unit of float32: 5.94e-8 seen


def test_depth_scale_by_hand():
    depth = torch.tensor([[[4.0, 8.0], [math.inf, math.nan]]])
    resize = T.Resize((4, 4), antialias=False)
    _, target = T.Compose([resize], target_options=T.TargetOptions(depth_scale=True))(
        torch.zeros(3, 2, 2), {"depth": depth}
    )
    expected = torch.tensor([[2.0, 2, 4, 4]] * 2 + [[math.inf] * 2 + [math.nan] * 2] * 2)
    assert torch.equal(target["depth"][0].nan_to_num(-1), expected.nan_to_num(-1))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", MAPS)
def test_both_ends_of_flow_move_as_keypoints_do(name, seed):
    vector = np.array([6.0, -4.0])
    flow = np.broadcast_to(vector[:, None, None], (2, HEIGHT, WIDTH)).copy()
    starts = np.random.default_rng(seed).uniform(20, 40, (20, 2))
    points = np.concatenate([starts, starts + vector])
    _, target = result_of(MAPS[name], {"flow": flow, "keypoints": points}, seed)
    begins, ends = np.split(target["keypoints"], 2)
    x, y = np.rint(begins).astype(int).T
    height, width = target["flow"].shape[1:]
    seen = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    actual = target["flow"][:, y[seen], x[seen]].T
    assert seen.sum() > 3
    # The pixel is up to 0.7 from the point: elastic 0.295 seen, perspective 0.031; affine 3e-14.
    allowed = {"perspective": 0.05}.get(name, 0.35) if name in CURVED else 1e-12
    assert np.abs(actual - (ends - begins)[seen]).max() < allowed


def test_flow_of_a_perspective_is_exact():
    rng = np.random.default_rng(1)
    flow = rng.uniform(-9, 9, (2, HEIGHT, WIDTH))
    pixels = np.arange(HEIGHT * WIDTH).reshape(HEIGHT, WIDTH)
    plan, target = result_of(MAPS["perspective"], {"flow": flow, "mask": pixels}, mask_fill=-1)
    y, x = np.nonzero(target["mask"] >= 0)
    here = np.stack([x, y], 1).astype(np.float64)
    vectors = flow.reshape(2, -1)[:, target["mask"][y, x]].T
    expected = carried(forward_of(plan.matrix)[0], carried(plan.matrix[0], here) + vectors) - here
    np.testing.assert_allclose(target["flow"][:, y, x].T, expected, atol=1e-9)
    assert (target["flow"][:, target["mask"] < 0] == 0).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", ["depth", "flow", "normals"])
def test_what_is_infinitely_far_or_too_large_is_silent(kind):
    matrix = np.array([[2.0, 0, -4], [0, 2, 0], [-0.25, 0, 1]])  # column 4 is infinitely far
    values = torch.ones({"depth": 1, "flow": 2, "normals": 3}[kind], 3, 9, dtype=torch.float64)
    values[:, 1] = 1e308
    result = following(kind, values, Reading(matrix, None, "reflect", (3, 9)))
    assert result[:, 0, :4].isfinite().all()
    assert not result[:, :2].isfinite().all((0, 1))[4]


def test_flow_by_hand():
    flow = torch.tensor([[[1.0, 2.0]], [[3.0, math.nan]]])
    image = torch.zeros(3, 1, 2)
    _, flip = T.Compose([T.RandomHorizontalFlip(1.0)])(image, {"flow": flow})
    assert flip["flow"][:, 0, 1].tolist() == [-1.0, 3.0]
    assert flip["flow"][0, 0, 0] == 2.0  # not finite together: both stay
    assert flip["flow"][1, 0, 0].isnan()
    _, large = T.Compose([T.Resize((3, 4), antialias=False)])(image, {"flow": flow})
    assert large["flow"][:, 0, 0].tolist() == [2.0, 9.0]
    _, quarter = T.Compose([T.RandomRotation((90, 90), expand=True)])(image, {"flow": flow})
    np.testing.assert_allclose(quarter["flow"][:, 1, 0], [3.0, -1.0], atol=1e-6)  # counterclockwise


@pytest.mark.parametrize(
    ("transforms", "expected"),
    [
        ([T.RandomHorizontalFlip(1.0)], lambda n: n[:, :, ::-1] * [[[-1]], [[1]], [[1]]]),
        ([T.RandomVerticalFlip(1.0)], lambda n: n[:, ::-1] * [[[1]], [[-1]], [[1]]]),
        ([T.CenterCrop(20)], lambda n: n[:, 20:40, 30:50]),
        ([T.Resize((120, 160), antialias=False)], lambda n: n.repeat(2, 1).repeat(2, 2)),
    ],
)
def test_normals_are_those_of_numpy(transforms, expected):
    normals = unit_normals()
    _, target = result_of(transforms, {"normals": normals})
    np.testing.assert_array_equal(target["normals"], expected(normals).astype(np.float32))


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_a_reflecting_border_mirrors_vectors(mode):
    normals = unit_normals(size=(9, 12))
    _, target = result_of(
        [T.Pad((5, 3, 6, 4), padding_mode=mode)], {"normals": normals}, image=np.zeros((9, 12, 3), np.uint8)
    )
    expected = np.pad(normals, ((0, 0), (3, 4), (5, 6)), mode)
    expected[0, :, :5] *= -1
    expected[0, :, 17:] *= -1
    expected[1, :3] *= -1
    expected[1, 12:] *= -1
    np.testing.assert_array_equal(target["normals"], expected)


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_each_reflection_mirrors_vectors_again(mode, times):
    normals, size = unit_normals(size=(4, 5)), (4, 5)
    height, width = (side - (mode == "reflect") for side in size)
    _, target = result_of(
        [T.Pad((times * width, times * height), padding_mode=mode)],
        {"normals": normals},
        image=np.zeros((*size, 3), np.uint8),
    )
    expected = normals
    for _ in range(times):
        expected = np.pad(expected, ((0, 0), (height, height), (width, width)), mode)
        expected[0, :, :width] *= -1
        expected[0, :, -width:] *= -1
        expected[1, :height] *= -1
        expected[1, -height:] *= -1
    found = target["normals"]
    if mode == "reflect":  # one row or column belongs to an image and its reflection
        for axis, side in ((1, height), (2, width)):
            shared = np.arange(0, expected.shape[axis], side)
            found, expected = (np.delete(each, shared, axis) for each in (found, expected))
    np.testing.assert_array_equal(found, expected)


def surface(x, y):
    return 0.004 * x * x - 0.003 * x * y + 0.002 * y * y + 0.1 * x


def normals_of(heights):
    down, across = np.gradient(heights)
    normals = np.stack([-across, -down, np.ones_like(heights)])
    return normals / np.linalg.norm(normals, axis=0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*sorted(set(MAPS) - CURVED), "perspective"])
def test_normals_are_those_of_the_surface_that_is_shown(name, seed):
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    target = {"normals": normals_of(surface(x, y)), "mask": np.ones((HEIGHT, WIDTH), np.uint8)}
    plan, target = result_of(MAPS[name], target, seed)
    height, width = target["mask"].shape
    at = carried(plan.matrix[0], np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1) * 1.0)
    (a, b), (c, d) = np.gradient(at[..., 0])[::-1], np.gradient(at[..., 1])[::-1]
    zoom = 1 / np.sqrt(np.abs(a * d - b * c))
    down, across = np.gradient(surface(at[..., 0], at[..., 1]))
    expected = np.stack([-across * zoom, -down * zoom, np.ones_like(zoom)])
    expected /= np.linalg.norm(expected, axis=0)
    inside = (target["mask"] > 0) & ((at > 1) & (at < [WIDTH - 2, HEIGHT - 2])).all(-1)
    inside[[0, -1]] = inside[:, [0, -1]] = False
    difference = np.abs(target["normals"] - expected)[:, inside]
    assert difference.shape[1] > 300
    assert difference.max() < 0.01  # of the nearest pixel: 0.0072 seen
    assert np.abs(np.linalg.norm(target["normals"][:, inside], axis=0) - 1).max() < 1e-12


@pytest.mark.parametrize("name", MAPS)
def test_normals_keep_their_length_and_zeros(name):
    normals = unit_normals() * 2
    normals[:, ::3] = 0
    _, target = result_of(MAPS[name], {"normals": normals})
    lengths = np.linalg.norm(target["normals"], axis=0)
    assert (lengths > 1).any()
    assert np.minimum(lengths, np.abs(lengths - 2)).max() < 4e-7  # float32: 2.4e-7 seen
    assert target["normals"].dtype == np.float32


def test_targets_of_tiles_and_cuts_have_the_values_of_their_images():
    images = torch.zeros(4, 3, 8, 8, dtype=torch.uint8)
    targets = [
        {"depth": torch.full((8, 8), n + 1.0), "flow": torch.full((2, 8, 8), n + 1.0)} for n in range(4)
    ]
    _, tiles = T.Compose([T.Mosaic(16)], seed=1)(images, targets, epoch=0)
    for target in tiles:
        assert set(target["depth"].unique().tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0}
        assert len(target["depth"].unique()) > 2
        assert torch.equal(target["flow"], target["depth"].expand(2, -1, -1))
    _, cuts = T.Compose([T.CutMix(p=1.0)], seed=2)(images, targets, epoch=0)
    assert any(len(target["depth"].unique()) == 2 for target in cuts)
    assert all(torch.equal(target["flow"][0], target["depth"]) for target in cuts)
    with pytest.raises(ValueError, match="mixup: depth cannot be blended; leave depth out"):
        T.Compose([T.MixUp(p=1.0)])(images, [{**target, "boxes": torch.zeros(0, 4)} for target in targets])


def objects(seed):
    mask = torch.zeros(1, 8, 8, dtype=torch.uint8)
    mask[0, 4 * seed : 4 * seed + 3, :3] = 1
    box = torch.tensor([[0.0, 4 * seed, 3, 4 * seed + 3]])
    return {
        "boxes": box,
        "masks": mask,
        "mask": mask[0] * (seed + 1),
        "depth": torch.full((8, 8), seed + 1.0),
    }


def test_pasted_objects_bring_their_depth_and_no_target_of_the_caller_changes():
    targets, before = ([objects(0), objects(1)] for _ in range(2))
    _, pasted = T.Compose([T.CopyPaste(p=1.0)])(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), targets)
    for target, same in zip(targets, before, strict=True):
        assert all(torch.equal(target[key], same[key]) for key in same)
    over = before[1]["masks"][0] > 0
    assert torch.equal(pasted[0]["depth"], torch.where(over, 2.0, 1.0))
    assert torch.equal(pasted[0]["mask"], before[0]["mask"] + before[1]["mask"])
    del targets[0]["depth"]
    with pytest.raises(ValueError, match="expected depth in the target of image 0, as other images have"):
        T.Compose([T.CopyPaste(p=1.0)])(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), targets)


def test_further_names_follow_on_every_path():
    depth = depths()
    options = T.TargetOptions(depth=["lidar"], flow=["backward"], normals=["geometric"])
    compose = T.Compose([T.RandomHorizontalFlip(1.0)], target_options=options)
    entries = {"lidar": depth, "backward": np.ones((2, HEIGHT, WIDTH), np.float32)}
    entries["geometric"] = unit_normals()
    assert T.Compose.from_json(compose.to_json()) == compose
    flow = next(iter(Loader([Sample(IMAGE, entries)], 1, transforms=compose))).targets
    for target in (
        compose(IMAGE, entries)[1],
        compose({"image": IMAGE, **entries}),
        {key: value[0] for key, value in flow.items()},
    ):
        np.testing.assert_array_equal(target["lidar"], depth[:, ::-1])
        np.testing.assert_array_equal(target["backward"][0], -1)
        np.testing.assert_array_equal(target["geometric"][1], entries["geometric"][1, :, ::-1])


def test_dense_targets_of_a_batch_in_one_dict():
    depth, flow = torch.rand(2, 4, 6), torch.ones(2, 2, 4, 6)
    _, target = T.Compose([T.RandomHorizontalFlip(1.0)])(
        torch.zeros(2, 3, 4, 6), {"depth": depth, "flow": flow}
    )
    assert torch.equal(target["depth"], depth.flip(-1))
    assert torch.equal(target["flow"][:, 0], -flow[:, 0])


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        ({"depth": 3.0}, {}, TypeError, "expected depth as a tensor or an array, but image 0 has a float"),
        *[
            ({key: np.full((HEIGHT, WIDTH), "a")}, {}, TypeError, f"^transform_targets: expected {key} of an")
            for key in ("mask", "depth")
        ],
        ({"depth": np.zeros((4, 5))}, {}, ValueError, "expected depth of 60x80, as image 0 is"),
        ({"flow": np.zeros((HEIGHT, WIDTH))}, {}, ValueError, r"expected flow of shape \[2, H, W\]"),
        ({"normals": np.zeros((2, HEIGHT, WIDTH))}, {}, ValueError, r"normals of shape \[3, H, W\]"),
        ({"flow": np.zeros((2, HEIGHT, WIDTH), int)}, {}, TypeError, "expected flow as floats"),
        (
            {"depth": np.zeros((HEIGHT, WIDTH), np.uint16)},
            {"depth_scale": True},
            TypeError,
            "depth as floats",
        ),
    ],
)
def test_bad_dense_targets_are_named(target, options, error, message):
    with pytest.raises(error, match=message):
        result_of([T.CenterCrop(20)], target, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": "lidar"}, "expected depth as a list of names"),
        ({"flow": ["depth"]}, "expected flow without depth, which is another target"),
        ({"depth": ["a"], "normals": ["a"]}, "expected depth without a, which is another target"),
        ({"per_box": ["a"], "flow": ["a"]}, "expected flow without a, which is another target"),
        ({"depth_scale": 2}, "expected depth_scale as True or False"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        T.TargetOptions(**options)


def test_a_depth_of_another_size_is_a_bad_sample():
    sample = Sample(IMAGE, {"depth": np.zeros((5, 6), np.float32)}, path="a.npy")
    with pytest.raises(BadSample, match=r"a\.npy.*expected depth of size \[60, 80\]"):
        next(iter(Loader([sample], 1, transforms=T.Compose([T.CenterCrop(20)]))))
