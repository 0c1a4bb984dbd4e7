"""Clips through a loader: one draw per clip, targets per frame, and bad frames."""

import numpy as np
import pytest
import torch

from orbbec import ClipBatch
from orbbec import transforms as T
from orbbec.data import BadSample, Decoding, FrameFolders, Loader, Sample, TemporalSample, decode_image
from tests.support import assert_same_bytes, photographs

FRAMES, COUNT = 3, 4
CROP = T.Compose([T.RandomResizedCrop(12, antialias=False), T.RandomHorizontalFlip()], seed=3)


def jpegs(count, height=40, width=50, quality=90):
    Image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    files = []
    for image in photographs(count, 3, height, width):
        buffer = BytesIO()
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(buffer, "JPEG", quality=quality)
        files.append(buffer.getvalue())
    return files


@pytest.fixture(scope="module")
def videos():
    """Clips of several sizes."""
    return [
        Sample(tuple(jpegs(FRAMES, 40 + n, 50)), {"label": n, "boxes": [BOX, BOX + 1, BOX + 2]}, n + 5)
        for n in range(COUNT)
    ]


BOX = np.array([[4.0, 3.0, 30.0, 35.0]])


def pixels_of(sample):
    return torch.from_numpy(np.stack([decode_image(frame) for frame in sample.data])).permute(0, 3, 1, 2)


@pytest.mark.parametrize("feed", ["1", "0"])
@pytest.mark.parametrize("roi", [True, False])
def test_clips_of_a_loader_are_those_of_the_pipeline(videos, monkeypatch, feed, roi):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    with Loader(videos, 2, CROP, shuffle=False, decoding=Decoding(roi=roi)) as loader:
        batches = list(loader)
    assert [batch.images.shape for batch in batches] == [(2, FRAMES, 3, 12, 12)] * 2
    for n, sample in enumerate(videos):
        batch, row = batches[n // 2], n % 2
        ids = [sample.sample_id]
        expected, moved = CROP(pixels_of(sample)[None], [sample.targets], sample_ids=ids, epoch=0)
        assert_same_bytes(batch.images[row], expected[0])
        assert batch.sample_ids[row] == sample.sample_id
        assert batch.targets["label"][row] == n
        for found, boxes in zip(batch.targets["boxes"][row], moved[0]["boxes"], strict=True):
            assert np.array_equal(found, boxes)


def test_clips_without_transforms_are_a_clip_batch(videos):
    with Loader(videos, 3, shuffle=False) as loader:
        batch = next(iter(loader))
    assert isinstance(batch.images, ClipBatch)
    assert batch.images.frames == FRAMES
    for clip, sample in zip(batch.images.clips(), videos, strict=False):
        assert_same_bytes(clip.permute(0, 3, 1, 2), pixels_of(sample))


def with_frames(sample, frames):
    return Sample(tuple(frames), {"label": sample.targets["label"]}, sample.sample_id, "video")


@pytest.mark.parametrize("feed", ["1", "0"])
def test_a_clip_with_a_damaged_frame_is_a_bad_sample(videos, monkeypatch, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    first, second, third = (with_frames(sample, sample.data) for sample in videos[:3])
    damaged = with_frames(second, [second.data[0], second.data[1][:300], b"no image"])
    for on_error, ids in (("skip", [5, 7]), ("substitute", [5, 7, 7])):
        loader = Loader([first, damaged, third], 3, CROP, shuffle=False, on_error=on_error)
        with loader, pytest.warns(UserWarning, match="video"):
            (batch,) = loader
        assert batch.images.shape[1] == FRAMES
        assert batch.sample_ids.tolist() == ids
        assert loader.faults[0].sample_id == 6
        assert loader.faults[0].path == "video (frame 1)"
    with (
        Loader([first, damaged], 2, CROP, shuffle=False) as loader,
        pytest.raises(BadSample, match="frame 1"),
    ):
        next(iter(loader))


def test_clips_of_unequal_length_are_named(videos):
    short = with_frames(videos[1], videos[1].data[:2])
    loader = Loader([with_frames(videos[0], videos[0].data), short], 2, CROP, shuffle=False)
    with (
        loader,
        pytest.raises(
            ValueError, match="samples 5, 6: expected clips of 3 frames, as the first, but sample 6 has 2"
        ),
    ):
        next(iter(loader))


def test_frames_of_unequal_size_are_named(videos):
    mixed = with_frames(videos[0], [*videos[0].data[:2], videos[1].data[0]])
    with Loader([mixed], 1, CROP) as loader, pytest.raises(BadSample, match=r"but frame 2 has \[41, 50\]"):
        next(iter(loader))


def test_clips_without_frames_are_bad_samples():
    with Loader([Sample((), {}, 3, "v")], 1, CROP) as loader, pytest.raises(BadSample, match="no frames"):
        next(iter(loader))


def test_clips_are_not_decoded_to_planes(videos):
    loader = Loader(videos, 2, CROP, decoding=Decoding(planes=True))
    with loader, pytest.raises(ValueError, match=r"expected Decoding\(planes=False\) for clips"):
        next(iter(loader))


def test_folders_of_frames(tmp_path):
    for name in ("run/a", "run/b", "walk/a"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        for t, data in enumerate(jpegs(12, 20, 24)):
            (folder / f"{t}.jpg").write_bytes(data)
        (folder / "notes.txt").write_text("")
    source = FrameFolders(tmp_path, TemporalSample(frames=4, stride=2))
    assert (source.classes, len(source), source.labels) == (["run", "walk"], 3, [0, 0, 1])
    starts = set()
    with Loader(source, 3, [T.CenterCrop(16)], shuffle=False) as loader:
        for epoch in range(6):
            images, targets, ids = next(iter(loader))
            assert images.shape == (3, 4, 3, 16, 16)
            assert (targets["label"].tolist(), ids.tolist()) == ([0, 0, 1], [0, 1, 2])
            indices = TemporalSample(4, 2).indices(12, 0, epoch)
            starts.add(indices[0])
            frames = [decode_image((tmp_path / "run/a" / f"{t}.jpg").read_bytes()) for t in indices]
            expected = T.CenterCrop(16)(np.stack(frames))
            assert np.array_equal(images[0].permute(0, 2, 3, 1).numpy(), expected)
    assert len(starts) > 2
    (tmp_path / "walk/a/11.jpg").unlink()
    with pytest.raises(BadSample, match="expected at least 12 frames, but got 11"):
        FrameFolders(tmp_path, TemporalSample(frames=12, stride=1))[2]


def test_temporal_samples_stay_within_the_video():
    sample = TemporalSample(frames=5, stride=3)
    found = [sample.indices(20, sample_id, epoch) for sample_id in range(40) for epoch in range(5)]
    assert {indices[0] for indices in found} == set(range(8))
    assert all(np.diff(indices).tolist() == [3] * 4 and indices[-1] < 20 for indices in found)
    assert TemporalSample(5, 3, random=False).indices(14, 0) == [0, 3, 6, 9, 12]
    with pytest.raises(ValueError, match="expected at least 13 frames, but got 12"):
        sample.indices(12, 0)
