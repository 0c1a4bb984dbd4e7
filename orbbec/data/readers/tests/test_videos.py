"""Clips of video files: frames are those of torchcodec and of the encoder, and every bad file is named.

Run by `make test-video`, in a venv with torchcodec; without it, only the test that does not need it runs.
"""

import os
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.utils.data import Subset

from orbbec.data import BadSample, Loader, TemporalSample, VideoClips
from orbbec.data.readers import videos
from orbbec.transforms import Compose, RandomHorizontalFlip, RandomResizedCrop

RATE, HEIGHT, WIDTH = 20, 48, 64
LOSSLESS = ("-c:v", "ffv1", "-pix_fmt", "bgr0")


def run_ffmpeg(*arguments, data=b""):
    subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *map(str, arguments)], input=data, check=True)


def drawn(count, seed=0):
    """Frames of a blurred noise, each brighter than the one before."""
    noise = np.random.default_rng(seed).integers(0, 100, (count, HEIGHT // 8, WIDTH // 8, 3))
    levels = (np.arange(count) * 150 // count)[:, None, None, None]
    return (noise + levels).astype(np.uint8).repeat(8, axis=1).repeat(8, axis=2)


def write_video(path, frames, *options, rate=RATE):
    raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{frames.shape[2]}x{frames.shape[1]}", "-r", rate)
    run_ffmpeg(*raw, "-i", "-", *options, path, data=frames.tobytes())
    return path


def h264(path, frames, rate=RATE):
    return write_video(path, frames, "-c:v", "libx264", "-g", 10, "-pix_fmt", "yuv420p", rate=rate)


def decoder(path):
    torchcodec = pytest.importorskip("torchcodec", reason="`make test-video` installs it")
    return torchcodec.decoders.VideoDecoder(str(path), dimension_order="NHWC")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of several codecs, containers, rates and lengths."""
    pytest.importorskip("torchcodec", reason="`make test-video` installs it")
    root = tmp_path_factory.mktemp("videos")
    h264(root / "h264.mp4", drawn(50))
    h264(root / "short.mp4", drawn(5, seed=1))
    write_video(root / "lossless.mkv", drawn(40, seed=2), *LOSSLESS)
    write_video(root / "vp9.webm", drawn(30, seed=3), "-c:v", "libvpx-vp9", "-g", 7)
    write_video(root / "mpeg4.avi", drawn(30, seed=4), "-c:v", "mpeg4", "-bf", 0)
    some = ("-vf", "select='not(mod(n,3))+gt(n,30)'", "-fps_mode", "vfr")
    write_video(root / "variable.mkv", drawn(50, seed=5), *some, *LOSSLESS)
    return root


def data_of(sample):
    return np.stack(sample.data)


NAMES = ["h264.mp4", "short.mp4", "lossless.mkv", "vp9.webm", "mpeg4.avi", "variable.mkv"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sampling", ["random", "uniform", "all"])
def test_frames_are_those_of_torchcodec(folder, name, sampling):
    source = VideoClips(folder / name, frames=4, stride=3, sampling=sampling)
    length = len(decoder(folder / name))
    by_torchcodec = decoder(folder / name).get_frames_at(list(range(length)))
    times = by_torchcodec.pts_seconds.numpy()
    for index, sample in enumerate(source):
        rows = np.searchsorted(times, sample.targets["seconds"].numpy())
        assert times[rows].tolist() == sample.targets["seconds"].tolist()
        assert np.array_equal(data_of(sample), by_torchcodec.data[rows].numpy())
        assert (sample.sample_id, sample.targets["video"], sample.path) == (index, 0, str(folder / name))
        if name != "short.mp4":
            assert np.diff(rows).tolist() == [3, 3, 3]


def test_frames_are_those_that_were_encoded(folder):
    source = VideoClips(folder / "lossless.mkv", frames=5, stride=4, seed=9)
    firsts = set()
    for epoch in range(20):
        source.set_epoch(epoch)
        indices = TemporalSample(5, 4, seed=9).indices(40, 0, epoch)
        firsts.add(indices[0])
        assert np.array_equal(data_of(source[0]), drawn(40, seed=2)[indices])
    assert len(firsts) > 8


@pytest.mark.parametrize("count", [2, 3, 7, 60])
@pytest.mark.parametrize("name", ["h264.mp4", "short.mp4"])
def test_clips_at_equal_distances_are_those_of_torchcodec(folder, name, count):
    samplers = pytest.importorskip("torchcodec.samplers")
    source = VideoClips(folder / name, frames=3, stride=4, sampling="uniform", clips_per_video=count)
    options = {"num_clips": count, "num_frames_per_clip": 3, "num_indices_between_frames": 4}
    expected = samplers.clips_at_regular_indices(decoder(folder / name), **options)
    assert len(source) == count
    for sample, data, seconds in zip(source, expected.data, expected.pts_seconds, strict=True):
        assert torch.equal(sample.targets["seconds"], seconds)
        assert np.array_equal(data_of(sample), data.numpy())


def test_without_a_scan_frames_are_the_same_if_headers_are_right(folder):
    for name in ("h264.mp4", "vp9.webm", "lossless.mkv"):
        clips = [VideoClips(folder / name, 4, 3, seek_mode=mode)[0] for mode in ("exact", "approximate")]
        assert np.array_equal(*map(data_of, clips))


def test_a_single_clip_is_in_the_middle(folder):
    (sample,) = VideoClips(folder / "lossless.mkv", frames=3, stride=4, sampling="uniform")
    assert np.array_equal(data_of(sample), drawn(40, seed=2)[[15, 19, 23]])


def test_all_clips_follow_each_other_and_a_rest_is_left_out(folder):
    source = VideoClips(
        [folder / "lossless.mkv", folder / "short.mp4", folder / "lossless.mkv"], 4, 3, sampling="all"
    )
    clips = [drawn(40, seed=2)[first : first + 12 : 3] for first in (0, 12, 24)]
    assert [sample.targets["video"] for sample in source] == [0, 0, 0, 1, 2, 2, 2]
    for index, clip in zip((0, 1, 2, 4, 5, 6), clips * 2, strict=True):
        assert np.array_equal(data_of(source[index]), clip)
    assert np.array_equal(data_of(source[-7]), clips[0])
    with pytest.raises(IndexError):
        source[7]


def shown_at(path, times):
    """The index of the frame that ffprobe's times of a file show at some times."""
    options = (
        "-loglevel",
        "error",
        "-select_streams",
        "v",
        "-show_entries",
        "frame=pts_time",
        "-of",
        "csv=p=0",
    )
    text = subprocess.run(["ffprobe", *options, path], capture_output=True, text=True, check=True).stdout
    begins = np.array([float(line.strip(",")) for line in text.split()])
    return np.searchsorted(begins, np.asarray(times) + 1e-6, side="right") - 1, len(begins)


@pytest.mark.parametrize("rate", [3.0, RATE / 2, RATE, 29.97, 4 * RATE])
@pytest.mark.parametrize("name", ["lossless.mkv", "variable.mkv"])
def test_a_frame_rate_selects_what_a_player_shows(folder, name, rate):
    source = VideoClips(folder / name, frames=6, stride=1, frame_rate=rate, sampling="uniform")
    (sample,) = source
    count = {"lossless.mkv": 40, "variable.mkv": 50}[name]
    begin = (np.ceil(count / RATE * rate) - 6) // 2 / rate
    rows, total = shown_at(folder / name, begin + np.arange(6) / rate)
    encoded = drawn(40, seed=2) if name == "lossless.mkv" else drawn(50, seed=5)[VARIABLE]
    assert total == len(encoded)
    assert np.array_equal(data_of(sample), encoded[rows])


VARIABLE = [n for n in range(50) if n % 3 == 0 or n > 30]


def test_the_rate_of_the_file_selects_its_frames(folder):
    for epoch in range(5):
        clips = [VideoClips(folder / "h264.mp4", 5, 3, frame_rate=rate) for rate in (None, RATE)]
        for source in clips:
            source.set_epoch(epoch)
        assert np.array_equal(*(data_of(source[0]) for source in clips))
        assert torch.equal(*(source[0].targets["seconds"] for source in clips))


@pytest.mark.parametrize("options", [{}, {"frame_rate": 80.0, "stride": 1}])
def test_no_frame_is_decoded_twice(folder, monkeypatch, options):
    decoders = pytest.importorskip("torchcodec.decoders")
    times = []

    class Counting(decoders.VideoDecoder):
        def get_frames_at(self, indices):
            return self._noted(super().get_frames_at(indices))

        def get_frames_played_at(self, seconds):
            return self._noted(super().get_frames_played_at(seconds))

        def _noted(self, found):
            times.extend(found.pts_seconds.tolist())
            return found

    monkeypatch.setattr(decoders, "VideoDecoder", Counting)
    (sample,) = VideoClips(folder / "short.mp4", 16, sampling="uniform", **{"stride": 2, **options})
    assert len(sample.data) == 16
    assert len(times) == len(set(times)) <= 5


def test_a_short_video_repeats_its_last_frame_or_is_a_bad_sample(folder):
    samplers = pytest.importorskip("torchcodec.samplers")
    (sample,) = VideoClips(folder / "short.mp4", frames=6, stride=2)
    options = {"num_frames_per_clip": 6, "num_indices_between_frames": 2, "policy": "repeat_last"}
    expected = samplers.clips_at_random_indices(decoder(folder / "short.mp4"), **options)
    assert np.array_equal(data_of(sample), expected.data[0].numpy())
    for sampling in ("random", "uniform", "all"):
        source = VideoClips(folder / "short.mp4", 6, 2, sampling=sampling, on_short="raise")
        with pytest.raises(BadSample, match=r"short.mp4\): expected at least 11 frames, but got 5"):
            source[0]
        assert len(VideoClips(folder / "short.mp4", 5, 1, sampling=sampling, on_short="raise")[0].data) == 5


def rotated(data, quarters):
    """An MP4 file with the matrix of another rotation, clockwise, in the header of its track."""
    cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarters]
    matrices = [
        struct.pack(">9i", a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30)
        for a, b, c, d in ((1, 0, 0, 1), (cos, sin, -sin, cos))
    ]
    before, header, after = data.partition(b"tkhd")
    assert matrices[0] in after
    return before + header + after.replace(*matrices, 1)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_the_rotation_of_a_file_is_applied(folder, tmp_path, quarters):
    (tmp_path / "a.mp4").write_bytes(rotated((folder / "h264.mp4").read_bytes(), quarters))
    found, upright = (VideoClips(path, 4)[0] for path in (tmp_path / "a.mp4", folder / "h264.mp4"))
    assert np.array_equal(data_of(found), np.rot90(data_of(upright), -quarters, axes=(1, 2)))


def crop_of(seed=3):
    return Compose([RandomResizedCrop(24, antialias=False), RandomHorizontalFlip()], seed=seed)


def batches_of(source, threads, epochs=2, **options):
    with Loader(source, 3, crop_of(), threads=threads, seed=1, **options) as loader:
        return [batch for _ in range(epochs) for batch in loader]


@pytest.mark.parametrize("threads", [1, 3])
def test_clips_of_a_loader_are_those_of_the_pipeline(folder, threads):
    files = [folder / name for name in ("h264.mp4", "lossless.mkv", "vp9.webm")]
    source = VideoClips(files, 4, 2, clips_per_video=2, labels=[7, 8, 9], seed=2)
    batches = batches_of(source, threads)
    assert len(batches) == 4
    firsts = []
    for number, batch in enumerate(batches):
        source.set_epoch(number // 2)
        for row, sample_id in enumerate(batch.sample_ids.tolist()):
            sample = source[sample_id]
            clip = torch.from_numpy(data_of(sample)).permute(0, 3, 1, 2)[None]
            expected = crop_of()(clip, sample_ids=[sample_id], epoch=number // 2)
            assert torch.equal(batch.images[row], expected[0])
            assert torch.equal(batch.targets["seconds"][row], sample.targets["seconds"])
            assert batch.targets["label"][row] == 7 + sample_id // 2
            firsts.append((sample_id, float(sample.targets["seconds"][0])))
    assert len(set(firsts)) > 9  # of 12


def test_a_clip_does_not_depend_on_those_before(tmp_path):
    """Where pictures are refreshed in parts, a decoder that goes on has other frames than one that begins."""
    pytest.importorskip("torchcodec", reason="`make test-video` installs it")
    refreshed = ("-x264-params", "intra-refresh=1:keyint=20:bframes=0:scenecut=0", "-pix_fmt", "yuv420p")
    drawing = ("-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25", "-frames:v", 100, "-c:v", "libx264")
    run_ffmpeg(*drawing, *refreshed, tmp_path / "a.mp4")
    source = VideoClips(tmp_path / "a.mp4", 8, 1, sampling="all")
    clips = [data_of(sample) for sample in source]
    assert all(np.array_equal(data_of(source[n]), clips[n]) for n in reversed(range(len(source))))
    continued = decoder(tmp_path / "a.mp4").get_frames_at(list(range(8 * len(clips)))).data.numpy()
    assert not np.array_equal(continued, np.concatenate(clips))


def test_an_epoch_is_resumed(folder):
    source = VideoClips([folder / name for name in NAMES], 4, 2, clips_per_video=2)
    size = [RandomResizedCrop(24)]
    with Loader(source, 3, size) as loader:
        complete = list(loader)
    with Loader(source, 3, size) as loader:
        batches = iter(loader)
        for _ in range(2):
            next(batches)
        state = loader.state_dict()
    with Loader(pickle.loads(pickle.dumps(source)), 3, size, threads=2) as loader:
        loader.load_state_dict(state)
        rest = list(loader)
    assert len(rest) == 2
    for found, expected in zip(rest, complete[2:], strict=True):
        assert torch.equal(found.sample_ids, expected.sample_ids)
        assert torch.equal(found.images, expected.images)


def test_a_part_of_a_source_has_epochs(folder):
    source = VideoClips([folder / "lossless.mkv"] * 3, 2, 1)
    with Loader(Subset(source, [2, 1]), 2, crop_of(), shuffle=False) as loader:
        firsts = {float(batch.targets["seconds"][0][0]) for _ in range(6) for batch in loader}
    assert len(firsts) > 2


@pytest.fixture(scope="module")
def bad_files(folder, tmp_path_factory):
    root = tmp_path_factory.mktemp("bad")
    whole = h264(root / "whole.mp4", drawn(60))
    run_ffmpeg("-i", whole, "-c", "copy", "-movflags", "faststart", root / "fast.mp4")
    data = bytearray((root / "fast.mp4").read_bytes())
    (root / "truncated.mp4").write_bytes(whole.read_bytes()[:-500])
    (root / "half.mp4").write_bytes(data[: len(data) // 2])
    for at in np.random.default_rng(0).integers(len(data) // 4, len(data), 400):
        data[at] ^= 0xFF
    (root / "flipped.mp4").write_bytes(data)
    (root / "text.mp4").write_text("no video")
    (root / "empty.mp4").touch()
    run_ffmpeg("-f", "lavfi", "-i", "sine=duration=1", "-c:a", "aac", root / "audio.mp4")
    (root / "folder.mp4").mkdir()
    return root


REASONS = {
    "truncated.mp4": "Could not open input file: End of file",
    "flipped.mp4": "Could not push packet to decoder: Invalid data found when processing input",
    "text.mp4": "Could not open input file: Invalid data found when processing input",
    "empty.mp4": "the file is empty",
    "audio.mp4": "the file has no video",
    "folder.mp4": "Is a directory",
    "missing.mp4": "No such file or directory",
}


@pytest.mark.parametrize("sampling", ["uniform", "all"])
@pytest.mark.parametrize("name", REASONS)
def test_a_bad_file_is_a_bad_sample(bad_files, name, sampling):
    source = VideoClips([bad_files / name], 16, 3, sampling=sampling)
    with pytest.raises(BadSample) as caught:
        source[0]
    assert caught.value.reason == REASONS[name]
    assert caught.value.path == str(bad_files / name)


def test_bad_files_are_skipped_on_request(bad_files, folder):
    files = [folder / "h264.mp4", *(bad_files / name for name in REASONS), folder / "vp9.webm"]
    with Loader(VideoClips(files, 10, 3), 4, crop_of(), shuffle=False, on_error="skip") as loader:
        with pytest.warns(UserWarning, match="flipped.mp4"):
            ids = [batch.sample_ids.tolist() for batch in loader]
        assert [number for batch in ids for number in batch] == [0, len(files) - 1]
        assert {os.path.basename(fault.path): fault.reason for fault in loader.faults} == REASONS
    with Loader(VideoClips(files, 10, 3), 4, crop_of()) as loader, pytest.raises(BadSample, match="mp4"):
        list(loader)


def test_what_is_left_of_a_file_is_read(bad_files):
    found, whole = (
        VideoClips(bad_files / name, 4, 1, sampling="all")[0] for name in ("half.mp4", "whole.mp4")
    )
    assert np.array_equal(data_of(found), data_of(whole))


def test_frames_that_are_too_large_are_refused(folder, monkeypatch):
    monkeypatch.setattr(videos, "MAX_PIXELS", HEIGHT * WIDTH)
    assert len(VideoClips(folder / "h264.mp4")[0].data) == 16
    monkeypatch.setattr(videos, "MAX_PIXELS", HEIGHT * WIDTH - 1)
    with pytest.raises(BadSample, match=f"expected at most {HEIGHT * WIDTH - 1} pixels, but got 48 x 64"):
        VideoClips(folder / "h264.mp4")[0]


def test_a_frame_that_cannot_be_found_is_not_replaced_by_another(folder, tmp_path):
    """Seeks in MPEG transport streams end too late: torchcodec returns a later frame."""
    run_ffmpeg("-i", folder / "h264.mp4", "-c", "copy", "-f", "mpegts", tmp_path / "a.ts")
    with pytest.raises(BadSample, match="its file seeks too far"):
        VideoClips(tmp_path / "a.ts", 40, 1, frame_rate=float(RATE), sampling="all")[0]


@pytest.mark.parametrize("name", ["http:clip.mp4", "clip%03d.mp4", os.fsdecode(b"caf\xe9.mp4")])
def test_a_file_may_have_any_name(folder, tmp_path, name):
    (tmp_path / name).write_bytes((folder / "h264.mp4").read_bytes())
    found, expected = (VideoClips(path)[0] for path in (tmp_path / name, folder / "h264.mp4"))
    assert np.array_equal(data_of(found), data_of(expected))


def test_labels_are_those_of_folders(folder, tmp_path):
    for name in ("jump/1.mp4", "jump/deep/2.MP4", "run/3.mp4", "run/notes.txt", "run/4.ts"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((folder / "short.mp4").read_bytes())
    source = VideoClips(tmp_path, 2, clips_per_video=2)
    assert (source.classes, source.labels) == (["jump", "run"], [0, 0, 1])
    assert [sample.targets["label"] for sample in source] == [0, 0, 0, 0, 1, 1]
    assert len(VideoClips(tmp_path, extensions=[".ts", ".mp4"])) == 4
    with pytest.raises(ValueError, match=r"VideoClips: expected videos in .*/jump, but got none"):
        VideoClips(tmp_path, extensions=[".webm"])
    with pytest.raises(ValueError, match="VideoClips: expected a folder for each class in"):
        VideoClips(tmp_path / "run")
    with pytest.raises(ValueError, match="VideoClips: expected labels for a list of files, not for folders"):
        VideoClips(tmp_path, labels=[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"frames": 0}, "expected frames as a whole number of at least 1, but got 0"),
        ({"stride": 1.5}, "expected stride as a whole number of at least 1, but got 1.5"),
        ({"frame_rate": 0}, "expected frame_rate as a number from 0.001 to 1000, but got 0"),
        ({"frame_rate": float("nan")}, "expected frame_rate as a number from 0.001 to 1000, but got nan"),
        ({"sampling": "dense"}, "expected sampling as one of random, uniform, all, but got 'dense'"),
        ({"clips_per_video": 0}, "expected clips_per_video as a whole number of at least 1, but got 0"),
        ({"on_short": "wrap"}, "expected on_short as one of repeat_last, raise, but got 'wrap'"),
        ({"seek_mode": "fast"}, "expected seek_mode as one of exact, approximate, but got 'fast'"),
        ({"seed": -1}, "expected seed as a whole number from 0 to 9223372036854775807, but got -1"),
        ({"labels": [1, 2]}, "expected 1 labels, but got 2"),
        ({"videos": []}, "expected at least 1 video, but got 0"),
        ({"device": "gpu"}, "expected device as 'cpu' or 'cuda', but got 'gpu'"),
        ({"device": "meta"}, "expected device as 'cpu' or 'cuda', but got 'meta'"),
        ({"device": 1.5}, "expected device as 'cpu' or 'cuda', but got '1.5'"),
    ],
)
def test_a_bad_argument_is_named(folder, arguments, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(f"VideoClips: {message}")):
        VideoClips(**{"videos": folder / "h264.mp4", **arguments})


def test_frames_decoded_on_a_device_are_copied_to_the_host(folder, monkeypatch):
    decoders = pytest.importorskip("torchcodec.decoders")
    if not torch.cuda.is_available():
        with pytest.raises(
            ValueError, match="VideoClips: expected a GPU for device='cuda', but torch has none"
        ):
            VideoClips(folder / "h264.mp4", device="cuda")
    devices = []

    class OnHost(decoders.VideoDecoder):
        def __init__(self, *arguments, device, **options):
            devices.append(device)
            super().__init__(*arguments, device="cpu", **options)

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(decoders, "VideoDecoder", OnHost)
    sample = VideoClips(folder / "h264.mp4", device="cuda:1")[0]
    assert devices == ["cuda:1"]
    assert type(sample.data[0]) is np.ndarray


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    told = "VideoClips: expected torchcodec to be installed: pip install torchcodec (in the extra "
    with pytest.raises(ImportError, match=re.escape(f"{told}orbbec[video])")):
        VideoClips(["a.mp4"])


def test_missing_libraries_of_ffmpeg_are_named(monkeypatch):
    torchcodec = pytest.importorskip("torchcodec", reason="`make test-video` installs it")
    monkeypatch.setattr(torchcodec, "ffmpeg_major_version", None)
    with pytest.raises(ImportError, match="VideoClips: expected FFmpeg, whose libraries"):
        VideoClips(["a.mp4"])
