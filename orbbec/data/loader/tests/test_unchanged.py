"""Images of 16 bits, floats and many channels: as their writers wrote them, augmented as by Compose."""

import io
import zipfile

import cv2
import numpy as np
import pytest
import torch

from orbbec.data import BadSample, Decoding, Loader, Sample
from orbbec.data.cache import Cache
from orbbec.data.decode.unchanged import decode_unchanged
from orbbec.data.readers.arrays import Arrays, Hdf5, NpyFile
from orbbec.data.readers.folders import ImageFolder
from orbbec.transforms import (
    CenterCrop,
    ColorJitter,
    Compose,
    MultiView,
    RandomCrop,
    RandomHorizontalFlip,
    Resize,
    ToDtype,
)

UNCHANGED = Decoding(mode="UNCHANGED")
COMPOSE = Compose([RandomCrop(20), RandomHorizontalFlip(), Resize(14), ToDtype(torch.float32, scale=True)])
SIZES = [(30, 40), (25, 33), (41, 22), (30, 30)]


def pixels_of(size, channels, dtype, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.random((*size, channels)) if np.dtype(dtype).kind == "f" else None
    return (
        rng.integers(0, np.iinfo(dtype).max, (*size, channels), dtype)
        if values is None
        else values.astype(dtype)
    )


def npy(pixels, order="C"):
    file = io.BytesIO()
    np.save(file, np.asarray(pixels, order=order))
    return file.getvalue()


def npz(save=np.savez, **arrays):
    file = io.BytesIO()
    save(file, **arrays)
    return file.getvalue()


def png(pixels):
    return cv2.imencode(".png", pixels[..., [2, 1, 0, 3][: pixels.shape[2]]])[1].tobytes()


def tiff(pixels, **options):
    tifffile = pytest.importorskip("tifffile")
    file = io.BytesIO()
    tifffile.imwrite(file, pixels, **options)
    return file.getvalue()


WRITERS = {
    "gray png": (1, np.uint16, lambda p: cv2.imencode(".png", p[..., 0])[1].tobytes()),
    "color png": (3, np.uint16, png),
    "png with alpha": (4, np.uint16, png),
    "png of 8 bits": (3, np.uint8, png),
    "gray tiff": (1, np.uint16, lambda p: tiff(p[..., 0])),
    "color tiff": (3, np.uint16, lambda p: tiff(p, photometric="rgb")),
    "tiff of 13 bands": (13, np.uint16, lambda p: tiff(p, photometric="minisblack", planarconfig="contig")),
    "tiff of planes": (
        5,
        np.uint8,
        lambda p: tiff(np.moveaxis(p, 2, 0), planarconfig="separate", photometric="minisblack"),
    ),
    "float tiff": (1, np.float32, lambda p: tiff(p[..., 0])),
    "npy": (16, np.uint16, npy),
    "npy in Fortran order": (6, np.uint8, lambda p: npy(p, "F")),
    "big-endian npy": (2, np.uint16, lambda p: npy(p.astype(">u2"))),
    "npy of floats": (7, np.float32, npy),
    "npz": (9, np.uint16, lambda p: npz(image=p)),
    "compressed npz": (9, np.uint16, lambda p: npz(np.savez_compressed, image=p)),
    "array": (12, np.uint16, lambda p: p),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_loader_gives_what_compose_makes_of_the_arrays(name):
    channels, dtype, write = WRITERS[name]
    pixels = [pixels_of(size, channels, dtype, n) for n, size in enumerate(SIZES)]
    source = [Sample(write(each), {"label": n}, n) for n, each in enumerate(pixels)]
    if isinstance(source[0].data, bytes):
        np.testing.assert_array_equal(decode_unchanged(source[0].data, 10**6), pixels[0])
    tensors = [torch.from_numpy(each).permute(2, 0, 1) for each in pixels]
    expected = COMPOSE(tensors, sample_ids=range(4), epoch=0)
    with Loader(source, 4, COMPOSE, shuffle=False, decoding=UNCHANGED) as loader:
        (batch,) = loader
    assert batch.images.dtype == torch.float32
    assert batch.images.shape == (4, channels, 14, 14)
    assert torch.equal(batch.images, expected)
    assert batch.targets["label"].tolist() == [0, 1, 2, 3]


def test_readers_of_arrays_give_their_rows(tmp_path):
    images = np.stack([pixels_of((30, 40), 8, np.uint16, n) for n in range(3)])
    np.save(tmp_path / "images.npy", images)
    sources = [Arrays(images), NpyFile(tmp_path / "images.npy")]
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "train.h5", "w") as file:
        file["images"] = images
    sources.append(Hdf5(tmp_path / "train.h5"))
    for source in sources:
        with Loader(source, 3, decoding=UNCHANGED, shuffle=False) as loader:
            (batch,) = loader
        np.testing.assert_array_equal(torch.stack(batch.images).permute(0, 2, 3, 1).numpy(), images)


def test_a_folder_of_arrays(tmp_path):
    for n, name in enumerate(("cat", "dog")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.npy").write_bytes(npy(pixels_of((30, 40), 10, np.uint16, n)))
    with Loader(ImageFolder(tmp_path, [".npy"]), 2, COMPOSE, decoding=UNCHANGED, shuffle=False) as loader:
        (batch,) = loader
    assert batch.images.shape == (2, 10, 14, 14)
    assert batch.targets["label"].tolist() == [0, 1]


def test_targets_and_views_follow():
    pixels = pixels_of((30, 40), 5, np.uint16)
    sample = Sample(pixels, {"depth": pixels[..., 0].astype(np.float32)})
    views = MultiView([[RandomHorizontalFlip(1.0)], [CenterCrop(8)]])
    with Loader([sample], 1, views, decoding=UNCHANGED) as loader:
        (batch,) = loader
    np.testing.assert_array_equal(batch.images[0][0].permute(1, 2, 0).numpy(), pixels[:, ::-1])
    np.testing.assert_array_equal(batch.images[1][0].permute(1, 2, 0).numpy(), pixels[11:19, 16:24])
    np.testing.assert_array_equal(batch.targets[0]["depth"][0], pixels[:, ::-1, 0])


BOMB = io.BytesIO()
with zipfile.ZipFile(BOMB, "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("a.npy", bytes(10**6))
HOSTILE = npy(np.zeros((2, 3), np.uint16)).replace(b"(2, 3), ", b"(99, 3),")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            npy(np.zeros((4, 5), np.int64)),
            r"expected pixels uint8, uint16, float16, float32 .* but got int64",
        ),
        (npy(np.zeros((2, 4, 5, 3), np.uint8)), r"but got uint8 \[2, 4, 5, 3\]"),
        (npy(np.zeros((200, 200), np.uint8)), "at most 9000 pixels"),
        (HOSTILE, r"expected uint16 \[99, 3\] as the .npy file says"),
        (npy(np.array([None])), "as the .npy file says|damaged"),
        (b"\x93NUMPY\x01\x00", "the .npy file is damaged"),
        (npz(a=np.zeros(3), b=np.zeros(3)), "expected one array"),
        (BOMB.getvalue(), "expected one array of at most"),
        (b"PK\x03\x04 and no more", "the .npz file is damaged"),
        (png(pixels_of((9, 9), 3, np.uint16))[:80], "OpenCV cannot decode it|truncated"),
        (b"no image at all", "not an image that Pillow knows"),
    ],
)
def test_what_cannot_be_decoded_is_a_bad_sample_that_names_the_file(data, message):
    good = Sample(np.zeros((8, 8), np.uint16), sample_id=0)
    source = [good, Sample(data, sample_id=1, path="b.npy")]
    limited = Decoding(mode="UNCHANGED", max_pixels=9000)
    with pytest.raises(BadSample, match=rf"sample 1 \(b\.npy\): .*({message})"):
        next(iter(Loader(source, 2, shuffle=False, decoding=limited)))
    with (
        pytest.warns(UserWarning, match=r"b\.npy"),
        Loader(source, 2, decoding=limited, on_error="skip") as loader,
    ):
        (batch,) = loader
    assert batch.sample_ids.tolist() == [0]


