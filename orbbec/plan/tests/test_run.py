"""`run`, one operator for a whole pipeline, has the bytes of the passes one by one."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from orbbec import ImageBatch
from orbbec import transforms as T
from orbbec.augment.codes import STEPS
from orbbec.bridge.buffer_pool import LEAST_BYTES
from orbbec.plan.rules import SIGNATURES
from orbbec.plan.tests.draw_cases import Picker, random_transform
from orbbec.transforms.auto import NARROW, OPERATIONS
from orbbec.transforms.base.inputs import direct_input
from tests.support import assert_same_bytes, photographs

KINDS = ("tensor", "one tensor", "array", "one array", "batch", "channels last", "float")
FINISHES = {
    "bytes": [],
    "floats": [T.ToDtype(torch.float32, scale=True)],
    "normalized": [T.ToDtype(torch.float32, scale=True), T.Normalize()],
    "half": [T.ToDtype(torch.float16, scale=True, channels_last=True)],
}


def images_of(kind, seed=0):
    rng = np.random.default_rng(seed)
    sizes = [(37, 51), (64, 40), (90, 33)] if kind == "batch" else [(37, 51)] * 3
    arrays = [rng.integers(0, 256, (*size, 3), np.uint8) for size in sizes]
    stacked = None if kind == "batch" else torch.from_numpy(np.stack(arrays))
    return {
        "tensor": lambda: stacked.permute(0, 3, 1, 2).contiguous(),
        "one tensor": lambda: stacked[0].permute(2, 0, 1).contiguous(),
        "array": lambda: np.stack(arrays),
        "one array": lambda: arrays[0],
        "batch": lambda: ImageBatch.from_images(arrays),
        "channels last": lambda: stacked.permute(0, 3, 1, 2),
        "float": lambda: stacked.permute(0, 3, 1, 2).contiguous() / 255,
    }[kind]()


def count_of(images):
    return len(images) if isinstance(images, ImageBatch) or images.ndim == 4 else 1


def assert_run_is_pass_by_pass(pipeline, images):
    count = count_of(images)
    sizes = images.sizes.numpy() if isinstance(images, ImageBatch) else [_size_of(images)] * count
    dtype = "uint8" if isinstance(images, ImageBatch) else str(images.dtype).removeprefix("torch.")
    plan = pipeline.plan(sizes, np.arange(count), 5, channels=3, dtype=dtype)
    expected = pipeline.apply(plan, images)
    result = pipeline(images, sample_ids=np.arange(count), epoch=5)
    assert type(result) is type(expected)
    pairs = (
        [(result, expected)]
        if isinstance(result, (torch.Tensor, np.ndarray))
        else list(zip(result, expected, strict=True))
    )
    for one, other in pairs:
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        if isinstance(one, torch.Tensor):
            assert one.stride() == other.stride()
            one, other = (t.reshape(-1).view(torch.uint8).numpy() for t in (one, other))
        assert one.tobytes() == other.tobytes()


def is_run_alike(pipeline, images):
    """Whether one call runs it, with the bytes of the passes; False where it does not take these images."""
    try:
        is_run = runs(pipeline, images)
        assert_run_is_pass_by_pass(pipeline, images)
    except (TypeError, ValueError):
        return False
    return is_run


def _size_of(images):
    if isinstance(images, np.ndarray):
        return images.shape[-3:-1]
    return images.shape[-2:]


def program_of(pipeline, images):
    return pipeline._direct_program((images[0].dtype, images[3], images[6], images[1] is None))


def runs(pipeline, images):
    direct = direct_input(images, False)
    program = None if direct is None else program_of(pipeline, direct)
    return program is not None and (program.runs or program.serves_on_host(direct))


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("finish", FINISHES)
@pytest.mark.parametrize("kind", KINDS)
def test_common_pipelines(kind, finish, antialias):
    crop = T.RandomResizedCrop((24, 20), antialias=antialias)
    for middle in ([], [T.RandomHorizontalFlip()], [T.ColorJitter(0.4, 0.4, 0.4, 0.1), T.RandomErasing(1.0)]):
        pipeline = T.Compose([crop, *middle, *FINISHES[finish]], seed=3)
        assert runs(pipeline, images_of(kind))
        assert_run_is_pass_by_pass(pipeline, images_of(kind))


@pytest.mark.parametrize("sizes", [[(37, 51)] * 3, [(1, 1)], [(37, 51), (37, 52)]])
def test_images_of_a_batch_may_have_one_size(sizes):
    rng = np.random.default_rng(1)
    batch = ImageBatch.from_images([rng.integers(0, 256, (*size, 3), np.uint8) for size in sizes])
    blur = T.GaussianBlur(3)
    for transforms in ([T.RandomHorizontalFlip()], [T.ColorJitter(0.4, 0.4, 0.4, 0.1), blur], [blur]):
        pipeline = T.Compose(transforms, seed=3)
        is_run = pipeline._run(batch, epoch=5) is not None
        assert is_run == (len(set(sizes)) == 1 and transforms != [blur])
        assert_run_is_pass_by_pass(pipeline, batch)


LISTS = {
    "arrays": lambda pixels: pixels,
    "gray arrays": lambda pixels: [each[:, :, 0] for each in pixels],
    "tensors": lambda pixels: [torch.from_numpy(each).permute(2, 0, 1).contiguous() for each in pixels],
    "floats": lambda pixels: [torch.from_numpy(each).permute(2, 0, 1) / 255 for each in pixels],
    "views": lambda pixels: [each[::-1, ::2] for each in pixels],
}


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("antialias", [False, True])
def test_the_images_of_a_list_are_run_where_they_are(kind, antialias):
    rng = np.random.default_rng(2)
    images = LISTS[kind]([rng.integers(0, 256, (37 + n, 51 - n, 3), np.uint8) for n in range(4)])
    sizes = [each.shape[-2:] if isinstance(each, torch.Tensor) else each.shape[:2] for each in images]
    first = images[0]
    like = {
        "channels": 1 if kind == "gray arrays" else 3,
        "dtype": "float32" if kind == "floats" else "uint8",
    }
    targets = [{"boxes": torch.tensor([[3.0, 2.0, 20.0, 30.0]])}] * 4
    for middle in ([], [T.RandomHorizontalFlip(), T.GaussianBlur(3)], [T.RandomErasing(1.0)]):
        crop = T.RandomResizedCrop((24, 20), antialias=antialias)
        pipeline = T.Compose([crop, *middle], seed=3)
        plan = pipeline.plan(sizes, [7, 1, 2, -5], 5, **like)
        expected = pipeline.apply(plan, images)
        assert pipeline._run(images, [7, 1, 2, -5], 5) is not None
        result, changed = pipeline(images, targets, [7, 1, 2, -5], 5)
        assert (result.stride(), result.dtype) == (expected.stride(), expected.dtype)
        assert torch.equal(result, expected)
        expected_targets = T.transform_targets(plan, targets)
        assert [each["boxes"].tolist() for each in changed] == [
            each["boxes"].tolist() for each in expected_targets
        ]
        assert pipeline(images, None, [7, 1, 2, -5], 5, out=expected.zero_()) is expected
        assert torch.equal(result, expected)
    assert T.Compose([T.RandomHorizontalFlip()])._run(images, epoch=5) is None  # results of several sizes
    with pytest.raises(ValueError, match="but image 4 has"):
        pipeline(
            [*images, first[:2] if isinstance(first, torch.Tensor) else np.zeros((9, 9, 2), first.dtype)]
        )


def test_random_pipelines():
    picker, ran = Picker(4), 0
    for _ in range(400):
        middle = (random_transform(picker) for _ in range(picker.of(range(4))))
        transforms = [T.Resize((29, 31), antialias=picker.chance(0.5)), *middle]
        pipeline = T.Compose(transforms, seed=picker.of(range(2**20)))
        ran += is_run_alike(pipeline, images_of(picker.of(("tensor", "batch", "array"))))
    assert ran > 60


@pytest.mark.parametrize("kind", ["one tensor", "one array"])
def test_one_image_is_run_whatever_size_it_gets(kind):
    picker, ran = Picker(6), 0
    sizes = (
        T.RandomResize(20, 40),
        T.ScaleJitter((30, 40)),
        T.RandomZoomOut(),
        T.RandomRotation(40, expand=True),
    )
    targets = [{"boxes": torch.tensor([[3.0, 2.0, 20.0, 30.0]])}]
    for n in range(200):
        middle = (random_transform(picker) for _ in range(picker.of(range(4))))
        pipeline = T.Compose([sizes[n % 4], *middle], seed=picker.of(range(2**20)))
        image = images_of(kind)
        is_run = is_run_alike(pipeline, image)
        ran += is_run
        if not is_run:
            continue
        plan = pipeline.plan([_size_of(image)], [0], 5)
        if not any(transform.needs_targets for transform in pipeline.transforms):
            changed = pipeline(image, targets, [0], 5)[1]
            assert changed[0]["boxes"].tolist() == T.transform_targets(plan, targets)[0]["boxes"].tolist()
    assert ran > 60


def test_errors_name_the_transform_and_the_image():
    crop = T.Compose([T.RandomCrop((50, 50))])
    with pytest.raises(
        ValueError, match="RandomCrop: expected images of at least 50x50, but image 0 is 37x51"
    ):
        crop(images_of("batch"), epoch=0)


def test_draws_without_ids_are_new():
    pipeline, images = T.Compose([T.RandomCrop((8, 8))]), images_of("tensor")
    torch.manual_seed(3)
    first, second = pipeline(images), pipeline(images)
    torch.manual_seed(3)
    assert not torch.equal(first, second)
    assert torch.equal(first, pipeline(images))


def refused_of(code, images, count=3000):
    """How many programs with one other number are refused."""
    rng, refused = np.random.default_rng(0), 0
    for _ in range(count):
        changed = code.clone()
        row, column = rng.integers(len(code)), rng.integers(16)
        changed[row, column] = float(rng.choice([-1, 0.5, 3, 17, 1e9, 1e300, np.nan, np.inf]))
        try:
            torch.ops.orbbec.run(images, changed, 0)
        except (ValueError, RuntimeError):  # RuntimeError: no memory for a side of 10^9
            refused += 1
    return refused


def test_other_operators_are_refused():
    pipeline, images = T.Compose(DRAWN["operators"]), images_of("tensor")
    assert refused_of(program_of(pipeline, direct_input(images, False)).code, images) > 900


def test_operators_run_on_images_that_no_pass_made(accelerator):
    """They come first, on one image too, and leave the caller's images as they are."""
    for operator in (
        T.GaussianBlur(5),
        T.RandomAdjustSharpness(2.0),
        T.RandomAutocontrast(),
        T.RandomEqualize(),
    ):
        for kind in ("tensor", "one tensor", "array", "channels last"):
            pipeline, images = T.Compose([operator, T.RandomHorizontalFlip()], seed=1), images_of(kind)
            assert runs(pipeline, images)
            with accelerator.active():
                assert_run_is_pass_by_pass(pipeline, images)
            assert np.array_equal(images, images_of(kind))


