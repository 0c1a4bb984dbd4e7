"""Compose: types of images, reproducibility, saving, invalid arguments."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.augment.codes import STEPS
from orbbec.transforms.tests.examples import EXAMPLES, needs_masks
from tests.support import assert_same_bytes, photograph, photographs

FLOAT = T.ToDtype(torch.float32, scale=True)
PIPELINE = T.Compose(
    [
        T.RandomResizedCrop(16, antialias=False),
        T.RandomHorizontalFlip(),
        T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
        T.RandomGrayscale(0.2),
        T.RandomApply([T.GaussianBlur(5)], p=0.5),
        T.RandomErasing(0.5, value=0.3),
        FLOAT,
        T.Normalize(),
    ],
    seed=11,
)
MIXING = [T.MixUp(), T.CutMix(), T.Mosaic(20)]
ALL = [
    *(T.Resize(9), T.Resize((7, 8), "nearest"), T.RandomResizedCrop(8), T.CenterCrop(6), T.RandomCrop(6)),
    *(T.RandomCrop(30, pad_if_needed=True), T.Pad((1, 2)), T.Letterbox((20, 20)), T.RandomVerticalFlip(0.3)),
    *(T.RandomRotation(20, expand=True), T.RandomAffine(10, (0.1, 0.1), (0.5, 2), 5), T.RandomPerspective()),
    *(
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.RandomGrayscale(),
        T.Grayscale(3),
        T.Grayscale(),
        T.RGB(),
        T.RandomInvert(),
    ),
    *(T.RandomPosterize(3), T.RandomSolarize(99), T.Gamma(), T.RandomChannelPermutation()),
    *(T.RandomPhotometricDistort(), T.RandomErasing(), T.RandomErasing(value="random"), T.GaussianBlur(5)),
    *(T.RandomAdjustSharpness(2), T.RandomAutocontrast(), T.RandomEqualize(), T.MedianBlur(), T.MotionBlur()),
    T.GaussianNoise(0.1, (0.0, 0.2)),
    *(T.ElasticTransform(), T.JPEG((20, 90)), T.RandomZoomOut(), T.ScaleJitter((20, 30)), FLOAT),
    *(
        T.RandomShortestSize((10, 12)),
        T.RandomIoUCrop(),
        T.TrivialAugmentWide(),
        T.RandAugment(),
        T.AutoAugment(),
        T.AugMix(mixture_width=2),
    ),
    *(T.AutoAugment("svhn"), T.AlignPoints(8, [(1, 1), (5, 5)]), T.AlignFaces()),
    *(
        T.RandomApply([T.GaussianBlur(3), T.RandomInvert()]),
        T.RandomChoice([T.Pad(1), T.RandomInvert()], [1, 3]),
    ),
    T.RandomOrder([T.RandomInvert(), T.RandomRotation(9), T.RandomEqualize()]),
    T.SomeOf([T.RandomInvert(), T.RandomRotation(9), T.RandomVerticalFlip()], 2, shuffle=True),
    *(
        T.RandomBrightnessContrast(),
        T.Crop(2, 1, 6, 7),
        T.ResizeToFit(9),
        T.RandomScale(),
        T.PadIfNeeded((40, 20)),
    ),
]
ALL += [  # every other transform that needs no targets
    one
    for name, examples in EXAMPLES.items()
    if name not in ("Lambda", "Normalize", *(t.name for t in (*ALL, *MIXING)))
    for one in examples
    if not needs_masks(one)
]


def pictures(count):
    rng = np.random.default_rng(0)
    return [photograph(*(int(side) for side in rng.integers(17, 30, 2)), seed=n) for n in range(count)]


def as_list(images):
    if isinstance(images, orbbec.ImageBatch):
        return [image.permute(2, 0, 1) for image in images.images()]
    return list(images)


@pytest.mark.parametrize("transform", [PIPELINE, *ALL], ids=lambda t: getattr(t, "name", "Compose"))
def test_sample_is_the_same_in_every_batch(transform):
    pipeline = transform if isinstance(transform, T.Compose) else T.Compose([transform], seed=2)
    images, ids = pictures(9), np.array([40, 3, 17, 99, 5, 6, 7, 8, 1])
    whole = as_list(pipeline(images, sample_ids=ids, epoch=3))
    order = np.array([4, 2, 8, 0])
    some = as_list(pipeline([images[i] for i in order], sample_ids=ids[order], epoch=3))
    for row, i in enumerate(order.tolist()):
        assert_same_bytes(some[row], whole[i])
        assert_same_bytes(as_list(pipeline([images[i]], sample_ids=ids[i : i + 1], epoch=3))[0], whole[i])


@pytest.mark.parametrize("size", [1, 7, 64])
def test_plan_rows_are_the_same_for_all_batch_sizes(size):
    sizes, ids = np.tile([[40, 50]], (64, 1)), np.arange(64) * 13
    whole = PIPELINE.plan(sizes, ids, epoch=2)
    for begin in range(0, 64, size):
        rows = slice(begin, begin + size)
        part = PIPELINE.plan(sizes[rows], ids[rows], epoch=2)
        for mine, all_ in zip(part.passes, whole.passes, strict=True):
            for name, values in mine.columns().items():
                assert (values == all_.columns()[name][rows]).all(), name


def test_epochs_and_seeds_differ():
    sizes = [(40, 50)] * 4
    texts = {PIPELINE.plan(sizes, epoch=epoch).to_json() for epoch in range(3)}
    other = T.Compose(PIPELINE.transforms, seed=12)
    assert len(texts | {other.plan(sizes, epoch=0).to_json()}) == 4


def test_what_a_pipeline_drew_before_does_not_matter():
    plans = [
        (sizes, epoch, {"channels": 3, "dtype": dtype})
        for sizes in ([(40, 50)], [(40, 50), (9, 70)], [(50, 40)])
        for epoch in (0, 3)
        for dtype in ("uint8", "float32")
    ]
    for sizes, epoch, kind in plans + plans[::-1]:
        fresh = T.Compose.from_dict(PIPELINE.to_dict())
        assert (
            PIPELINE.plan(sizes, None, epoch, **kind).to_json()
            == fresh.plan(sizes, None, epoch, **kind).to_json()
        )


def test_a_jitter_made_of_another_has_ranges_of_its_own():
    jitter, sizes = T.ColorJitter(brightness=0.4), np.full((20, 2), 8)

    def colors(transform):
        return T.Compose([transform]).plan(sizes, epoch=0).passes[0].colors

    before, other = colors(jitter), colors(replace(jitter, brightness=None, hue=0.1))
    assert before.shape == other.shape == (20, 1, 16)
    assert (before[..., 0] == STEPS["matrix"]).all()
    assert (other[..., 0] == STEPS["hue"]).all()
    assert 0.05 < np.abs(other[..., 1]).max() <= 0.1
    assert np.array_equal(colors(jitter), before)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.bfloat16, torch.float32])
def test_kinds_of_images_give_the_same(dtype):
    image = photographs(1, 3, 20, 25, dtype)
    image = image if dtype == torch.uint8 else image.abs().clamp(0, 100) / 100
    expected = PIPELINE(image, epoch=0)
    assert expected.shape == (1, 3, 16, 16)
    assert expected.dtype == torch.float32
    assert_same_bytes(PIPELINE(image[0], epoch=0), expected[0])
    assert_same_bytes(PIPELINE([image[0]], epoch=0), expected)
    assert_same_bytes(PIPELINE(image.contiguous(memory_format=torch.channels_last), epoch=0), expected)
    if dtype == torch.uint8:
        array = np.ascontiguousarray(image[0].permute(1, 2, 0).numpy())
        assert_same_bytes(
            PIPELINE(array, epoch=0), np.ascontiguousarray(expected[0].permute(1, 2, 0).numpy())
        )
        assert_same_bytes(PIPELINE(orbbec.ImageBatch.from_tensor(image), epoch=0), expected)
        assert_same_bytes(PIPELINE([array], epoch=0), expected)


@pytest.mark.parametrize(("transforms", "copies"), [([], []), ([T.MedianBlur(3)], [2])])
def test_a_list_is_copied_to_one_piece_once_unless_it_is_run_where_it_is(monkeypatch, transforms, copies):
    pieces, make = [], orbbec.ImageBatch.from_images

    def counted(images):
        pieces.append(make(images))
        return pieces[-1]

    monkeypatch.setattr(orbbec.ImageBatch, "from_images", counted)
    arrays = [photograph(6, 7), photograph(8, 5)]
    T.Compose([T.CenterCrop(5), *transforms])(arrays, epoch=0)
    assert [len(piece) for piece in pieces] == copies


def test_variable_size_results_are_an_image_batch_or_a_list():
    resize = T.Compose([T.Resize(9)])
    result = resize(pictures(3), epoch=0)
    assert isinstance(result, orbbec.ImageBatch)
    assert result.sizes.min(1).values.tolist() == [9, 9, 9]
    floats = T.Compose([T.Resize(9), FLOAT])(pictures(3), epoch=0)
    assert [min(image.shape[1:]) for image in floats] == [9, 9, 9]
    assert {image.dtype for image in floats} == {torch.float32}


def test_identity_copies_bytes_and_flips_come_back():
    image = photographs(2, 3, 7, 9)
    assert_same_bytes(T.Compose([T.RandomHorizontalFlip(0.0)])(image, epoch=0), image)
    assert_same_bytes(T.Compose([T.RandomRotation((0, 0)), T.RandomAffine((0, 0))])(image, epoch=0), image)
    for flip in (T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0), T.RandomRotation((180, 180))):
        assert_same_bytes(T.Compose([flip])(T.Compose([flip])(image, epoch=0), epoch=0), image)
        assert_same_bytes(T.Compose([flip, flip])(image, epoch=0), image)
    assert_same_bytes(T.Compose([T.RandomHorizontalFlip(1.0)])(image, epoch=0), image.flip(3).contiguous())


@pytest.mark.parametrize(
    "transform",
    [T.GaussianBlur(5), T.MedianBlur(3, p=1.0), T.MotionBlur(5, p=1.0), T.JPEG(20), T.GaussianNoise()],
    ids=lambda t: t.name,
)
@pytest.mark.parametrize("ragged", [False, True])
def test_images_that_are_left_out_keep_their_bytes(transform, ragged):
    images = photographs(16, 3, 12, 14)
    given = orbbec.ImageBatch.from_tensor(images) if ragged else images
    result = torch.stack(as_list(T.Compose([T.RandomApply([transform], p=0.5)], seed=1)(given, epoch=0)))
    kept = [bool((a == b).all()) for a, b in zip(result, images, strict=True)]
    assert 0 < sum(kept) < 16
    changed = T.Compose([transform], seed=1)(images, epoch=0)
    assert not any(bool((a == b).all()) for a, b in zip(changed, images, strict=True))


def test_gray_images_of_one_channel_are_normalized():
    images = photographs(2, 3, 9, 11)
    result = T.Compose([T.Grayscale(), FLOAT, T.Normalize(0.5, 0.25)])(images, epoch=0)
    expected = (orbbec.cvt_color(images, "RGB", "GRAY").float() / 255 - 0.5) / 0.25
    assert result.shape == (2, 1, 9, 11)
    assert torch.allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize(("mean", "std"), [(0.25, (0.5, 0.25, 0.125)), ((0.5, 0.25, 0.125), 0.25)])
@pytest.mark.parametrize("first", [(), (T.RandomHorizontalFlip(1.0),), (T.GaussianBlur(3),)])
def test_one_mean_may_have_a_std_per_channel(mean, std, first):
    images = photographs(2, 3, 9, 11) / 255
    before = T.Compose(first, seed=1)(images, epoch=0) if first else images
    result = T.Compose([*first, T.Normalize(mean, std)], seed=1)(images, epoch=0)
    three, divisors = (torch.tensor(values).expand(3).reshape(3, 1, 1) for values in (mean, std))
    assert torch.allclose(result, (before - three) / divisors, atol=1e-6)


def test_out_is_written():
    pipeline = T.Compose([T.RandomResizedCrop(16, antialias=False), FLOAT])
    image = photographs(2, 3, 20, 25)
    plan, out = pipeline.plan([(20, 25)] * 2, epoch=0), torch.empty(2, 3, 16, 16)
    assert pipeline.apply(plan, image, out=out) is out
    assert_same_bytes(out, pipeline(image, epoch=0))


@pytest.mark.parametrize("transform", [*ALL, *MIXING], ids=lambda t: t.name)
def test_no_images_give_no_images(transform):
    pipeline = T.Compose([transform])
    for images in (torch.zeros(0, 3, 8, 9, dtype=torch.uint8), orbbec.ImageBatch.from_images([])):
        assert len(pipeline(images, epoch=0)) == 0


def test_no_images_keep_their_size_where_nothing_resizes():
    pipeline = T.Compose([T.ColorJitter(0.4), T.RandomHorizontalFlip()])
    assert pipeline(torch.zeros(0, 3, 8, 9, dtype=torch.uint8), epoch=0).shape == (0, 3, 8, 9)


@pytest.mark.parametrize("transform", [*ALL, *MIXING], ids=lambda t: t.name)
def test_pipelines_are_saved(transform):
    pipeline = T.Compose([transform], seed=5)
    again = T.Compose.from_json(pipeline.to_json())
    assert again.to_json() == pipeline.to_json()
    sizes = [(20, 30), (20, 30)]
    assert again.plan(sizes, epoch=0).to_json() == pipeline.plan(sizes, epoch=0).to_json()


def test_texts_that_are_no_pipeline():
    for text, message in (
        ("[]", "a list of transforms"),
        ('{"transforms": [{"name": "Nothing"}]}', "no transform 'Nothing'"),
        ('{"transforms": [{"name": "Pad", "pad": 1}]}', "Pad: there is no argument pad"),
        ('{"transforms": [7]}', "a dict with a name"),
    ):
        with pytest.raises(ValueError, match=message):
            T.Compose.from_json(text)


def test_mixing_reads_the_image_before():
    images = photographs(4, 3, 12, 14, torch.float32)
    pipeline = T.Compose([T.MixUp(0.4)], seed=1)
    plan = pipeline.plan([(12, 14)] * 4, dtype="float32", epoch=0)
    weights = torch.from_numpy(plan.passes[0].table["weights"]).float()[:, None, None, None]
    expected = weights * images + (1 - weights) * images.roll(1, 0)
    assert torch.allclose(pipeline.apply(plan, images), expected, atol=1e-4)  # for values up to 300
    cut = T.Compose([T.CutMix()], seed=1)
    plan = cut.plan([(12, 14)] * 4, dtype="float32", epoch=0)
    result = cut.apply(plan, images)
    for n, (left, top, right, bottom) in enumerate(plan.passes[0].table["boxes"].tolist()):
        expected = images[n].clone()
        expected[:, top:bottom, left:right] = images[n - 1][:, top:bottom, left:right]
        assert_same_bytes(result[n], expected)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: T.RandomResizedCrop(0), "size"),
        (lambda: T.RandomResizedCrop(8, scale=(1.0, 0.5)), "scale"),
        (lambda: T.RandomResizedCrop(8, ratio=(0, 1)), "ratio"),
        (lambda: T.RandomResizedCrop(8, interpolation="cubist"), "interpolation"),
        (lambda: T.Resize("large"), "size"),
        (lambda: T.Resize((5, 5), max_size=9), "max_size"),
        (lambda: T.RandomHorizontalFlip(1.5), "p"),
        (lambda: T.RandomVerticalFlip(float("nan")), "p"),
        (lambda: T.RandomCrop(5, padding=-1), "padding"),
        (lambda: T.Pad(1, padding_mode="mirror"), "padding_mode"),
        (lambda: T.RandomRotation(-3), "degrees"),
        (lambda: T.RandomRotation(3, expand=True, center=(1, 1)), "center"),
        (lambda: T.RandomAffine(3, translate=(2, 0)), "translate"),
        (lambda: T.RandomAffine(3, scale=(0, 1)), "scale"),
        (lambda: T.RandomAffine(3, shear=(1, 2, 3)), "shear"),
        (lambda: T.RandomPerspective(1.5), "distortion_scale"),
        (lambda: T.ColorJitter(brightness=-1), "brightness"),
        (lambda: T.ColorJitter(hue=0.6), "hue"),
        (lambda: T.RandomPosterize(9), "bits"),
        (lambda: T.RandomSolarize(300), "threshold"),
        (lambda: T.GaussianBlur(4), "kernel_size"),
        (lambda: T.GaussianBlur(3, sigma=(0, 1)), "sigma"),
        (lambda: T.GaussianNoise(sigma=(-0.1, 0.2)), "sigma"),
        (lambda: T.GaussianNoise(mean="no"), "mean"),
        (lambda: T.Normalize(std=0.0), "std"),
        (lambda: T.ToDtype(torch.int32), "dtype"),
        (lambda: T.RandomErasing(scale=(0, 2)), "scale"),
        (lambda: T.RandomErasing(value="noise"), "value"),
        (lambda: T.JPEG(0), "quality"),
        (lambda: T.RandomApply([]), "transforms"),
        (lambda: T.RandomApply([3]), "transforms"),
        (lambda: T.RandomChoice([T.Pad(1)], p=[1, 2]), "p"),
        (lambda: T.RandomZoomOut(side_range=(0.5, 1)), "side_range"),
        (lambda: T.MixUp(0.0), "alpha"),
        (lambda: T.RandAugment(magnitude=31), "magnitude"),
        (lambda: T.AugMix(severity=11), "severity"),
        (lambda: T.AugMix(mixture_width=0), "mixture_width"),
        (lambda: T.AugMix(alpha=0), "alpha"),
        (lambda: T.AutoAugment("coco"), "policy"),
        (lambda: T.AlignPoints(8, [(1, 1)]), "template"),
        (lambda: T.TargetOptions("xyz"), "box_format"),
        (lambda: T.Compose([]), "transforms"),
        (lambda: T.Compose([T.Pad(1)], seed=-1), "seed"),
        (lambda: T.Compose([T.Pad(1)], exact="no"), "exact"),
        (lambda: T.Compose([T.Pad(1)], target_options={"min_size": 2.0}), "target_options"),
    ],
)
def test_wrong_arguments_are_named_at_construction(make, name):
    with pytest.raises((ValueError, TypeError), match=f"expected .*{name}|{name} of"):
        make()


@pytest.mark.parametrize(
    ("library", "kind"),
    [("torchvision", "Compose"), ("albumentations", "Compose"), ("torchvision", "Resize")],
)
def test_transforms_of_other_libraries_are_named_with_what_converts_them(library, kind):
    theirs = type(kind, (), {"__module__": f"{library}.transforms"})()
    advice = f"{library}'s {kind}: use Compose.from_{library}"
    with pytest.raises(TypeError, match=f"^Compose: expected orbbec transforms, but got {advice}"):
        T.Compose(theirs)
    with pytest.raises(TypeError, match=f"^Compose: expected orbbec transforms, but transform 1 is {advice}"):
        T.Compose([T.RandomHorizontalFlip(), theirs])
    with pytest.raises(TypeError, match=f"^RandomApply: .*{advice}"):
        T.RandomApply(theirs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"sead": 7}, "Compose: there is no argument sead"),
        ({"transforms": [{"name": "RandomCrop"}]}, "RandomCrop: expected argument size"),
        ({"target_options": {"minsize": 7}}, "TargetOptions: there is no argument minsize"),
        ({"target_options": 7}, "Compose: expected target_options as a dict, but got 7"),
    ],
)
def test_what_a_pipeline_does_not_have_is_named_in_its_text(content, message):
    text = json.dumps({"transforms": [{"name": "RandomHorizontalFlip"}]} | content)
    with pytest.raises(ValueError, match=message):
        T.Compose.from_json(text)


@pytest.mark.parametrize(
    ("transform", "images", "message"),
    [
        (
            T.RandomCrop(10),
            [np.zeros((12, 12, 3), np.uint8), np.zeros((9, 12, 3), np.uint8)],
            "image 1 is 9x12",
        ),
        (T.RandomCrop(10), [np.zeros((9, 12, 3), np.uint8)], "image 0 is 9x12"),
        (T.Normalize(), [np.zeros((9, 12, 3), np.uint8)], "put ToDtype"),
        (T.ColorJitter(0.1), torch.zeros(1, 4, 5, 5, dtype=torch.uint8), "1 or 3 channels"),
        (T.Pad(1), [np.zeros((9, 12, 3), np.uint8), np.zeros((9, 0, 3), np.uint8)], "image 1 has shape"),
        (T.Pad(1), [np.zeros((9, 12, 3), np.uint8), np.zeros((9, 9, 1), np.uint8)], "image 1 has 1 channels"),
        (T.Pad(1), torch.zeros(1, 3, 4, 4, dtype=torch.int32), "int32"),
        (T.Pad(1), "image", "str"),
    ],
)
def test_wrong_images_are_named(transform, images, message):
    with pytest.raises((ValueError, TypeError), match=message):
        T.Compose([transform])(images, epoch=0)


def test_yaml_without_its_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    pipeline = T.Compose([T.RandomHorizontalFlip()])
    for call in (pipeline.to_yaml, lambda: T.Compose.from_yaml("transforms: []")):
        with pytest.raises(
            ImportError, match=r"Compose\.\w+_yaml: expected yaml to be installed: pip install pyyaml"
        ):
            call()
