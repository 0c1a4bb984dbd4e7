"""Other libraries' datasets and iterables as sources and streams."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from orbbec.data import BadSample, Order, Sample, ShuffleBuffer, as_source, decode_image, pack

IMAGE = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
TENSOR = torch.from_numpy(IMAGE.transpose(2, 0, 1).copy())


class Items(Dataset):
    classes = ("cat", "dog")

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        item = self.items[index]
        if isinstance(item, Exception):
            raise item
        return item


@pytest.mark.parametrize("image", [IMAGE, TENSOR, TENSOR.permute(1, 2, 0).contiguous().permute(2, 0, 1)])
def test_images_become_arrays(image):
    source = as_source(Items(image, (image,), (image, 3), {"image": image, "boxes": [1]}, {"img": image}))
    assert [source[n].targets for n in range(5)] == [{}, {}, {"label": 3}, {"boxes": [1]}, {}]
    for index in range(len(source)):
        assert np.array_equal(source[index].data, IMAGE)
        assert source[index].sample_id == index
    assert source.classes == ["cat", "dog"]


def test_gray_images_and_encoded_ones():
    source = as_source([torch.ones(5, 6, dtype=torch.uint8), b"\xff\xd8", IMAGE[..., 0], TENSOR[:1]])
    assert [np.shape(source[n].data) for n in (0, 2, 3)] == [(5, 6), (2, 4), (2, 4, 1)]
    assert source[1].data == b"\xff\xd8"
    assert source.classes == []


def test_files_that_a_data_set_did_not_decode_have_their_bytes_and_path(tmp_path):
    path = str(tmp_path / "a.jpg")
    (tmp_path / "a.jpg").write_bytes(b"file")
    inside, outside = {"bytes": b"inside", "path": "b.jpg"}, {"bytes": None, "path": path}
    nameless = {"bytes": b"only", "path": None}
    source = as_source([{"image": inside, "label": 3}, (outside, 4), (nameless,)])
    found = [(sample.data, sample.path, sample.targets) for sample in map(source.__getitem__, range(3))]
    assert found == [(b"inside", "b.jpg", {"label": 3}), (b"file", path, {"label": 4}), (b"only", "", {})]


def test_a_missing_file_of_a_data_set_is_a_bad_sample_with_its_path(tmp_path):
    path = str(tmp_path / "none.jpg")
    with pytest.raises(BadSample, match=r"sample 0 \(.*none.jpg\): No such file"):
        as_source([{"image": {"bytes": None, "path": path}}])[0]


@pytest.mark.parametrize(("image", "found"), [({}, "nothing"), ({"array": [1], "rate": 2}, "array, rate")])
def test_a_dict_without_a_file_is_no_image(image, found):
    with pytest.raises(
        TypeError, match=f"'bytes' or the 'path' of the image in sample 0, .* dict of {found}"
    ):
        as_source([(image, 1)])[0]


@pytest.mark.parametrize(
    ("mode", "shape"),
    [
        ("RGB", (2, 4, 3)),
        ("L", (2, 4)),
        ("RGBA", (2, 4, 4)),
        ("1", (2, 4)),
        ("P", (2, 4, 3)),
        ("LA", (2, 4, 4)),
        ("CMYK", (2, 4, 3)),
    ],
)
def test_pil_images_become_arrays(mode, shape):
    pil = pytest.importorskip("PIL.Image")
    image = pil.fromarray(IMAGE)
    data = as_source([image.convert(mode)])[0].data
    assert data.shape == shape
    assert data.dtype == np.uint8
    if mode == "RGB":
        assert np.array_equal(data, IMAGE)
    if mode == "1":
        assert set(np.unique(data)) <= {0, 255}


def test_deep_pil_images_are_those_of_decode_image():
    pil = pytest.importorskip("PIL.Image")
    gray = np.array([[0, 255, 256], [300, 40000, 65535]], np.uint16)
    file = io.BytesIO()
    pil.fromarray(gray).save(file, "PNG")
    data = as_source([pil.fromarray(gray)])[0].data
    assert np.array_equal(data, gray >> 8)
    assert np.array_equal(data[..., None], decode_image(file.getvalue(), mode="L"))
    for mode in ("F", "I"):
        message = rf"sample 0 \(its image\): pixels of mode {mode} have no known range"
        with pytest.raises(BadSample, match=message):
            as_source([pil.fromarray(gray).convert(mode)])[0]


@pytest.mark.parametrize(
    ("target", "label"),
    [(3, 3), (np.int64(4), 4), (torch.tensor(5), 5), (0.5, 0.5), ("cat", "cat"), (None, None)],
)
def test_targets_that_are_no_dict_are_labels(target, label):
    value = as_source([(IMAGE, target)])[0].targets["label"]
    assert value == label
    assert type(value) is type(label)


@pytest.mark.parametrize(
    "as_mask",
    [np.asarray, torch.from_numpy, lambda mask: mask.astype(np.int64), Image.fromarray],
    ids=["uint8", "tensor", "int64", "PIL"],
)
def test_a_target_with_a_class_per_pixel_is_a_mask(as_mask):
    image, mask = np.zeros((4, 6, 3), np.uint8), np.arange(24, dtype=np.uint8).reshape(4, 6)
    sample = as_source([(image, as_mask(mask))])[0]
    assert list(sample.targets) == ["mask"]
    assert np.array_equal(sample.targets["mask"], mask)
    palette = Image.fromarray(mask).convert("P")
    assert np.array_equal(as_source([(image, palette)])[0].targets["mask"], np.asarray(palette))


@pytest.mark.parametrize(
    "target", [np.zeros((3, 6), np.uint8), np.zeros((4, 6), np.float32), np.zeros(4, np.uint8), "name"]
)
def test_other_arrays_are_labels(target):
    (sample,) = as_source([(np.zeros((4, 6, 3), np.uint8), target)])
    assert list(sample.targets) == ["label"]


def test_samples_stay():
    sample = Sample(b"x", {"a": 1}, 77)
    assert as_source([sample])[0] is sample
    assert list(as_source(iter([sample]))) == [sample]
    source = as_source([sample])
    assert as_source(source) is source


def test_what_cannot_be_read_is_a_bad_sample_and_mistakes_are_not():
    source = as_source(Items(OSError(5, "Input/output error"), ValueError("not a JPEG"), ZeroDivisionError()))
    with pytest.raises(BadSample, match=r"sample 0 \(Items\[0\]\): Input/output error") as caught:
        source[0]
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(BadSample, match=r"sample 1 \(Items\[1\]\): not a JPEG"):
        source[1]
    with pytest.raises(ZeroDivisionError):
        source[2]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ((IMAGE, 1, 2), "sample 0 has 3 parts"),
        ({"picture": IMAGE}, "expected 'image' in sample 0, but got picture"),
        ("a.jpg", "expected an image in sample 0, but got str"),
        (TENSOR.float(), r"image of uint8 in sample 0, but got float32 \[2, 4, 3\]: convert to float"),
        (np.zeros((2, 2, 2, 3), np.uint8), r"got uint8 \[2, 2, 2, 3\]"),
    ],
)
def test_other_items_are_named(item, message):
    with pytest.raises(TypeError, match=f"as_source: .*{message}"):
        as_source([item])[0]


def test_other_datasets_are_refused():
    with pytest.raises(TypeError, match="expected a dataset or an iterable, but got int"):
        as_source(3)


def test_an_iterable_is_a_stream():
    class Stream(IterableDataset):
        epoch = 0

        def set_epoch(self, epoch):
            self.epoch = epoch

        def __len__(self):  # as some datasets have, besides the inherited __getitem__
            return 5

        def __iter__(self):
            yield from ((IMAGE, 10 * self.epoch + n) for n in range(4))
            yield BadSample(4, "4.jpg", "gone")

    stream = ShuffleBuffer(as_source(Stream()), 3)
    stream.set_epoch(2)
    items = list(stream)
    assert sorted((item.sample_id, item.targets["label"]) for item in items if isinstance(item, Sample)) == [
        (0, 20), (1, 21), (2, 22), (3, 23)
    ]  # fmt: skip
    assert [item.reason for item in items if isinstance(item, BadSample)] == ["gone"]


def test_a_dataset_is_shuffled_dealt_and_packed(tmp_path):
    source = as_source(TensorDataset(TENSOR.expand(7, -1, -1, -1), torch.arange(7)))
    ids = [
        source[index].sample_id
        for rank in (0, 1)
        for index in Order(7, rank=rank, world_size=2).indices().tolist()
    ]
    assert sorted(ids) == list(range(7))
    assert pack(source, tmp_path).samples == 7
