"""Recipes: sizes, targets, passes, and their statistics."""

import inspect

import numpy as np
import pytest
import torch

from orbbec import ImageBatch, recipes
from orbbec import transforms as T
from orbbec.recipes.ends import IMAGENET, KINETICS, OPENAI_CLIP

SIZES = [(60, 80), (90, 64), (70, 70), (65, 100)]
RESULTS = {
    "clip_train": (recipes.clip_train, 224, (3, 224, 224)),
    "coco_keypoints": (lambda: recipes.coco_keypoints(64, 48), None, (3, 64, 48)),
    "deit3": (lambda: recipes.deit3(48), None, (3, 48, 48)),
    "detr_train": (lambda: recipes.detr_train(64), None, (3, 64, 64)),
    "depth": (lambda: recipes.depth(56), None, (3, 56, 56)),
    "face_recognition": (recipes.face_recognition, None, (3, 112, 112)),
    "imagenet_eval": (lambda: recipes.imagenet_eval(48, 56), None, (3, 48, 48)),
    "imagenet_train": (lambda: recipes.imagenet_train(48), None, (3, 48, 48)),
    "kinetics": (lambda: recipes.kinetics(48, 52, 60), None, (3, 48, 48)),
    "lsj": (lambda: recipes.lsj(64), None, (3, 64, 64)),
    "lsj_copy_paste": (lambda: recipes.lsj_copy_paste(64), None, (3, 64, 64)),
    "mae": (lambda: recipes.mae(48), None, (3, 48, 48)),
    "ocr_line": (lambda: recipes.ocr_line(24, 80), None, (3, 24, 80)),
    "segmentation": (lambda: recipes.segmentation(48, 52), None, (3, 48, 48)),
    "ssd_train": (lambda: recipes.ssd_train(64), None, (3, 64, 64)),
    "timm_train": (lambda: recipes.timm_train(48), None, (3, 48, 48)),
    "yolo_train": (lambda: recipes.yolo_train(64, mixup=0.3), None, (3, 64, 64)),
    "yolo_val": (lambda: recipes.yolo_val(64), None, (3, 64, 64)),
}


def images():
    rng = np.random.default_rng(0)
    return ImageBatch.from_images([rng.integers(0, 256, (*size, 3), np.uint8) for size in SIZES])


def targets(count=5):
    points = torch.tensor([[20.0, 20.0], [40, 20], [30, 30], [22, 40], [38, 40]]).repeat(4, 1)[:count]
    box = torch.tensor([[10.0, 10.0, 50.0, 50.0]])
    rows = {"boxes": box, "landmarks": points}
    return [
        {**rows, "labels": torch.tensor([n]), "masks": torch.ones(1, *size)} for n, size in enumerate(SIZES)
    ]


@pytest.mark.parametrize("name", RESULTS)
def test_a_recipe_takes_images_of_all_sizes_with_their_targets(name):
    make, _, shape = RESULTS[name]
    results, moved = make()(images(), targets(17 if name == "coco_keypoints" else 5), epoch=0)
    assert results.shape == (len(SIZES), *shape)
    assert results.dtype == torch.float32
    height, width = shape[1:]
    for target in moved:
        boxes = target["boxes"]
        assert len(boxes) == len(target["labels"])
        assert bool(((boxes >= 0) & (boxes <= torch.tensor([width, height, width, height]))).all())


def test_every_recipe_is_public_documented_and_names_its_source():
    others = {"dino_v2", "drq_shift", "lerobot", "simclr"}
    assert set(recipes.__all__) == set(RESULTS) | others
    for name in recipes.__all__:
        assert "Source:" in inspect.getdoc(getattr(recipes, name)), name


@pytest.mark.parametrize("name", [*RESULTS, "drq_shift", "lerobot"])
def test_recipes_are_restored_from_json(name):
    pipeline = RESULTS[name][0]() if name in RESULTS else getattr(recipes, name)()
    assert T.Compose.from_json(pipeline.to_json()) == pipeline