def test_other_programs_are_refused():
    pipeline, images = T.Compose([T.RandomResizedCrop((9, 8)), *FINISHES["normalized"]]), images_of("tensor")
    program = program_of(pipeline, direct_input(images, False))
    assert torch.ops.orbbec.run(images, program.code, 0).shape == (3, 3, 9, 8)
    assert torch.ops.orbbec.run(images[0], program.code, 0).shape == (3, 9, 8)
    assert refused_of(program.code, images) > 1000
    for contents in (0, 10**9, -1, np.nan):
        code = program.code.clone()
        code[-1] = contents
        with pytest.raises(ValueError, match=r"^run: expected"):
            torch.ops.orbbec.run(images, code, 0)
    for wrong in (program.code[:0], program.code[:, :8], program.code.float(), program.code[0]):
        with pytest.raises(ValueError, match=r"^run: expected code as contiguous float64|1 row"):
            torch.ops.orbbec.run(images, wrong, 0)


@dataclass(frozen=True)
class _Weights(T.Transform):
    """Shows what mixes draw: weights as factors of colors, the box of a CutMix as a rectangle."""

    alpha: float

    def rules(self, build):
        beta, weights = build.beta(self.alpha), build.dirichlet(5, self.alpha)
        for register in (beta, *range(weights, weights + 5)):
            build.colors("color_line", register, build.compute("round", register))
        box = build.compute("cut", beta, draws=2)
        build.erase(build.consecutive([*range(box, box + 5), *(build.constant(0.0) for _ in range(3))]))


