"""Boxes, masks and points compared with brute force: the plan gives the source of every output position.

The oracle does not use corners, inverses or clipping: an output position belongs to a box if its source
position is inside the box. There are 6 x 6 positions per pixel.
"""

import numpy as np
import pytest
import torch

pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

from orbbec import transforms as T
from orbbec.plan.points import rotated_corners
from tests.support import assert_same_bytes, photographs

HEIGHT, WIDTH, FINE = 40, 56, 6
SIMILAR = {
    "flips": [T.RandomHorizontalFlip(), T.RandomVerticalFlip()],
    "crop": [T.RandomCrop((30, 37))],
    "turn": [T.RandomRotation(180, "linear", expand=True), T.RandomHorizontalFlip()],
    "scale": [T.RandomAffine(30, (0.2, 0.2), (0.6, 1.6), interpolation="linear")],
    "letterbox": [T.Letterbox((50, 45)), T.RandomVerticalFlip(), T.Pad((3, 1, 4, 2))],
    "zoom": [T.RandomZoomOut(p=1.0), T.Resize(33, antialias=False)],
}
AFFINE = SIMILAR | {
    "resized crop": [T.RandomResizedCrop((44, 39), antialias=False), T.RandomHorizontalFlip()],
    "antialias": [T.RandomResizedCrop((23, 39)), T.RandomRotation(20)],
    "shear": [T.RandomAffine(20, (0.1, 0.1), (0.7, 1.4), (-20, 20, -20, 20)), T.RandomCrop((30, 37))],
    "passes": [T.RandomRotation(30), T.GaussianBlur(3), T.RandomCrop((30, 37)), T.ColorJitter(0.2)],
}
ANY = AFFINE | {
    "perspective": [T.RandomPerspective(0.5, 1.0), T.RandomRotation(15)],
    "perspective and crop": [T.RandomCrop((30, 37)), T.RandomPerspective(0.4, 1.0), T.Resize((50, 41))],
}
SEEDS = range(3)


def read(step, points):
    """The source edge positions of edge positions in the output of a pass; NaN behind the viewer."""
    pixels = np.concatenate([points - 0.5, np.ones((*points.shape[:-1], 1))], -1) @ step.matrix[0].T
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(pixels[..., 2:] > 1e-9, pixels[..., :2] / pixels[..., 2:], np.nan) + 0.5


def within(points, size):
    return ((points >= 0) & (points <= size[::-1])).all(-1)


def seen_part(step, size):
    """Left and top, right and bottom of the part of an image that a pass reads."""
    regions = getattr(step, "regions", None)
    return np.array([[0, 0], size[::-1]]) if regions is None else regions[0].reshape(2, 2)


def positions(plan, fine=FINE, beyond=0, cut=True):
    """The edges of the subpixels of the output, and their source positions.

    Both `[rows, columns, 2]`. With `cut`, parts clipped by a pass are NaN for the next one.
    """
    height, width = plan.output_sizes[0].tolist()
    y = (np.arange(-beyond * fine, (height + beyond) * fine) + 0.5) / fine
    x = (np.arange(-beyond * fine, (width + beyond) * fine) + 0.5) / fine
    here = np.stack(np.meshgrid(x, y), -1)
    there = here
    for number, step in reversed(list(enumerate(plan.passes))):
        there = read(step, there)
        if cut:
            low, high = seen_part(step, (plan.passes[number - 1] if number else plan).sizes[0])
            there = np.where(((there >= low) & (there <= high)).all(-1, keepdims=True), there, np.nan)
    return here, there


def random_boxes(rng, count=6):
    corners = rng.uniform(0, (WIDTH - 4, HEIGHT - 4), (count, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(2, 30, (count, 2))], 1)
    return np.clip(boxes, 0, [WIDTH, HEIGHT, WIDTH, HEIGHT])


def inside(points, box):
    return ((points >= box[:2]) & (points <= box[2:])).all(-1)


def moved(pipeline, seed, target, **options):
    compose = T.Compose(pipeline, seed=seed, target_options=T.TargetOptions(**options, per_box=["row"]))
    plan = compose.plan([(HEIGHT, WIDTH)], epoch=0)
    results = T.transform_targets(plan, [target], compose.target_options)
    return plan, results[0], results.report


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ANY)
def test_boxes_are_the_hulls_of_what_is_read(name, seed):
    boxes = random_boxes(np.random.default_rng(seed))
    plan, target, report = moved(ANY[name], seed, {"boxes": boxes, "row": np.arange(len(boxes))})
    here, there = positions(plan)
    kept = dict(zip(target["row"].tolist(), target["boxes"], strict=True))
    for row, box in enumerate(boxes):
        seen = here[inside(there, box)]
        if row not in kept:
            sides = np.ptp(seen, axis=0) if len(seen) else np.zeros(2)
            assert sides.min() < 1  # for a box with less than a pixel left
            continue
        result = kept[row]
        assert (result[:2] >= 0).all()
        assert (result[2:] <= plan.output_sizes[0, ::-1]).all()
        assert (seen >= result[:2] - 1e-6).all()
        assert (seen <= result[2:] + 1e-6).all()
        hull = np.concatenate([seen.min(0), seen.max(0)]) if len(seen) else np.tile(np.nan, 4)
        # The hull includes corners of rotated boxes that are clipped or thinner than a subpixel.
        tight = name in TIGHT
        assert not tight or np.abs(hull - result).max() <= 1 / FINE + 1e-6
    assert report.dropped == (len(boxes) - len(kept),)
    assert report.boxes == len(boxes)


