"""JPEGs as planes: after conversion they have the bytes of whole images, with half the bytes to copy."""

import io
import random

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from orbbec import ImageBatch, YCbCrBatch, ycbcr_to_rgb
from orbbec.data import BadSample, Decoding, Loader, Sample, decode_image, decode_planes
from orbbec.data.decode import decode, native
from orbbec.data.decode.native import decode_planes_into, has_native, sampling_of
from orbbec.data.device.staging import map_tensors
from orbbec.data.loader.memory import lone_job
from orbbec.transforms import Normalize, RandomHorizontalFlip, RandomResizedCrop, ToDtype
from tests.support.damage.damage import flipped
from tests.support.damage.examine import NoDecoder
from tests.support.peers.jpegs import FACTORS, encoded

pytestmark = pytest.mark.skipif(not has_native(), reason="libjpeg-turbo is not built in")

PIPELINE = (RandomResizedCrop(24), RandomHorizontalFlip(), ToDtype(torch.float32, scale=True), Normalize())
PLANES, WHOLE = Decoding(planes=True), Decoding(roi=False)


def picture(height=40, width=51, seed=0):
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    return cv2.GaussianBlur(noise, (0, 0), 2.0)


def saved(image, format="JPEG", orientation=1, **options):
    buffer, exif = io.BytesIO(), Image.Exif()
    if orientation != 1:
        exif[0x0112] = orientation
    image.save(buffer, format, exif=exif, **options)
    return buffer.getvalue()


def mixed_files():
    """A file of every kind, and how it is stored."""
    image = Image.fromarray(picture())
    files = {sampling: (encoded(picture(33, 50), 90, sampling), sampling) for sampling in FACTORS}
    files |= {f"rotated {way}": (saved(image, orientation=way), "420") for way in range(2, 9)}
    files |= {
        "gray": (saved(image.convert("L")), "gray"),
        "gray, rotated": (saved(image.convert("L"), orientation=6), "gray"),
        "progressive": (saved(image, progressive=True, subsampling=1), "422"),
        "narrow": (encoded(picture(20, 3), 90, "420"), "420"),
        "CMYK": (saved(image.convert("CMYK"), orientation=6), "rgb"),
        "RGB inside": (saved(image, keep_rgb=True, orientation=8), "rgb"),
        "PNG": (saved(image, "PNG"), "rgb"),
        "4:1:1": (
            cv2.imencode(".jpg", picture(), [cv2.IMWRITE_JPEG_SAMPLING_FACTOR, 0x411111])[1].tobytes(),
            "rgb",
        ),
    }
    return files


class Files:
    def __init__(self, files):
        self.files = files

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        return Sample(self.files[index], {"label": index}, index)


def all_files():
    return Files([data for data, _ in mixed_files().values()])


def by_id(loader):
    found = {}
    for images, targets, ids in loader:
        assert targets["label"].tolist() == ids.tolist()
        found.update(zip(ids.tolist(), images, strict=True))
    return found


def assert_same_epochs(one, other):
    for _ in range(2):
        expected, actual = by_id(one), by_id(other)
        assert expected.keys() == actual.keys() != set()
        assert all(torch.equal(actual[n], expected[n]) for n in expected)


def test_planes_become_the_bytes_of_whole_images(device):
    files = mixed_files()
    batch = decode_planes([data for data, _ in files.values()])
    assert dict(zip(files, batch.samplings, strict=True)) == {name: kind for name, (_, kind) in files.items()}
    images = ycbcr_to_rgb(batch.to("cuda") if device.name == "cuda" else batch)
    for name, (data, _), image in zip(files, files.values(), images.numpy(), strict=True):
        assert np.array_equal(image, decode_image(data)), name


def test_without_libjpeg_turbo_all_is_rgb(monkeypatch):
    monkeypatch.setattr(native, "_library", lambda: None)
    monkeypatch.setattr(decode, "_jpeg_decoders", lambda: (decode._by_cv2,))
    files = [data for data, _ in mixed_files().values()]
    batch = decode_planes(files)
    assert set(batch.samplings) == {"rgb"}
    for data, image in zip(files, ycbcr_to_rgb(batch).numpy(), strict=True):
        assert np.array_equal(image, decode_image(data))


def test_what_pillow_alone_reads_is_rgb():
    """For files with a wrong bit, libjpeg-turbo's warnings are errors, and Pillow decides."""
    good, chance = encoded(picture(), 90, "420"), random.Random(1)
    found = 0
    while found < 3:
        bad = flipped(good, chance)
        try:
            expected = decode_image(bad)
        except ValueError:
            continue
        batch = decode_planes([good, bad])
        found += batch.samplings == ["420", "rgb"]
        images = ycbcr_to_rgb(batch).numpy()
        assert np.array_equal(images[0], decode_image(good))
        assert np.array_equal(images[1], expected)