@dataclass(frozen=True)
class _Policy(T.Transform):
    """Draws operations, as policies do, without the operators that read histograms or neighbors."""

    def rules(self, build):
        which = build.consecutive([build.whole(0, len(OPERATIONS)) for _ in range(3)])
        build.sort(which, 3)
        ranked = build.compute("filter", 4, build.permutation(4), 0b1111, outputs=4)
        for slot in range(3):
            is_drawn = build.compute("at_most", build.constant(slot), ranked + slot)
            operation = build.compute("times", which + slot, is_drawn)
            level = build.compute("over", build.whole(0, 31), 30)
            magnitude = NARROW.magnitude(build, operation, level, build.uniform())
            build.warp("auto_warp", operation, magnitude, border="constant")
            build.colors("auto_color", operation, magnitude, contrast=True)


@dataclass(frozen=True)
class _Steps(T.Transform):
    """Moves and colors by registers, as transforms that Python draws do."""

    def rules(self, build):
        turned = 0.8, 0.3, 2.5, -0.3, 0.8, 7.25, 0.0, 0.0, 1.0
        numbers = build.constants([*turned, 40.0, 44.0, *[0.0] * 5, 0.0, 0.0])
        build.warp("step_warp", numbers, 0, border="constant", size=(40, 44), least=(40, 44))
        build.warp("matrix_warp", (1.1, 0.1, -1.0, 0.0, 0.9, 0.5, 0.001, 0.0, 1.0), border="constant")
        build.warp("crop_fixed", -3.0, 5.0, 30, 31, 1, border="constant", size=(30, 31), least=(30, 31))
        row = build.constants([STEPS["gamma"], 0.6, *[0.0] * 14])
        build.colors("step_colors", row, 1)