TIGHT = ("flips", "crop", "letterbox", "zoom", "resized crop")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", AFFINE)
def test_quadrangles_hold_exactly_what_is_read(name, seed):
    boxes = random_boxes(np.random.default_rng(seed))
    corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]]
    plan, target, _ = moved(
        AFFINE[name], seed, {"boxes": corners, "row": np.arange(len(boxes))}, box_format="xyxyxyxy"
    )
    here, there = positions(plan, cut=False)
    for row, polygon in zip(target["row"].tolist(), target["boxes"].reshape(-1, 4, 2), strict=True):
        assert_same_region(in_polygon(here, polygon), there, boxes[row])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", SIMILAR)
def test_rotated_boxes_hold_exactly_what_is_read(name, seed):
    rng = np.random.default_rng(seed)
    boxes = np.column_stack(
        [rng.uniform(8, 32, (5, 2)), rng.uniform(4, 20, (5, 2)), rng.uniform(-180, 180, 5)]
    )
    plan, target, _ = moved(
        SIMILAR[name], seed, {"boxes": boxes, "row": np.arange(5)}, box_format="cxcywha", min_size=0.0
    )
    here, there = positions(plan, cut=False)
    for row, box in zip(target["row"].tolist(), target["boxes"], strict=True):
        result = in_polygon(here, rotated_corners(box[None])[0])
        source = in_polygon(there, rotated_corners(boxes[row : row + 1])[0])
        if name in ("letterbox", "zoom"):  # sides are whole pixels, so squares are not exactly square
            assert (result != source).mean() < 1e-3  # seen: 5.9e-4
        else:
            assert (result == source).all()


def in_polygon(points, corners):
    """Whether positions are inside a convex polygon of either orientation."""
    sides = []
    for begin, end in zip(corners, np.roll(corners, -1, 0), strict=True):
        along, to = end - begin, points - begin
        sides.append(along[0] * to[..., 1] - along[1] * to[..., 0])
    return (np.stack(sides) >= 0).all(0) | (np.stack(sides) <= 0).all(0)


def assert_same_region(result, there, box):
    """Whether masks are equal, except at positions exactly on the edge of the box."""
    distance = np.minimum(np.abs(there - box[:2]), np.abs(there - box[2:])).min(-1)
    assert ((result == inside(there, box)) | (distance < 1e-6)).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ANY)
def test_masks_are_what_the_nearest_pixel_is(name, seed):
    mask = np.random.default_rng(seed).integers(1, 200, (HEIGHT, WIDTH)).astype(np.uint8)
    plan, target, _ = moved(ANY[name], seed, {"mask": mask, "masks": mask[None] > 100})
    expected, sure = mask, np.ones(mask.shape, bool)
    for step in plan.passes:
        expected, sure = nearest(step, expected, sure)
    assert sure.mean() > 0.5
    assert (target["mask"] == expected)[sure].all()
    assert (target["masks"][0] == (target["mask"] > 100)).all()


def nearest(step, mask, sure):
    """A mask after one pass, and the pixels whose nearest source pixel is unambiguous."""
    y, x = np.mgrid[: step.sizes[0, 0], : step.sizes[0, 1]]
    at = read(step, np.stack([x, y], -1) + 0.5) - 0.5
    clear = np.isfinite(at).all(-1) & (np.abs(at - np.floor(at) - 0.5) > 1e-3).all(-1)
    (left, top), (right, bottom) = seen_part(step, mask.shape)
    x, y = np.rint(np.nan_to_num(at, nan=-9.0)).astype(int).transpose(2, 0, 1)
    outside = (x < left) | (y < top) | (x >= right) | (y >= bottom)
    near = y.clip(top, bottom - 1), x.clip(left, right - 1)
    is_filled = outside & (getattr(step, "border", "replicate") == "constant")
    return np.where(is_filled, 0, mask[near]), clear & np.where(is_filled, True, sure[near])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ANY)
def test_points_are_read_where_they_came_from(name, seed):
    rng = np.random.default_rng(seed)
    points = np.column_stack([rng.uniform(0, (WIDTH - 1, HEIGHT - 1), (30, 2)), np.full(30, 2.0)])
    plan, target, _ = moved(ANY[name], seed, {"keypoints": points})
    there = target["keypoints"]
    back = np.column_stack([there[:, :2], np.ones(30)]) @ plan.matrix[0].T
    seen = np.isfinite(there[:, :2]).all(1)
    assert np.abs(back[seen, :2] / back[seen, 2:] - points[seen, :2]).max() < 1e-9
    at, visible = there[:, :2] + 0.5, np.ones(30, bool)
    for step in reversed(plan.passes):
        visible &= within(at, step.sizes[0])
        at = read(step, at)
    low, high = seen_part(plan.passes[0], (HEIGHT, WIDTH))
    visible &= ((at >= low) & (at <= high)).all(1)
    assert (there[:, 2] == np.where(visible, 2, 0)).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["flips", "crop", "letterbox", "zoom"])
