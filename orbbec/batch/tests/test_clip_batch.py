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
        ([(2, 3)] * 2, 0, "expected clips of 0 frames, but got 2 images"),
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