END = [T.ToDtype(torch.float32, scale=True), T.Normalize(), T.RandomErasing(0.7)]
SIZED = T.CenterCrop((24, 20))
DRAWN = {
    "crop": [
        T.RandomResizedCrop((24, 20), antialias=False),
        T.RandomHorizontalFlip(),
        T.RandomVerticalFlip(),
    ],
    "antialiased crop": [T.RandomResizedCrop((24, 20)), T.RandomHorizontalFlip()],
    "padded crop": [T.RandomCrop((24, 20), padding=3, pad_if_needed=True)],
    "sizes": [T.RandomScale((0.4, 0.9), antialias=False), T.RandomResize(30, 60, antialias=False), SIZED],
    "sides": [T.Resize(None, max_size=70, antialias=False), T.Resize(40, antialias=False), SIZED],
    "shortest": [
        T.RandomShortestSize((30, 50), 90, antialias=False),
        T.ResizeToFit(60, antialias=False),
        SIZED,
    ],
    "crossed": [T.ScaleJitter((60, 40), antialias=False), SIZED],
    "nearest": [T.RandomResizedCrop((24, 20), interpolation="nearest", antialias=False)],
    "padded": [T.Pad((1, 2, 3, 4)), T.PadIfNeeded((70, 70), position="random"), SIZED],
    "zoomed": [T.RandomZoomOut(), SIZED],
    "letterbox": [T.Letterbox((24, 20)), T.RandomHorizontalFlip()],
    "letterbox nearest": [T.Letterbox((24, 20), interpolation="nearest")],
    "affine": [
        T.RandomAffine(30, (0.2, 0.1), (0.7, 1.3), (-10, 10, -5, 5), "linear"),
        T.RandomRotation(40, "linear", expand=True),
        SIZED,
    ],
    "policy": [SIZED, _Policy()],
    "steps": [_Steps(), SIZED],
    "perspective": [T.RandomPerspective(0.7, 0.8), T.RandomPerspective(1.0), SIZED],
    "weights": [SIZED, _Weights(0.2), _Weights(0.05), _Weights(1.0), _Weights(4.0)],
    "colors": [
        T.Resize((24, 20), antialias=False),
        T.RandomPhotometricDistort(),
        T.RandomBrightnessContrast(p=0.5),
        T.Gamma(p=0.5),
    ],
    "chosen": [
        T.Resize((24, 20), antialias=False),
        T.RandomApply([T.ColorJitter(0.4, 0, 0.4, 0.1)], 0.6),
        T.RandomChoice([T.RandomInvert(1.0), T.RandomPosterize(3), T.RandomSolarize(90)], (1, 2, 1)),
        T.SomeOf([T.RandomGrayscale(0.5), T.RandomHorizontalFlip(), T.RandomChannelPermutation()], 2),
        T.RandomOrder([T.RandomInvert(), T.RandomSolarize(128)]),
        T.SomeOf([T.RandomInvert(), T.Gamma(), T.RandomSolarize(90)], 2, weights=(3, 1, 2)),
        T.RandomApply([T.RandomInvert(1.0)], 0.5, epochs=(0, 2**30)),
    ],
    "operators": [
        SIZED,
        T.GaussianBlur((5, 3)),
        T.RandomApply([T.GaussianBlur(7)], 0.5),
        T.RandomAdjustSharpness(2.0),
        T.RandomAutocontrast(),
        T.RandomEqualize(),
    ],
    "policies": [SIZED, T.RandAugment(), T.AutoAugment()],
    "timm": [SIZED, T.RandAugment(2, 9, 11, operations="timm")],
    "dropouts": [SIZED, T.CoarseDropout((1, 3), p=0.7), T.GridDropout(0.4, (2, 3), fill="random_uniform")],
    "tones": [
        SIZED,
        T.RandomHSV(),
        T.HueSaturationValue(p=0.7),
        T.RandomToneCurve(0.3, p=0.7),
        T.RGBShift(p=0.7),
        T.MultiplicativeNoise((0.6, 1.4), True, p=0.7),
        T.ChannelDropout(p=0.5),
        T.PlanckianJitter(p=0.7),
        T.SolarizeAdd(p=0.7),
        T.ToSepia(0.5),
        T.ChannelSwap((1, 2, 0), 0.5),
    ],
    "lights": [
        SIZED,
        T.Vignetting(p=0.7),
        T.Illumination(p=0.7),
        T.RandomHorizontalFlip(),
        T.Illumination("gaussian", p=0.7),
    ],
    "shadow": [SIZED, T.RandomShadow((0.1, 0.2, 1.0, 0.9), (1, 1), p=0.7), T.RandomHorizontalFlip()],
    "shapes": [
        T.ResizeKeepRatio(60, 0.4, scale_p=0.5, aspect_p=0.5, antialias=False),
        T.ResizeToMultiple(42, 14, interpolation="linear"),
        T.ResizeToHeight(50, 70, antialias=False),
        T.CropAndPad((-0.2, 0.2), antialias=False, p=0.8),
        T.RandomSizedCrop((20, 40), (30, 32), antialias=False),
        SIZED,
        T.RandomShift(5),
    ],
}


