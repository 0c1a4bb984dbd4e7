"""Several images per sample: joined sources, folders of cameras, depth maps."""

import cv2
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import ConcatDataset

from orbbec.data import BadSample, CameraFolders, DepthFolder, Loader, Sample, SeveralImages, Shards, pack
from orbbec.transforms import Compose, RandomCrop, RandomHorizontalFlip

SIZE = (6, 9)
DEPTH = np.random.default_rng(0).integers(0, 65536, SIZE).astype(np.uint16)


def write(file, pixels=None):
    file.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((*SIZE, 3), int(file.stem[0]), np.uint8) if pixels is None else pixels
    np.save(file, pixels) if file.suffix == ".npy" else cv2.imwrite(str(file), pixels)


def stereo(root):
    for name in ("a/1.png", "2.png", "b/3.png"):
        write(root / "image_2" / name)
        write(root / "image_3" / name, np.full((4, 5, 3), 100 + int(name[-5]), np.uint8))
    return root


def test_cameras_are_paired_by_name(tmp_path):
    source = CameraFolders(stereo(tmp_path), {"left": "image_2", "right": "image_3"})
    assert [path[-6:] for path in source.paths["right"]] == ["/2.png", "/1.png", "/3.png"]
    with Loader(source, 3, shuffle=False) as loader:
        ((images, targets, ids),) = loader
    assert [int(image[0, 0, 0]) for image in images["left"]] == [2, 1, 3]
    assert [int(image[0, 0, 0]) for image in images["right"]] == [102, 101, 103]
    assert (targets, ids.tolist()) == ({}, [0, 1, 2])
    assert source[-1].sample_id == 2
    with pytest.raises(IndexError):
        source[3]


def test_endings_and_depth_maps_of_cameras(tmp_path):
    for n in range(2):
        for side in "LR":
            write(tmp_path / "images" / f"{n}_{side}.png")
            write(tmp_path / "disparity" / side / f"{n}_d.png", DEPTH)
    source = CameraFolders(
        tmp_path,
        {"left": "images", "right": "images"},
        depth={"left": "disparity/L", "right": "disparity/R"},
        unit=1 / 256,
        endings={"left": "_L", "right": "_R"},
        depth_ending="_d",
    )
    assert len(source) == 2
    for name, ending in (("left", "_L.png"), ("right", "_R.png")):
        image = source[1].data[name]
        assert image.path.endswith(f"1{ending}")
        assert np.array_equal(image.targets["depth"], DEPTH.astype(np.float32) / 256)
    with Loader(source, 2, [RandomCrop(4)], shuffle=False) as loader:
        ((_, targets, _),) = loader
    assert targets["depth"].shape == targets["right"]["depth"].shape == (2, 4, 4)


def test_cameras_in_shards_give_the_same_batches(tmp_path):
    write(tmp_path / "depth" / "2.png", np.arange(20, dtype=np.uint16).reshape(4, 5))
    for name in ("a/1.png", "b/3.png"):
        write(tmp_path / "depth" / name, np.ones((4, 5), np.uint16))
    source = CameraFolders(
        stereo(tmp_path), {"left": "image_2", "right": "image_3"}, depth={"right": "depth"}
    )
    assert pack(source, tmp_path / "shards").samples == 3
    loaders = [Loader(each, 2, [RandomCrop(3)], seed=5) for each in (source, Shards(tmp_path / "shards"))]
    batches = [list(loader) for loader in loaders]
    assert len(batches[0]) == 2
    for expected, found in zip(*batches, strict=True):
        for name in ("left", "right"):
            assert torch.equal(found[0][name], expected[0][name])
        assert torch.equal(found[1]["right"]["depth"], expected[1]["right"]["depth"])
        assert torch.equal(found[2], expected[2])


def test_files_without_a_counterpart_are_named(tmp_path):
    stereo(tmp_path)
    cameras = {"left": "image_2", "right": "image_3"}
    write(tmp_path / "image_2" / "4.png")
    with pytest.raises(ValueError, match=r"CameraFolders: expected an image of right for .*image_2/4\.png"):
        CameraFolders(tmp_path, cameras)
    (tmp_path / "image_2" / "4.png").unlink()
    write(tmp_path / "image_3" / "5.jpg")
    with pytest.raises(
        ValueError, match=r"expected an image of left for .*image_3/5\.jpg, but there is none"
    ):
        CameraFolders(tmp_path, cameras)
    (tmp_path / "image_3" / "5.jpg").unlink()
    write(tmp_path / "depth" / "2.png", DEPTH)
    with pytest.raises(ValueError, match=r"expected a depth map of left for .*image_2/a/1\.png"):
        CameraFolders(tmp_path, cameras, depth={"left": "depth"})


def test_wrong_arguments_of_folders_are_named(tmp_path):
    stereo(tmp_path)
    (tmp_path / "empty").mkdir()
    cameras = {"left": "image_2"}
    for options, text in (
        ({"cameras": {}}, "expected a dict of at least 1 folder"),
        ({"cameras": ["image_2"]}, "expected a dict of at least 1 folder"),
        ({"cameras": {"left": "empty"}}, "expected images in .*empty, but got none"),
        ({"cameras": cameras, "depth": {"up": "d"}}, "expected depth of left, but got up"),
        ({"cameras": cameras, "endings": {"up": "_U"}}, "expected endings of left, but got up"),
        ({"cameras": cameras, "unit": 0}, "expected unit as a number of at least 1e-09, but got 0"),
    ):
        with pytest.raises(ValueError, match=f"CameraFolders: {text}"):
            CameraFolders(tmp_path, **options)
    with pytest.raises(FileNotFoundError):
        CameraFolders(tmp_path, {"left": "nowhere"})
    with pytest.raises(ValueError, match=r"DepthFolder: expected unit as a number .* but got nan"):
        DepthFolder(tmp_path, unit=float("nan"))