def test_visibility_is_the_share_that_is_left(name, seed):
    boxes = random_boxes(np.random.default_rng(seed + 50))
    plan, target, _ = moved(
        SIMILAR[name],
        seed,
        {"boxes": boxes, "row": np.arange(len(boxes))},
        min_visibility=0.5,
        min_size=0.0,
    )
    here, there = positions(plan, beyond=24, cut=False)
    on_canvas = within(here, plan.output_sizes[0])
    for row, box in enumerate(boxes):
        whole = inside(there, box)
        fraction = (whole & on_canvas).sum() / whole.sum()
        if abs(fraction - 0.5) > 0.05:
            assert (row in target["row"].tolist()) == (fraction > 0.5)


SIDES = st.integers(1, 40)
DTYPES = st.sampled_from([torch.uint8, torch.float16, torch.bfloat16, torch.float32])


@settings(max_examples=15, deadline=None)
@given(height=SIDES, width=SIDES, dtype=DTYPES, seed=st.integers(0, 99), exact=st.booleans())
def test_flip_twice_is_the_identity(height, width, dtype, seed, exact):
    image = photographs(1, 3, height, width, dtype, seed=seed)
    rng = np.random.default_rng(seed)
    boxes = np.sort(rng.integers(0, 8 * min(height, width) + 1, (3, 2, 2)), 1).reshape(3, 4) / 8.0
    target = {
        "boxes": boxes,
        "mask": rng.integers(0, 9, (height, width)),
        "keypoints": rng.integers(0, 9, (4, 3)).astype(float),
        "polygons": [boxes[k, [0, 1, 2, 1, 2, 3]].reshape(3, 2) for k in range(3)],
    }
    options = T.TargetOptions(min_size=0.0)
    for flip in (T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)):
        once = T.Compose([flip], exact=exact, target_options=options)
        twice = T.Compose([flip, flip], exact=exact, target_options=options)
        middle, between = once(image, [target], epoch=0)
        back, returned = once(middle, between, epoch=0)
        fused, together = twice(image, [target], epoch=0)
        assert_same_bytes(back, image)
        assert_same_bytes(fused, image)
        kept = [row for row in range(3) if (boxes[row, 2:] > boxes[row, :2]).all()]
        for result in (returned[0], together[0]):
            assert (result["boxes"] == boxes[kept]).all()
            assert (result["mask"] == target["mask"]).all()
            points = result["keypoints"]
            assert (points[:, :2] == target["keypoints"][:, :2]).all()


@settings(max_examples=15, deadline=None)
@given(height=SIDES, width=SIDES, dtype=DTYPES, seed=st.integers(0, 99))
def test_identities_copy_bytes(height, width, dtype, seed):
    image = photographs(2, 3, height, width, dtype, seed=seed)
    pipelines = [
        [T.RandomHorizontalFlip(0.0)],
        [T.Resize((height, width)), T.Pad(0), T.CenterCrop((height, width))],
        [T.Resize((height, width), antialias=False), T.RandomRotation((0, 0), "linear")],
        [T.RandomAffine((0, 0), interpolation="linear"), T.RandomPerspective(0.5, 0.0)],
    ]
    for pipeline in pipelines:
        for exact in (False, True):
            assert_same_bytes(T.Compose(pipeline, exact=exact)(image, epoch=0), image)


@settings(max_examples=25, deadline=None)
@given(
    x=st.floats(-1e-3, 1e-3), y=st.floats(-1e-3, 1e-3), side=st.integers(1, 30), seed=st.integers(0, 10**6)
)
def test_boxes_clip_and_never_raise_by_rounding(x, y, side, seed):
    boxes = np.array([[x, y, side + x, side + y], [side - 1 + y, x, side + y, side + x]], np.float32)
    pipeline = [T.RandomHorizontalFlip(), T.RandomRotation(90), T.RandomCrop(side), T.Resize((17, 19))]
    compose = T.Compose(pipeline, seed=seed)
    results = T.transform_targets(compose.plan([(side, side)], epoch=0), [{"boxes": boxes}])
    (target,) = results
    assert (target["boxes"] >= 0).all()
    assert (target["boxes"] <= [19, 17, 19, 17]).all()
    assert (target["boxes"][:, 2:] >= target["boxes"][:, :2]).all()
    assert sum(results.report.dropped) == 2 - len(target["boxes"])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(sorted(ANY)))
def test_there_and_back_returns_points(seed, name):
    plan, target, _ = moved(ANY[name], seed, {"landmarks": POINTS})
    back = np.column_stack([target["landmarks"], np.ones(len(POINTS))]) @ plan.matrix[0].T
    seen = np.isfinite(back).all(1)
    assert np.abs(back[seen, :2] / back[seen, 2:] - POINTS[seen]).max(initial=0) < 1e-8


POINTS = np.random.default_rng(0).uniform(0, 40, (12, 2))