def test_these_pipelines_have_every_rule():
    batch, names = images_of("batch"), list(SIGNATURES)
    drawn = (program_of(T.Compose([*each, *END]), direct_input(batch, False)) for each in DRAWN.values())
    found = {names[int(row[0])] for program in drawn for row in program.code[: len(program.labels)]}
    assert set(names) - found == set()


@pytest.mark.parametrize("name", DRAWN)
def test_a_kernel_draws_what_the_host_draws(accelerator, name):
    pipeline, rng = T.Compose([*DRAWN[name], *END], seed=9), np.random.default_rng(1)
    sizes = rng.integers(40, 90, (20, 2)).tolist()
    batch = ImageBatch.from_images([rng.integers(0, 256, (*size, 3), np.uint8) for size in sizes])
    ids = rng.integers(-(2**62), 2**62, 20)
    program = program_of(pipeline, direct_input(batch, False))
    assert program is not None
    assert program.draws_anywhere
    expected = pipeline(batch, sample_ids=ids, epoch=2**40)
    there = batch.to("cuda" if accelerator.name == "cuda" else "cpu")
    with accelerator.active():
        result = pipeline(there, sample_ids=ids, epoch=2**40)
        alone = pipeline(there[3:4], sample_ids=ids[3:4], epoch=2**40)
    assert result.cpu().numpy().tobytes() == expected.numpy().tobytes()
    assert alone.cpu().numpy().tobytes() == expected[3:4].numpy().tobytes()