def test_recipes_take_few_passes():
    passes = {
        name: len(make().plan(SIZES, epoch=0, targets=targets()).passes)
        for name, (make, *_) in RESULTS.items()
    }
    assert passes["yolo_train"] == passes["lsj_copy_paste"] == 3
    assert passes["ocr_line"] == 3
    assert passes["yolo_val"] == passes["face_recognition"] == passes["coco_keypoints"] == 1
    assert max(passes[name] for name in ("mae", "clip_train", "imagenet_eval", "lsj", "segmentation")) <= 2


def test_yolo_closes_its_mosaic():
    pipeline = recipes.yolo_train(64, epochs=20, close_mosaic=5)
    with_mosaic, without = (pipeline(images(), targets(), epoch=epoch)[1] for epoch in (14, 15))
    assert max(len(target["boxes"]) for target in with_mosaic) > 1
    assert all(len(target["boxes"]) <= 1 for target in without)
    assert [target["labels"].tolist() for target in without if len(target["labels"])] == [
        [n] for n, target in enumerate(without) if len(target["labels"])
    ]


def test_detr_leaves_only_flips_from_the_stop_epoch():
    pipeline = recipes.detr_train(64, stop_epoch=5)
    plain = T.Compose([T.Resize((64, 64)), T.ToDtype(torch.float32, scale=True)])(images())
    before, after = (pipeline(images(), targets(), epoch=epoch)[0] for epoch in (4, 5))
    is_plain = [
        [
            torch.equal(one, other) or torch.equal(one.flip(2), other)
            for one, other in zip(result, plain, strict=True)
        ]
        for result in (before, after)
    ]
    assert is_plain == [[False] * 4, [True] * 4]


@pytest.mark.parametrize("make", [recipes.detr_train, recipes.ssd_train])
def test_slices_of_objects_are_no_targets(make):
    pipeline = T.Compose(
        [T.Crop(0, 0, 64, 64), *make(64).transforms[-2:]], target_options=make(64).target_options
    )
    boxes = torch.tensor([[0.0, 0, 30, 30], [40, 0, 84, 30], [44, 0, 104, 30]])  # 1, 0.55 and 0.33 visible
    _, target = pipeline(torch.zeros(3, 100, 120, dtype=torch.uint8), {"boxes": boxes}, epoch=0)
    assert target["boxes"].tolist() == [[0, 0, 30, 30], [40, 0, 64, 30]]


def test_short_lines_of_text_end_in_gray():
    lines = ImageBatch.from_images([np.full((20, width, 3), 255, np.uint8) for width in (20, 100)])
    pipeline = T.Compose(recipes.ocr_line(24, 80).transforms[1:])  # without crops of rows
    short, long = pipeline(lines, epoch=0)
    assert torch.equal(short[:, :, 24:], torch.zeros(3, 24, 56))
    assert torch.equal(short[:, :, :24].abs(), torch.ones(3, 24, 24))
    assert torch.equal(long.abs(), torch.ones(3, 24, 80))  # squeezed from 120 pixels


def test_keypoints_of_left_and_right_are_swapped():
    points = torch.stack([torch.arange(17.0) + 30, torch.full((17,), 30.0), torch.full((17,), 2.0)], 1)
    image = torch.zeros(32, 3, 64, 80, dtype=torch.uint8)
    pipeline = recipes.coco_keypoints(64, 80)
    flips = [entry for entry in pipeline.transforms if isinstance(entry, T.RandomHorizontalFlip)]
    pipeline = T.Compose(flips, target_options=pipeline.target_options)
    _, moved = pipeline(image, [{"keypoints": points}] * 32, epoch=0)
    flipped = [target["keypoints"] for target in moved if target["keypoints"][0, 0] > 40]
    assert 4 < len(flipped) < 28
    for each in flipped:
        assert each[1, 0] == 79 - 32  # the left eye is where the right one was
        assert each[2, 0] == 79 - 31


def test_views_of_simclr_and_dino():
    batch = images()
    one, other = recipes.simclr(32)(batch, epoch=0)
    assert one.shape == other.shape == (4, 3, 32, 32)
    assert not torch.equal(one, other)
    views = recipes.dino_v2(48, 14, local=3)(batch, epoch=0)
    assert [view.shape[-1] for view in views] == [48, 48, 14, 14, 14]