@pytest.mark.parametrize("sampling", [*FACTORS, "gray"])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (16, 8), (17, 33), (70, 41)])
def test_both_decoders_give_the_same_planes(monkeypatch, sampling, size):
    image = Image.fromarray(picture(*size))
    data = saved(image.convert("L")) if sampling == "gray" else encoded(picture(*size), 90, sampling)
    height, width = size
    y_factor, x_factor = 1 + (sampling in ("420", "440")), 1 + (sampling in ("420", "422"))
    chroma = 0 if sampling == "gray" else -(-height // y_factor) * -(-width // x_factor)
    of_each = []
    for name, absent in (("_library", lambda: None), ("_decoder", NoDecoder)):
        with monkeypatch.context() as patch:
            patch.setattr(native, name, absent)
            of_each.append(np.full(height * width + 2 * chroma + 1, 77, np.uint8))
            decode_planes_into(data, height, width, sampling, of_each[-1])
    assert np.array_equal(*of_each)
    assert of_each[0][-1] == 77
    assert np.array_equal(of_each[0][: height * width].reshape(size), decode_image(data, mode="L")[..., 0])


def test_files_that_cannot_be_decoded_are_named():
    """The end marker is present, but half of the file before it is missing."""
    good, cut = encoded(picture(), 90, "420"), encoded(picture(seed=1), 90, "420")
    cut = cut[: len(cut) // 2] + b"\xff\xd9"
    with pytest.raises(ValueError, match="decode_image"):
        decode_planes([good, cut])
    with pytest.raises(ValueError, match="decode_image: not an image"):
        decode_planes([good, b"no image"])
    with pytest.raises(ValueError, match=r"at most 100 pixels \(max_pixels\)"):
        decode_planes([good], max_pixels=100)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("transforms", [PIPELINE, None], ids=["augmented", "as they are"])
def test_a_loader_gives_the_same_bytes(threads, transforms):
    one = Loader(all_files(), 5, transforms, seed=3, decoding=WHOLE)
    other = Loader(all_files(), 5, transforms, seed=3, threads=threads, decoding=PLANES)
    assert_same_epochs(one, other)
    assert isinstance(next(iter(other)).images, ImageBatch if transforms is None else torch.Tensor)
    other.close()


def test_a_stream_and_arrays_give_the_same_bytes():
    samples = [all_files()[n] for n in range(6)]
    samples += [Sample(picture(9, 8), {"label": 6}, 6), Sample(picture(9, 8)[..., :1], {"label": 7}, 7)]
    one = by_id(Loader(iter(samples), 3, PIPELINE, seed=3, decoding=WHOLE))
    other = by_id(Loader(iter(samples), 3, PIPELINE, seed=3, decoding=PLANES))
    assert one.keys() == other.keys() == set(range(8))
    assert all(torch.equal(one[n], other[n]) for n in one)


def test_half_the_bytes_are_staged():
    """A thread passes 1.5 bytes per pixel of 4:2:0 to be copied, instead of 3."""
    files = Files([encoded(picture(375, 500, seed), 75, "420") for seed in range(4)])
    staged = {}
    for decoding in (WHOLE, PLANES):
        loader = Loader(files, 4, None, decoding=decoding)
        images = loader._assembler(range(4), 0, lone_job()).images
        seen = []
        map_tensors((images,), lambda batch, seen=seen: seen.append(batch.nbytes))  # as copied by staging
        (staged[decoding],) = seen
        assert isinstance(images, YCbCrBatch if decoding.planes else ImageBatch)
    tables = {WHOLE: 4 * 24, PLANES: 4 * 64}
    assert staged[WHOLE] - tables[WHOLE] in range(4 * 3 * 375 * 500, 4 * 3 * 375 * 500 + 5 * 64)
    chroma = 2 * 188 * 250
    assert staged[PLANES] - tables[PLANES] in range(
        4 * (375 * 500 + chroma), 4 * (375 * 500 + chroma) + 4 * 64
    )


def test_planned_batches_are_in_colors():
    loader = Loader(all_files(), 5, PIPELINE, seed=3, decoding=PLANES)
    whole = Loader(all_files(), 5, PIPELINE, seed=3, decoding=WHOLE)
    for one, other in zip(loader.planned(), whole.planned(), strict=True):
        assert isinstance(one.images, ImageBatch)
        assert all(map(np.array_equal, one.images.numpy(), other.images.numpy()))


def damaged_files():
    files = [encoded(picture(40 + n, 50, n), 90, "420") for n in range(8)]
    files[1] = files[1][:-300]  # cut off
    files[2] = files[2][: len(files[2]) // 2] + b"\xff\xd9"  # truncated, with an end marker
    files[6] = b"no image"
    return Files(files)


def test_bad_samples_are_raised_skipped_and_replaced():
    with pytest.raises(BadSample, match=r"sample 1 \(its image\)"):
        list(Loader(damaged_files(), 4, PIPELINE, shuffle=False, decoding=PLANES))
    for policy in ("skip", "substitute"):
        loaders = [
            Loader(damaged_files(), 3, PIPELINE, shuffle=False, on_error=policy, decoding=decoding)
            for decoding in (WHOLE, PLANES)
        ]
        with pytest.warns(UserWarning, match="3 bad samples"):
            one, other = [[(b.sample_ids.tolist(), b.images) for b in loader] for loader in loaders]
        for (ids, images), (expected_ids, expected) in zip(other, one, strict=True):
            assert ids == expected_ids
            assert torch.equal(images, expected)
        assert [sorted(fault.sample_id for fault in loader.faults) for loader in loaders] == [[1, 2, 6]] * 2


def test_the_decoder_itself_refuses():
    data = encoded(picture(), 90, "420")
    assert sampling_of(data) == "420"
    assert sampling_of(data[:100]) == sampling_of(b"") == "rgb"
    out = np.zeros(3 * 40 * 51, np.uint8)
    for size, sampling in (((41, 51), "420"), ((40, 52), "420"), ((40, 51), "444"), ((40, 51), "rgb")):
        with pytest.raises(ValueError, match="subsampling 5 of 40x51 pixels, where"):
            decode_planes_into(data, *size, sampling, out)
    assert not out.any()
    with pytest.raises(ValueError, match="Premature end"):
        decode_planes_into(data[:-300], 40, 51, "420", out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "L"}, "Decoding: expected mode as one of RGB, but got 'L'"),
        ({"device": "nvimgcodec"}, 'expected planes or device="nvimgcodec", but got both'),
    ],
)
def test_a_decoding_to_planes_names_the_bad_argument(options, message):
    with pytest.raises(ValueError, match=message):
        Decoding(planes=True, **options)
