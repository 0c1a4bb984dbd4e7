"""Parquet files by pyarrow, and data sets by Hugging Face's `datasets`."""

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import Subset

from orbbec.data import BadSample, HuggingFace, Loader, Parquet, as_source, open_source
from orbbec.data.readers import parquet as module

pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")


def encoded(number):
    file = BytesIO()
    Image.new("RGB", (8 + number, 6), (number, 0, 0)).save(file, "png")
    return file.getvalue()


IMAGES = [encoded(number) for number in range(7)]
OBJECTS = [
    {"bbox": [[n, 0.0, 2.0, 3.5]] * (n % 3), "category": [n] * (n % 3), "area": [4] * (n % 3)}
    for n in range(7)
]


def write(root, images=None, row_group_size=2, name="a.parquet"):
    images = (
        [{"bytes": data, "path": f"{n}.png"} for n, data in enumerate(IMAGES)] if images is None else images
    )
    columns = {"image": images, "label": list(range(7)), "objects": OBJECTS, "text": list("abcdefg")}
    pyarrow.parquet.write_table(pyarrow.table(columns), root / name, row_group_size=row_group_size)
    return root / name


@pytest.mark.parametrize("row_group_size", [1, 2, 7])
@pytest.mark.parametrize("as_struct", [True, False])
def test_rows_are_images_and_targets(tmp_path, row_group_size, as_struct):
    file = write(tmp_path, None if as_struct else IMAGES, row_group_size)
    source = Parquet(file, targets={"label": "label", "text": "text"})
    assert len(source) == 7
    for index in (6, 0, 3, 2, 1, 5, 4, 4):
        sample = source[index]
        assert sample.data == IMAGES[index]
        assert sample.targets == {"label": index, "text": "abcdefg"[index]}
        assert sample.sample_id == index
        assert sample.path == (f"{file}/{index}.png" if as_struct else "")


def test_fields_of_structs_are_targets(tmp_path):
    source = Parquet(write(tmp_path), targets={"boxes": "objects.bbox", "labels": "objects.category"})
    boxes = [source[n].targets["boxes"] for n in range(3)]
    assert [(value.shape, value.dtype) for value in boxes] == [((n, 4), np.float32) for n in range(3)]
    assert boxes[2].tolist() == [[2, 0, 2, 3.5]] * 2
    assert source[2].targets["labels"].tolist() == [2, 2]
    assert source[2].targets["labels"].dtype == np.int64
    with pytest.raises(BadSample, match=r"expected a field 'objects.name', but got none"):
        Parquet(tmp_path / "a.parquet", targets={"name": "objects.name"})[1]


EMPTY = {
    "labels": ([[1, 2], []], np.int64, (0,)),
    "scores": ([[0.5], []], np.float32, (0,)),
    "flags": ([[True], []], np.bool_, (0,)),
    "boxes": ([[[0.0, 1.0, 2.0, 3.0]], []], np.float32, (0, 4)),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("as_field", [False, True])
def test_empty_lists_of_numbers_are_arrays_of_the_kind_of_others(tmp_path, name, as_field):
    values, dtype, shape = EMPTY[name]
    columns = {"image": IMAGES[:2], "all": [{"of": value} for value in values]} if as_field else None
    pyarrow.parquet.write_table(
        pyarrow.table(columns or {"image": IMAGES[:2], name: values}), tmp_path / "a.parquet"
    )
    sources = [Parquet(tmp_path / "a.parquet", targets={name: "all.of"} if as_field else None)]
    if dtype is not np.bool_ and not as_field:
        datasets = pytest.importorskip("datasets")
        rows = {"image": [{"bytes": data, "path": None} for data in IMAGES[:2]], name: values}
        sources.append(HuggingFace(datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())))
    for source in sources:
        some, none = (source[index].targets[name] for index in range(2))
        assert some.dtype == none.dtype == dtype
        assert none.shape == shape


def test_files_follow_each_other_and_must_have_the_same_columns(tmp_path):
    files = [write(tmp_path, name=f"{n}.parquet") for n in range(2)]
    source = open_source(tmp_path)
    assert isinstance(source, Parquet)
    assert [source[n].targets["label"] for n in (6, 7, 13)] == [6, 0, 6]
    pyarrow.parquet.write_table(pyarrow.table({"image": IMAGES}), files[1])
    with pytest.raises(
        ValueError, match=r"Parquet: expected the columns image, label, .* but .*1.parquet has image"
    ):
        Parquet(files)
    with pytest.raises(ValueError, match=r"expected a column 'picture', but got image, label, objects, text"):
        Parquet(files[0], "picture")
    assert len(Parquet(files[0], row_groups=1)) == 7
    with pytest.raises(ValueError, match="Parquet: expected row_groups as a whole number of at least 1"):
        Parquet(files[0], row_groups=0)
    with pytest.raises(ValueError, match="expected at least one file"):
        Parquet([])


def test_row_groups_are_read_when_needed_and_the_last_few_stay(tmp_path, monkeypatch):
    source, opened = Parquet(write(tmp_path), row_groups=2), []
    open_file = module._opened
    monkeypatch.setattr(module, "_opened", lambda path: opened.append(path) or open_file(path))
    for index in (0, 1, 0, 2, 3, 1):  # of the groups 0 and 1
        source[index]
    assert len(opened) == 2
    for index in (4, 0, 5):  # group 2 takes the place of group 1
        source[index]
    assert len(opened) == 3
    source[2]
    assert len(opened) == 4