def test_shifts_of_drq_move_by_at_most_the_pad():
    image = torch.zeros(200, 1, 20, 20, dtype=torch.uint8)
    image[:, :, 10, 10] = 255
    moved = recipes.drq_shift(4)(image, epoch=0)
    peaks = moved.flatten(1).argmax(1)
    rows, columns = peaks // 20 - 10, peaks % 20 - 10
    assert sorted(set(rows.tolist())) == sorted(set(columns.tolist())) == list(range(-4, 5))


@pytest.mark.parametrize("resized_crop", [False, True])
def test_frames_of_kinetics_are_cropped_alike(resized_crop):
    rows = torch.arange(60, dtype=torch.uint8)[:, None].expand(60, 80)
    frame = torch.stack([rows, torch.arange(80, dtype=torch.uint8).expand(60, 80), rows])
    clips = frame.expand(200, 4, -1, -1, -1).contiguous()
    results = recipes.kinetics(24, 30, 45, resized_crop=resized_crop)(clips, epoch=0) * 0.225 + 0.45
    assert results.shape == (200, 4, 3, 24, 24)
    assert torch.equal(results, results[:, :1].expand_as(results))
    steps = 255 * results[:, 0]
    down, across = steps[:, 0].diff(dim=1).mean((1, 2)), steps[:, 1].diff(dim=2).mean((1, 2))
    assert 0.4 < (across < 0).float().mean() < 0.6  # flips
    if resized_crop:
        area, ratio = down * across.abs() * 24 * 24 / (60 * 80), across.abs() / down
        assert 0.05 < area.min() < 0.15
        assert area.max() > 0.8
        assert 0.7 < ratio.min() < ratio.max() < 1.4
    else:
        sides = 60 / down  # the shorter side of 60 pixels
        assert 29 < sides.min() < 32
        assert 43 < sides.max() < 47
        assert (across.abs() / down - 1).abs().max() < 0.05


def erased_by_timm(count, images, side, rng):
    """The erased fractions of images, by timm's rule: a drawn number of rectangles divides their areas."""
    fractions = np.zeros(images)
    for n in range(images):
        mask, number = np.zeros((side, side), bool), rng.integers(1, count + 1)
        for _ in range(number):
            for _ in range(10):
                area = rng.uniform(0.02, 1 / 3) * side * side / number
                ratio = np.exp(rng.uniform(np.log(0.3), np.log(1 / 0.3)))
                height, width = round(np.sqrt(area * ratio)), round(np.sqrt(area / ratio))
                if height < side and width < side:
                    top, left = rng.integers(0, (side - height + 1, side - width + 1))
                    mask[top : top + height, left : left + width] = True
                    break
        fractions[n] = mask.mean()
    return fractions


@pytest.mark.parametrize("count", [1, 3])
def test_timm_erases_up_to_count_rectangles(count):
    steps = recipes.timm_train(48, erasing_count=count).transforms
    erasing = T.Compose([step for step in steps if "RandomErasing" in repr(step)])
    results = erasing(torch.full((2000, 1, 60, 60), 9.0), epoch=0)
    fractions = (results[:, 0] != 9.0).float().mean((1, 2)).numpy()
    assert abs((fractions > 0).mean() - 0.25) < 0.03
    expected = erased_by_timm(count, 2000, 60, np.random.default_rng(0))
    quantiles = 0.1, 0.5, 0.9
    differences = np.quantile(fractions[fractions > 0], quantiles) - np.quantile(expected, quantiles)
    assert np.abs(differences).max() < 0.03, differences


def test_statistics_are_those_of_the_models():
    """Pixels of the mean color become 0, and one standard deviation more becomes 1."""
    for make, (mean, std) in (
        (recipes.imagenet_eval, IMAGENET),
        (recipes.clip_train, OPENAI_CLIP),
        (recipes.kinetics, KINETICS),
    ):
        color = [255 * (m + s) for m, s in zip(mean, std, strict=True)]
        image = torch.tensor(color).round().to(torch.uint8)[:, None, None].expand(-1, 300, 300)
        assert make()(image.contiguous(), epoch=0).mean((1, 2)).sub(1).abs().max() < 0.01
