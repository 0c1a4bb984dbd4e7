"""ClipBatch: frames of clips, memory, errors."""

import pickle

import numpy as np
import pytest
import torch

from orbbec.batch import ClipBatch, ImageBatch

SIZES = (2, 3), (4, 1), (5, 6)
CLIPS = [
    np.random.default_rng(height).integers(0, 256, (2, height, width, 3), np.uint8) for height, width in SIZES
]


def assert_holds(batch, clips):
    assert isinstance(batch, ClipBatch)
    assert batch.frames == 2
    for found, clip in zip(batch.clips(), clips, strict=True):
        np.testing.assert_array_equal(found.numpy(), clip)


def test_a_batch_holds_the_frames_of_every_clip():
    batch = ClipBatch.from_clips(CLIPS)
    assert_holds(batch, CLIPS)
    assert_holds(pickle.loads(pickle.dumps(batch)), CLIPS)
    assert len(batch) == 6
    assert batch.sizes.tolist() == [list(size) for size in SIZES for _ in range(2)]


def test_frames_are_images_of_the_same_memory():
    batch = ClipBatch.from_clips(CLIPS)
    for images, first in ((batch.as_images(), 0), (batch[1:4], 1)):
        assert type(images) is ImageBatch
        assert images.storage is batch.storage
        assert images[0].data_ptr() == batch[first].data_ptr()
    assert len(batch[1:4]) == 3


def test_other_pixels_are_clips_too():
    batch = ClipBatch.from_clips(CLIPS)
    gray = batch.with_pixels(torch.full_like(batch.buffer, 7), channels=1)
    assert_holds(gray, [np.full((*clip.shape[:3], 1), 7) for clip in CLIPS])


@pytest.mark.parametrize(
    ("sizes", "frames", "message"),
    [
        ([(2, 3)] * 2, 0, "expected frames of at least 1, but got 0"),
        ([(2, 3)] * 3, 2, "expected clips of 2 frames, but got 3 images"),
        ([(2, 3), (2, 4)], 2, r"clip 0 has \[\[2, 3\], \[2, 4\]\]"),
        ([(2, 3)] * 2 + [(5, 3), (2, 3)], 2, r"clip 1 has \[\[5, 3\], \[2, 3\]\]"),
        ([(2, 3)] * 5 + [(2, 7), (2, 4), (2, 3)], 2, r"clip 2 has \[\[2, 3\], \[2, 7\]\]"),
    ],
)
def test_images_that_are_no_clips_are_named(sizes, frames, message):
    images = ImageBatch.of_sizes(sizes, 3)
    assert ClipBatch.of(images, 1).frames == 1
    with pytest.raises(ValueError, match=f"^ClipBatch: .*{message}$"):
        ClipBatch.of(images, frames)


@pytest.mark.parametrize(
    ("images", "frames", "message"),
    [
        (None, 2, "images as an ImageBatch, but got None"),
        (ImageBatch.of_sizes([(2, 3)] * 2, 3), 1.0, "frames as a whole number, but got 1.0"),
        (ImageBatch.of_sizes([(2, 3)] * 2, 3), [2], r"frames as a whole number, but got \[2\]"),
    ],
)
def test_a_wrong_type_is_named(images, frames, message):
    with pytest.raises(TypeError, match=f"^ClipBatch: expected {message}$"):
        ClipBatch.of(images, frames)


@pytest.mark.parametrize(
    ("clips", "message"),
    [
        (3, "clips as a sequence, but got 3"),
        ([list(CLIPS[0])], "arrays or tensors, but clip 0 is a list"),
        ([CLIPS[0], None], "arrays or tensors, but clip 1 is a NoneType"),
    ],
)
def test_clips_that_are_no_arrays_are_named(clips, message):
    with pytest.raises(TypeError, match=f"^ClipBatch.from_clips: expected {message}$"):
        ClipBatch.from_clips(clips)
    assert_holds(ClipBatch.from_clips(clip for clip in CLIPS), CLIPS)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([], "at least 1 clip, but got 0"),
        ([(4, 4, 3)], r"clips of shape \[T, H, W, C\], but clip 0 has \[4, 4, 3\]"),
        ([(2, 4, 4, 3), (2, 4, 4)], r"clips of shape \[2, H, W, C\], but clip 1 has \[2, 4, 4\]"),
        ([(2, 4, 4, 3), (3, 4, 4, 3)], r"clips of shape \[2, H, W, C\], but clip 1 has \[3, 4, 4, 3\]"),
    ],
)
def test_arrays_that_are_no_clips_are_named(shapes, message):
    with pytest.raises(ValueError, match=f"^ClipBatch.from_clips: expected {message}$"):
        ClipBatch.from_clips([np.zeros(shape, np.uint8) for shape in shapes])