def test_threads_copies_and_processes_read_the_same(tmp_path):
    source = Parquet(write(tmp_path), targets={"label": "label"})
    source[0]
    with ThreadPoolExecutor(4) as pool:
        assert [sample.data for sample in pool.map(source.__getitem__, [*range(7)] * 5)] == IMAGES * 5
    copy = pickle.loads(pickle.dumps(source))
    assert [copy[n].data for n in range(7)] == IMAGES
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert [sample.data for sample in pool.map(source.__getitem__, range(7))] == IMAGES


def test_damaged_files_and_rows_without_bytes_are_named(tmp_path):
    (tmp_path / "b.parquet").write_bytes(b"PAR1 no file")
    with pytest.raises(ValueError, match=r"Parquet: .*b.parquet is not a Parquet file"):
        Parquet(tmp_path / "b.parquet")
    with pytest.raises(FileNotFoundError):
        Parquet(tmp_path / "none.parquet")
    images = [None, {"bytes": None, "path": "/etc/passwd"}, *[{"bytes": b"x", "path": None}] * 5]
    source = Parquet(write(tmp_path, images))
    for index, reason in ((0, "but got a NoneType"), (1, "but got the path '/etc/passwd' only")):
        with pytest.raises(
            BadSample, match=rf"sample {index} \(.*: expected the bytes of an encoded image, {reason}"
        ):
            source[index]
    assert source[2].data == b"x"
    file = write(tmp_path)
    data = file.read_bytes()
    source = Parquet(file)
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(BadSample):
        source[0]
    pyarrow.parquet.write_table(
        pyarrow.table({"image": IMAGES[:1], "label": [0], "objects": OBJECTS[:1], "text": ["a"]}), file
    )
    with pytest.raises(BadSample, match="the file has changed"):
        source[0]


@pytest.fixture
def dataset():
    datasets = pytest.importorskip("datasets")
    rows = {
        "image": [{"bytes": data, "path": None} for data in IMAGES],
        "label": list(range(7)),
        "objects": OBJECTS,
    }
    dataset = datasets.Dataset.from_dict(rows).cast_column("image", datasets.Image())
    return dataset.cast_column("label", datasets.ClassLabel(names=list("abcdefg")))


def test_rows_of_hugging_face_stay_encoded(dataset, tmp_path):
    source = HuggingFace(dataset, targets={"label": "label", "boxes": "objects.bbox"})
    assert source.classes == list("abcdefg")
    assert [source[n].data for n in range(7)] == IMAGES
    assert [source[n].targets["label"] for n in range(7)] == list(range(7))
    assert source[2].targets["boxes"].tolist() == [[2, 0, 2, 3.5]] * 2
    assert source[0].targets["boxes"].shape == (0, 4)
    assert pickle.loads(pickle.dumps(source))[3].data == IMAGES[3]
    assert [source[-1].sample_id, len(source)] == [6, 7]
    with Loader(source, 7, shuffle=False, collate=list) as loader:
        [batch] = loader
    assert [int(image[0, 0, 0]) for image in batch.images.numpy()] == list(range(7))
    dataset.save_to_disk(tmp_path / "saved")
    again = open_source(tmp_path / "saved")
    assert isinstance(again, HuggingFace)
    assert again[5].data == IMAGES[5]


def test_a_subset_of_hugging_face_keeps_the_ids_of_rows(dataset):
    selected, subset = HuggingFace(dataset.select([4, 2])), Subset(HuggingFace(dataset), [4, 2])
    assert [(row.targets["label"], row.sample_id) for row in selected] == [(4, 0), (2, 1)]
    assert [(row.targets["label"], row.sample_id) for row in as_source(subset)] == [(4, 4), (2, 2)]


def test_parquet_by_hugging_face_has_the_same_rows(dataset, tmp_path):
    dataset.to_parquet(tmp_path / "a.parquet")
    file, rows = Parquet(tmp_path / "a.parquet"), HuggingFace(dataset)
    assert file.classes == rows.classes
    for index in range(7):
        assert file[index].data == rows[index].data
        assert str(file[index].targets) == str(rows[index].targets)


def test_paths_and_masks_of_hugging_face_are_read(tmp_path):
    datasets = pytest.importorskip("datasets")
    (tmp_path / "a.png").write_bytes(IMAGES[3])
    mask = Image.fromarray(np.uint8([[0, 1, 2]]))
    rows = {"image": [str(tmp_path / "a.png")], "annotation": [mask]}
    features = datasets.Features({"image": datasets.Image(), "annotation": datasets.Image()})
    source = HuggingFace(datasets.Dataset.from_dict(rows, features), targets={"mask": "annotation"})
    assert source[0].data == IMAGES[3]
    assert source[0].targets["mask"].tolist() == [[0, 1, 2]]
    (tmp_path / "a.png").unlink()
    with pytest.raises(BadSample, match=r"a.png\): No such file"):
        source[0]


def test_streams_and_dicts_of_splits_are_refused(dataset):
    datasets = pytest.importorskip("datasets")
    for wrong in (dataset.to_iterable_dataset(), datasets.DatasetDict({"train": dataset}), [1]):
        with pytest.raises(TypeError, match=f"expected a datasets.Dataset, but got {type(wrong).__name__}"):
            HuggingFace(wrong)
    with pytest.raises(ValueError, match="expected a column 'picture', but got image, label, objects"):
        HuggingFace(dataset, "picture")
    assert as_source(dataset.cast_column("image", datasets.Image(decode=False)))[2].data == IMAGES[2]
