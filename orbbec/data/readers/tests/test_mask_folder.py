"""Images and masks of classes in two folders."""

import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image

from orbbec.data import BadSample, Decoding, Loader, MaskFolder, open_source
from orbbec.data.loader.tests.test_by_feed import assert_same, epoch_of
from orbbec.data.readers.annotations import mask_folder
from orbbec.transforms import Compose, RandomHorizontalFlip, Resize, TargetOptions

CLASSES = np.random.default_rng(0).integers(0, 3, (6, 9)).astype(np.uint8)


def write(root, *names, mask=CLASSES):
    for name in names:
        for folder in ("images", "masks"):
            (root / folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", CLASSES.shape[::-1], (int(name[-1]), 0, 0)).save(root / "images" / f"{name}.png")
        cv2.imwrite(str(root / "masks" / f"{name}.png"), mask)
    return root


def test_masks_come_with_the_image_of_their_name(tmp_path):
    source = MaskFolder(write(tmp_path, "a1", "b/2", "b/1"))
    assert [path[-7:] for path in source.paths] == ["/a1.png", "b/1.png", "b/2.png"]
    assert [mask[-7:] for mask in source.masks] == ["/a1.png", "b/1.png", "b/2.png"]
    for index in range(3):
        assert source[index].sample_id == index
        assert np.array_equal(source[index].targets["mask"], CLASSES)
    assert source[0].targets["mask"].dtype == np.uint8
    assert isinstance(open_source(tmp_path), MaskFolder)


def with_palette(file, bits):
    image = Image.fromarray(CLASSES, "P")
    image.putpalette([value for color in ((9, 8, 7), (200, 0, 0), (0, 0, 0)) for value in color])
    image.save(file, bits=bits)


WRITERS = {
    "palette.png": lambda file: with_palette(file, 8),
    "palette of 2 bits.png": lambda file: with_palette(file, 2),
    "gray.png": lambda file: cv2.imwrite(str(file), CLASSES),
    "gray.tif": lambda file: cv2.imwrite(str(file), CLASSES),
    "gray.bmp": lambda file: cv2.imwrite(str(file), CLASSES),
    "16 bits.png": lambda file: cv2.imwrite(str(file), CLASSES.astype(np.uint16) * 1000),
    "bilevel.png": lambda file: Image.fromarray(CLASSES > 0).save(file),
}


@pytest.mark.parametrize("name", WRITERS)
def test_classes_are_the_numbers_in_the_file(tmp_path, name):
    write(tmp_path, "1")
    (tmp_path / "masks/1.png").unlink()
    WRITERS[name](tmp_path / f"masks/1.{name[-3:]}")
    mask = MaskFolder(tmp_path)[0].targets["mask"]
    factor = 1000 if name == "16 bits.png" else 1
    assert np.array_equal(mask, (CLASSES > 0) if name == "bilevel.png" else CLASSES.astype(int) * factor)
    assert mask.dtype == (np.int32 if name == "16 bits.png" else np.uint8)


def test_gray_of_two_bits_is_not_stretched(tmp_path):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    write(tmp_path, "1")
    rows = b"\0\x1b" * 2  # filter 0, and the values 0, 1, 2, 3
    header = struct.pack(">IIBBBBB", 4, 2, 2, 0, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    (tmp_path / "masks/1.png").write_bytes(data)
    assert MaskFolder(tmp_path)[0].targets["mask"].tolist() == [[0, 1, 2, 3]] * 2


def test_classes_beyond_the_names_are_bad_samples_unless_ignored(tmp_path):
    mask = CLASSES.copy()
    mask[2, 3] = 255
    write(tmp_path, "1", mask=mask)
    assert MaskFolder(tmp_path)[0].targets["mask"][2, 3] == 255
    assert MaskFolder(tmp_path, classes="abc", ignore_index=255)[0].targets["mask"][2, 3] == 255
    with pytest.raises(
        BadSample, match=r"masks/1.png\): expected classes from 0 to 2, but pixel \[2, 3\] has 255"
    ):
        MaskFolder(tmp_path, classes="abc")[0]
    with pytest.raises(BadSample, match=r"expected classes from 0 to 2 or 254, but pixel \[2, 3\] has 255"):
        MaskFolder(tmp_path, classes="abc", ignore_index=254)[0]


def test_an_image_or_mask_without_the_other_is_refused(tmp_path):
    write(tmp_path, "1", "2")
    (tmp_path / "masks/2.png").unlink()
    with pytest.raises(
        ValueError, match=r"MaskFolder: expected a mask for .*images/2.png, but there is none"
    ):
        MaskFolder(tmp_path)
    (tmp_path / "images/2.png").unlink()
    cv2.imwrite(str(tmp_path / "masks/3.png"), CLASSES)
    with pytest.raises(
        ValueError, match=r"MaskFolder: expected an image for .*masks/3.png, but there is none"
    ):
        MaskFolder(tmp_path)
    (tmp_path / "masks/3.png").unlink()
    cv2.imwrite(str(tmp_path / "masks/1.bmp"), CLASSES)
    with pytest.raises(ValueError, match=r"one file of each name, but got .*1.bmp and .*1.png"):
        MaskFolder(tmp_path)


def test_names_may_end_in_another_way(tmp_path):
    (tmp_path / "left/ulm").mkdir(parents=True)
    (tmp_path / "fine/ulm").mkdir(parents=True)
    Image.new("RGB", (9, 6)).save(tmp_path / "left/ulm/1_left.png")
    for ending in ("ids", "color"):
        cv2.imwrite(str(tmp_path / f"fine/ulm/1_{ending}.png"), CLASSES)
    source = MaskFolder(tmp_path, images="left", masks="fine", image_ending="_left", mask_ending="_ids")
    assert source.masks == [str(tmp_path / "fine/ulm/1_ids.png")]


@pytest.mark.parametrize("feed", ["0", "1"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (np.zeros((9, 6), np.uint8), r"expected mask of size \[6, 9\], as the image, but got \[9, 6\]"),
        (np.zeros((6, 9, 3), np.uint8), "expected a mask with a palette or of gray, but got mode RGB"),
        (b"", "the file is empty"),
        (b"no image", "cannot identify image file"),
    ],
)
def test_masks_that_do_not_fit_are_bad_samples(tmp_path, monkeypatch, feed, content, reason):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    source = MaskFolder(write(tmp_path, "1", "2"))
    file = tmp_path / "masks/1.png"
    file.write_bytes(content) if isinstance(content, bytes) else cv2.imwrite(str(file), content)
    with Loader(source, 2, shuffle=False) as loader, pytest.raises(BadSample, match=reason):
        next(iter(loader))
    with (
        Loader(source, 2, shuffle=False, on_error="skip") as loader,
        pytest.warns(UserWarning, match="1 bad sample"),
    ):
        [batch] = loader
    assert batch.sample_ids.tolist() == [1]
    assert np.array_equal(batch.targets["mask"][0], CLASSES)


def test_pixels_outside_the_image_may_be_ignored_too(tmp_path):
    source = MaskFolder(write(tmp_path, "1"), ignore_index=255)
    options = TargetOptions(mask_fill=source.ignore_index)
    pipeline = Compose([Resize((6, 9)), RandomHorizontalFlip(1.0)], target_options=options)
    with Loader(source, 1, pipeline) as loader:
        [batch] = loader
    assert np.array_equal(batch.targets["mask"][0], CLASSES[:, ::-1])


def test_the_feed_makes_the_batches_of_the_python_functions(tmp_path, monkeypatch):
    source = MaskFolder(write(tmp_path, *map(str, range(10, 20))))
    results = []
    for feed in ("1", "0"):
        monkeypatch.setenv("ORBBEC_FEED", feed)
        results.append(epoch_of(source, [RandomHorizontalFlip()], Decoding(), "raise", False))
    assert_same(*results)
    assert len(results[0][0]) == 2


def test_classes_are_below_65536(tmp_path):
    most = np.full(CLASSES.shape, 65535, np.uint16)
    assert MaskFolder(write(tmp_path, "a1", mask=most), ignore_index=65535)[0].targets["mask"].max() == 65535
    with pytest.raises(ValueError, match="ignore_index as a whole number from 0 to 65535, but got 65536"):
        MaskFolder(tmp_path, ignore_index=65536)
    (tmp_path / "masks/a1.png").unlink()
    Image.fromarray(most.astype(np.int32) + 1).save(tmp_path / "masks/a1.tif")
    with pytest.raises(BadSample, match="expected classes below 65536, but got 65536"):
        MaskFolder(tmp_path)[0]


def test_a_mask_has_at_most_2_to_the_28_pixels():
    mask_folder._check_size(1 << 14, 1 << 14)
    with pytest.raises(ValueError, match="expected a mask of at most 268435456 pixels, but got 16384x16385"):
        mask_folder._check_size(1 << 14, (1 << 14) + 1)