def rgbd(root, ending, pixels=DEPTH):
    for n in range(2):
        write(root / "rgb" / f"{n}.png")
        write(root / "depth" / f"{n}{ending}", pixels)
    return root


@pytest.mark.parametrize("ending", [".png", ".tiff", ".npy"])
def test_depth_is_what_the_file_stores(tmp_path, ending):
    source = DepthFolder(rgbd(tmp_path, ending), unit=0.001)
    depth = source[1].targets["depth"]
    assert (depth.dtype, depth.shape) == (np.float32, SIZE)
    assert np.array_equal(depth, DEPTH.astype(np.float32) * np.float32(0.001))
    pipeline = Compose([RandomCrop(5), RandomHorizontalFlip()], seed=1)
    with Loader(source, 2, pipeline, shuffle=False) as loader:
        ((images, targets, _),) = loader
    assert images.shape == (2, 3, 5, 5)
    for n in range(2):
        _, expected = pipeline(np.zeros((*SIZE, 3), np.uint8), {"depth": depth}, sample_ids=[n], epoch=0)
        assert np.array_equal(targets["depth"][n], expected["depth"])


def test_depth_of_floats_keeps_values_that_are_not_finite(tmp_path):
    pixels = np.float32([[np.nan, np.inf, 0.5]])
    write(tmp_path / "rgb" / "1.png", np.zeros((1, 3, 3), np.uint8))
    write(tmp_path / "depth" / "1.npy", pixels)
    assert np.array_equal(DepthFolder(tmp_path)[0].targets["depth"], pixels, equal_nan=True)


@pytest.mark.parametrize("feed", ["1", "0"])
def test_bad_depth_maps_are_bad_samples(tmp_path, monkeypatch, feed):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    file = rgbd(tmp_path, ".png") / "depth" / "1.png"
    good = file.read_bytes()
    Image.new("RGB", SIZE[::-1]).save(tmp_path / "rgb.png")
    cv2.imwrite(str(tmp_path / "small.png"), DEPTH[:3])
    for data, path, reason in (
        (b"", file, "the file is empty"),
        (b"no image", file, "not an image that Pillow knows"),
        (good[: len(good) // 2], file, "truncated|IDAT|damaged|broken|image file"),
        ((tmp_path / "rgb.png").read_bytes(), file, r"expected a depth map \[H, W\], but got 3 channels"),
        (
            (tmp_path / "small.png").read_bytes(),
            tmp_path / "rgb" / "1.png",
            r"expected depth of size \[6, 9\]",
        ),
    ):
        file.write_bytes(data)
        source = DepthFolder(tmp_path)
        with Loader(source, 2, shuffle=False) as loader, pytest.raises(BadSample, match=reason) as caught:
            next(iter(loader))
        assert (caught.value.sample_id, caught.value.path) == (1, str(path))
        with Loader(source, 2, shuffle=False, on_error="skip") as loader, pytest.warns(match="sample 1"):
            ((_, _, ids),) = loader
        assert ids.tolist() == [0]


def samples(ids):
    return [Sample(np.full((2, 2, 3), n, np.uint8), {}, n) for n in ids]


def test_sources_of_unequal_length_or_ids_are_named():
    with pytest.raises(ValueError, match="expected 3 samples of right, as of left, but got 2"):
        SeveralImages({"left": samples(range(3)), "right": samples(range(2))})
    shifted = SeveralImages({"left": samples(range(3)), "right": samples(range(1, 4))})
    with pytest.raises(ValueError, match="expected sample id 2 of right at index 2, as of left, but got 3"):
        shifted[2]
    for wrong, error, text in (
        ({}, ValueError, "at least 1 source"),
        ([samples([1])], ValueError, "at least 1 source"),
        ({3: samples([1])}, TypeError, "expected names as str, but got 3"),
        ({"left": iter(samples([1]))}, TypeError, "expected a source with an index as left"),
    ):
        with pytest.raises(error, match=text):
            SeveralImages(wrong)
    with pytest.raises(TypeError, match="expected a Sample as right, but that at index 0 is a int"):
        SeveralImages({"left": samples([0]), "right": [7]})[0]


def test_parts_of_sources_have_ids_of_their_own():
    both = ConcatDataset([samples(range(2)), samples(range(2))])
    source = SeveralImages({"left": both, "right": both})
    assert len({source[n].sample_id for n in range(4)}) == 4
    with Loader(ConcatDataset([SeveralImages({"left": samples(range(2))})] * 2), 4) as loader:
        (batch,) = loader
    assert len(set(batch.sample_ids.tolist())) == 4


def test_an_image_that_its_source_cannot_read_is_a_bad_sample():
    class Missing(list):
        def __getitem__(self, index):
            if index == 1:
                raise BadSample(1, "right/1.jpg", "no such file")
            return super().__getitem__(index)

    source = SeveralImages({"left": samples(range(3)), "right": Missing(samples(range(3)))})
    loader = Loader(source, 3, shuffle=False, on_error="substitute")
    with loader, pytest.warns(UserWarning, match="right/1.jpg"):
        ((images, _, ids),) = loader
    assert ids.tolist() == [0, 2, 2]
    assert [int(image[0, 0, 0]) for image in images["left"]] == [0, 2, 2]