def test_an_epoch_in_a_tensor_is_read_when_parameters_are_drawn(accelerator):
    """A kernel that draws reads it, and the ids, from memory, as a CUDA graph does at each replay."""
    pipeline = T.Compose([T.RandomResizedCrop((24, 20)), T.RandomHorizontalFlip(), *END], seed=9)
    images, ids = images_of("tensor"), torch.tensor([4, -7, 2**40])
    where = "cuda" if accelerator.name == "cuda" else "cpu"
    there, ids_there = images.to(where), ids.to(where)
    with accelerator.active():
        epoch = torch.tensor([3], device=where)
        results = []
        for _ in range(2):
            results.append(pipeline(there, sample_ids=ids_there, epoch=epoch).cpu())
            epoch += 1
        scalar = pipeline(there, epoch=torch.tensor(3, device=where)).cpu()
    for number, result in enumerate(results):
        expected = pipeline(images, sample_ids=ids, epoch=3 + number)
        assert result.numpy().tobytes() == expected.numpy().tobytes()
    assert scalar.numpy().tobytes() == pipeline(images, epoch=3).numpy().tobytes()
    assert results[0].numpy().tobytes() != results[1].numpy().tobytes()


@pytest.mark.parametrize("epoch", [torch.tensor([1, 2]), torch.tensor(0.5), torch.tensor(-1)])
def test_a_tensor_that_is_no_epoch_is_refused(epoch):
    for last in (T.RandomHorizontalFlip(), T.GaussianBlur(3)):
        with pytest.raises(ValueError, match=r"Compose: expected epoch as a whole number"):
            T.Compose([last])(images_of("tensor"), epoch=epoch)


@pytest.mark.parametrize("epoch", [torch.tensor(6), torch.tensor([6])])
def test_pipelines_that_the_host_draws_take_an_epoch_in_a_tensor_on_the_cpu(epoch):
    pipeline, images = T.Compose([T.GaussianBlur(5)], seed=2), images_of("tensor")
    result, plan = pipeline(images, epoch=epoch), pipeline.plan([(40, 60)], epoch=epoch)
    assert result.numpy().tobytes() == pipeline(images, epoch=6).numpy().tobytes()
    assert plan.to_json() == pipeline.plan([(40, 60)], epoch=6).to_json()


def test_the_host_does_not_read_an_epoch_in_a_tensor_where_an_operator_does(monkeypatch):
    pipeline, images = T.Compose([T.RandomHorizontalFlip()], seed=2), images_of("tensor")
    expected = pipeline(images, epoch=6)
    monkeypatch.setattr(T.Compose, "_key", None)  # which reads it, and which a CUDA graph cannot capture
    assert_same_bytes(pipeline(images, epoch=torch.tensor(6)), expected)


@pytest.mark.parametrize("rows", [0, slice(1), slice(2)], ids=str)
def test_large_results_of_tensors_have_their_shape(rows):
    images = photographs(2, 3, 240, 250)[rows]
    result = T.Compose([T.RandomHorizontalFlip(1.0)])(images, epoch=0)
    assert result.nbytes > LEAST_BYTES
    assert_same_bytes(result, images.flip(-1))
