"""Clips: the frames of a clip share their random parameters, except where they draw for themselves."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.batch import ClipBatch, ImageBatch
from orbbec.plan.parameters import identities
from orbbec.plan.steps import Warp
from tests.support import assert_same_bytes, photographs

COUNT, FRAMES, HEIGHT, WIDTH = 3, 4, 20, 26
IDS = [5, 9, 2]
CLIPS = photographs(COUNT * FRAMES, 3, HEIGHT, WIDTH).unflatten(0, (COUNT, FRAMES))
STILL = CLIPS[:, :1].expand(-1, FRAMES, -1, -1, -1)
CROP = T.Compose(
    [T.RandomResizedCrop(12, antialias=False), T.ColorJitter(0.4, 0.4), T.RandomHorizontalFlip()]
)
BOX = [[4.0, 3.0, 16.0, 15.0]]


def frames_by_themselves(pipeline, clips=CLIPS):
    """What each frame gives as an image with the id of its clip."""
    return torch.stack([pipeline(clips[:, t], sample_ids=IDS, epoch=1) for t in range(FRAMES)], 1)


@pytest.mark.parametrize(
    "pipeline",
    [CROP, T.Compose([*CROP.transforms, T.MedianBlur(3, p=0.5)]), T.Compose(CROP.transforms, exact=True)],
    ids=["one pass", "several passes", "exact"],
)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_frames_of_a_clip_draw_once(pipeline, dtype):
    clips = CLIPS.to(dtype)
    result = pipeline(clips, sample_ids=IDS, epoch=1)
    assert result.shape == (COUNT, FRAMES, 3, 12, 12)
    assert_same_bytes(result, frames_by_themselves(pipeline, clips))


def test_without_ids_each_clip_draws_anew():
    result = CROP(STILL)
    assert all(torch.equal(frame, clip[0]) for clip in result for frame in clip)
    assert not torch.equal(CROP(STILL[:1]), CROP(STILL[:1]))


def test_arrays_give_arrays():
    array = CLIPS.permute(0, 1, 3, 4, 2).numpy()
    result = CROP(array, sample_ids=IDS, epoch=1)
    assert isinstance(result, np.ndarray)
    assert np.array_equal(result, CROP(CLIPS, sample_ids=IDS, epoch=1).permute(0, 1, 3, 4, 2).numpy())


def test_clips_of_other_sizes_are_a_batch():
    clips = [clip[..., : 20 - n, : 20 + n].permute(0, 2, 3, 1).numpy() for n, clip in enumerate(CLIPS)]
    batch = ClipBatch.from_clips(clips)
    results = CROP(batch, sample_ids=IDS, epoch=1)
    assert results.shape == (COUNT, FRAMES, 3, 12, 12)
    for n, clip in enumerate(clips):
        expected = CROP(clip[None], sample_ids=IDS[n : n + 1], epoch=1)[0]
        assert np.array_equal(results[n].permute(0, 2, 3, 1).numpy(), expected)
    flipped = T.RandomHorizontalFlip(1.0)(batch)
    assert isinstance(flipped, ClipBatch)
    for result, clip in zip(flipped.clips(), clips, strict=True):
        assert np.array_equal(result.numpy(), clip[:, :, ::-1])


def test_frames_draw_for_themselves_where_asked():
    jitter = T.Compose([T.RandomHorizontalFlip(), T.PerFrame([T.ColorJitter(0.4), T.RandomInvert()])], seed=3)
    result = jitter(STILL, sample_ids=IDS, epoch=1)
    ids = np.array(IDS)
    for t in range(FRAMES):
        flipped = T.Compose(jitter.transforms[:1], seed=3)(STILL[:, t], sample_ids=ids, epoch=1)
        # A transform of another stream, for the place of the flip.
        colors = T.Compose([T.RandomVerticalFlip(0.0), jitter.transforms[1]], seed=3)
        assert_same_bytes(result[:, t], colors(flipped, sample_ids=ids ^ t << 48, epoch=1))
    assert not torch.equal(result[:, 0], result[:, 1])


def test_noise_differs_from_frame_to_frame():
    other = T.GaussianNoise(sigma=(0.05, 0.2))(STILL, sample_ids=IDS, epoch=0)
    same = T.GaussianNoise(sigma=(0.05, 0.2), per_frame=False)(STILL, sample_ids=IDS, epoch=0)
    assert_same_bytes(same[:, 0], other[:, 0])
    assert all(torch.equal(same[:, t], same[:, 0]) for t in range(FRAMES))
    assert not any(torch.equal(other[:, t], other[:, 0]) for t in range(1, FRAMES))
    spread = (other.float() - STILL.float()).std((2, 3, 4))
    assert (spread.std(1) < 0.05 * spread.mean(1)).all()  # sigma is the clip's


@dataclass(frozen=True)
class _Shift(T.Transform):
    """Moves images by what Python draws."""

    def sample(self, sizes, stream):
        return stream.below(8)

    def steps(self, params, state):
        matrices = identities(len(state))
        matrices[:, 0, 2] = params
        return [Warp(matrices, state.sizes, "nearest", "replicate", lossless=True)]


def test_what_python_draws_is_drawn_for_a_clip_or_for_each_frame():
    together, apart = (T.Compose([shift])(STILL, epoch=0) for shift in (_Shift(), T.PerFrame([_Shift()])))
    assert all(torch.equal(frame, clip[0]) for clip in together for frame in clip)
    assert not all(torch.equal(frame, clip[0]) for clip in apart for frame in clip)


@pytest.mark.parametrize("form", ["of a batch", "of clips", "of frames"])
def test_targets_follow_their_frames(form):
    boxes = [[np.array(BOX) + t for t in range(FRAMES)] for _ in range(COUNT)]
    targets = {
        "of a batch": {"boxes": boxes, "label": torch.arange(COUNT)},
        "of clips": [{"boxes": boxes[n], "label": n} for n in range(COUNT)],
        "of frames": [[{"boxes": frame, "label": n} for frame in boxes[n]] for n in range(COUNT)],
    }[form]
    images, moved = CROP(CLIPS, targets, sample_ids=IDS, epoch=1)
    assert_same_bytes(images, CROP(CLIPS, sample_ids=IDS, epoch=1))
    for n in range(COUNT):
        for t in range(FRAMES):
            _, expected = CROP(
                CLIPS[n, t][None], [{"boxes": boxes[n][t]}], sample_ids=IDS[n : n + 1], epoch=1
            )
            if form == "of frames":
                found, label = moved[n][t]["boxes"], moved[n][t]["label"]
            elif form == "of clips":
                found, label = moved[n]["boxes"][t], moved[n]["label"]
            else:
                found, label = moved["boxes"][n][t], moved["label"][n]
            assert np.array_equal(found, expected[0]["boxes"])
            assert label == n


def test_a_sample_may_have_clips_and_images():
    sample = {"clip": CLIPS, "boxes": [[np.array(BOX)] * FRAMES] * COUNT, "label": torch.arange(COUNT)}
    result = CROP(sample, sample_ids=IDS, epoch=1)
    assert_same_bytes(result["clip"], CROP(CLIPS, sample_ids=IDS, epoch=1))
    assert [len(clip) for clip in result["boxes"]] == [FRAMES] * COUNT
    assert result["label"].tolist() == [0, 1, 2]


def test_clips_are_mixed_frame_by_frame():
    mix, labels = T.Compose([T.MixUp()]), torch.eye(COUNT)
    mixed, soft = mix((CLIPS, labels), sample_ids=IDS, epoch=0)
    plain = [mix((CLIPS[:, t], labels), sample_ids=IDS, epoch=0) for t in range(FRAMES)]
    assert_same_bytes(mixed, torch.stack([images for images, _ in plain], 1))
    assert torch.equal(soft, plain[0][1])


def test_a_plan_of_clips_can_be_applied_again():
    pipeline = T.Compose([*CROP.transforms, T.GaussianNoise()])
    sizes = [(HEIGHT, WIDTH)] * (COUNT * FRAMES)
    plan = pipeline.plan(sizes, IDS, 1, frames=FRAMES)
    restored = type(plan).from_json(plan.to_json())
    expected = pipeline(CLIPS, sample_ids=IDS, epoch=1)
    assert_same_bytes(pipeline.apply(restored, CLIPS), expected)
    assert_same_bytes(pipeline.apply(restored, CLIPS.flatten(0, 1)).unflatten(0, (COUNT, FRAMES)), expected)


def test_empty_batches_have_the_shape_of_results():
    assert CROP(CLIPS[:0]).shape == (0, FRAMES, 3, 12, 12)
    assert CROP(CLIPS[:, :0]).shape == (COUNT, 0, 3, 12, 12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CROP(CLIPS, [[{"boxes": BOX}] * 3] * 3), "expected targets of 4 frames, but clip 0 has 3"),
        (lambda: CROP(CLIPS, [{"boxes": [BOX] * FRAMES}] * 2), "expected targets of 3 clips, but got 2"),
        (lambda: CROP(CLIPS, sample_ids=[1] * 12), r"sample_ids as whole numbers \[3\]"),
        (lambda: CROP.plan([(9, 9)] * 7, frames=2), "expected clips of 2 frames, but got 7 images"),
        (lambda: ClipBatch.from_clips([np.zeros((2, 4, 4, 3), np.uint8), np.zeros((3, 4, 4, 3), np.uint8)]),
         r"expected clips of shape \[2, H, W, C\], but clip 1 has \[3, 4, 4, 3\]"),
        (lambda: ClipBatch.of(ImageBatch.of_sizes([(4, 4), (4, 5)], 3), 2), "frames of one size, but clip 0"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_frames_that_become_of_several_sizes_are_named(dtype):
    zoom = T.Compose([T.PerFrame([T.RandomScale((0.5, 1.5))])])
    with pytest.raises(ValueError, match=r"expected frames of one size, but clip 0 has \[\["):
        zoom(CLIPS.to(dtype), epoch=0)


BY_TARGETS = [
    *(
        T.RandomIoUCrop(),
        T.BBoxSafeRandomCrop(),
        T.AtLeastOneBBoxRandomCrop(12),
        T.CropNonEmptyMaskIfExists(12),
    ),
    *(T.RandomCrop(12, max_class_ratio=0.9), T.RandomHalfBody()),
]


@pytest.mark.parametrize("crop", BY_TARGETS, ids=lambda crop: crop.name)
def test_crops_by_the_targets_of_each_frame_refuse_clips(crop):
    with pytest.raises(ValueError, match=f"^{crop.name}: expected images, .* but got clips"):
        crop(CLIPS, [[{"boxes": torch.tensor(BOX)}] * FRAMES] * COUNT)


def test_clips_are_written_to_an_output():
    sizes = [(HEIGHT, WIDTH)] * (COUNT * FRAMES)
    plan = CROP.plan(sizes, sample_ids=IDS, epoch=1, frames=FRAMES)
    expected = CROP.apply(plan, CLIPS)
    out = torch.zeros_like(expected)
    assert CROP.apply(plan, CLIPS, out=out) is out
    assert_same_bytes(out, expected)


@pytest.mark.parametrize("targets", [None, [{}, {}]])
@pytest.mark.parametrize("of", [torch.zeros, np.zeros])
@pytest.mark.parametrize("frames", [3, 4])
def test_a_list_of_clips_is_refused(of, targets, frames):
    clips = [of((3, 3, 8, 9)), of((frames, 3, 8, 9))]
    message = rf"got a list of tensors or arrays of shapes \[3, 3, 8, 9\], \[{frames}, 3, 8, 9\]; pass clips"
    with pytest.raises(ValueError, match=message):
        T.Compose([T.CenterCrop(4)])(clips, targets)


def test_a_list_of_two_batches_is_that_of_a_data_loader():
    images, masks = torch.ones(2, 3, 8, 9), torch.zeros(2, 1, 8, 9)
    results = T.Compose([T.CenterCrop(4)])([images, masks])
    assert [tuple(each.shape) for each in results] == [(2, 3, 4, 4), (2, 1, 8, 9)]