def test_all_bad_samples_leave_an_empty_batch():
    source = [Sample(b"no image", sample_id=0, path="a.png")]
    with (
        pytest.warns(UserWarning, match=r"a\.png"),
        Loader(source, 1, COMPOSE, decoding=UNCHANGED, on_error="skip") as loader,
    ):
        assert sum(len(batch.sample_ids) for batch in loader) == 0


@pytest.mark.parametrize("other", [np.zeros((8, 8, 4), np.uint16), np.zeros((8, 8, 5), np.uint8)])
def test_an_image_of_another_kind_than_the_first_is_bad(other):
    source = [Sample(np.zeros((8, 8, 5), np.uint16), sample_id=7), Sample(other, sample_id=8, path="odd.npy")]
    with pytest.raises(
        BadSample, match=r"\(odd\.npy\): expected pixels uint16 \[H, W, 5\], as sample 7 of its"
    ):
        next(iter(Loader(source, 2, COMPOSE, shuffle=False, decoding=UNCHANGED)))


def test_what_the_transforms_refuse_names_the_sample():
    source = [Sample(np.zeros((8, 8, 5), np.uint16), path="a.npy")]
    with pytest.raises(BadSample, match=r"a\.npy.*ColorJitter"):
        next(iter(Loader(source, 1, [ColorJitter(0.4)], decoding=UNCHANGED)))


def test_unchanged_images_fit_no_other_decoder():
    with pytest.raises(ValueError, match="Decoding: expected mode"):
        Decoding(mode="UNCHANGED", planes=True)
    source = [Sample(np.zeros((8, 8, 5), np.uint16))]
    with pytest.raises(ValueError, match=r"a decoded cache expects decoding without .* UNCHANGED"):
        Loader(source, 1, decoding=UNCHANGED, cache=Cache(10**6, decoded=True))
    clip = Sample((np.zeros((8, 8, 3), np.uint16),) * 2)
    with pytest.raises(ValueError, match=r"expected Decoding\(mode='RGB'\) for clips"):
        next(iter(Loader([clip], 1, decoding=UNCHANGED)))


def test_a_tiff_of_more_bytes_per_pixel_than_any_image_has_is_refused():
    layout = {"photometric": "minisblack", "planarconfig": "contig"}
    pixels = np.ones((2, 3, 16), np.float32)
    assert np.array_equal(decode_unchanged(tiff(pixels, **layout), 6), pixels)
    with pytest.raises(ValueError, match="decode_image: expected at most 64 bytes per pixel"):
        decode_unchanged(tiff(np.ones((2, 3, 17), np.float32), **layout), 6)


def test_an_npz_of_more_bytes_per_pixel_than_any_image_has_is_refused():
    header = 128  # bytes
    most = np.ones((1, 1, 64 * 4 - header), np.uint8)
    assert np.array_equal(decode_unchanged(npz(image=most), 4), most)
    with pytest.raises(ValueError, match=r"one array of at most 256 bytes, but got \{'image.npy': 257\}"):
        decode_unchanged(npz(image=np.ones((1, 1, 64 * 4 - header + 1), np.uint8)), 4)
