"""Results do not depend on torch's default device and default dtype."""

import doctest
import importlib
import re
import sys
from dataclasses import is_dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import orbbec
from orbbec import transforms as T
from orbbec.data import DevicePrefetcher, Loader, Order, Sample, ShuffleBuffer
from tests.support import assert_same_bytes, photograph
from tests.support.defaults import DEFAULTS, USUAL, Under, default, under

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "orbbec"
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tools")]

import sample_kernels

pytest.importorskip("cv2")
import transform_examples

FOLDERS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
MODULES = [
    ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(path.relative_to(ROOT) for path in PACKAGE.rglob("*.py"))
    if {"tests", "opencv"}.isdisjoint(path.parts) and ">>> " in (ROOT / path).read_text()
]
PACKAGES = {  # that examples of a module need
    "orbbec.data.readers.hugging_face": "datasets",
    "orbbec.data.readers.records": "lmdb",
    "orbbec.data.readers.shards": "webdataset",
}


def assert_same(actual, expected):
    """Both hold the same values, of the same types, on the same devices."""
    assert type(actual) is type(expected)
    if isinstance(expected, torch.Tensor):
        assert actual.device == expected.device
        assert_same_bytes(actual, expected)
    elif isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype
        assert np.array_equal(actual, expected, equal_nan=actual.dtype.kind == "f")
    elif isinstance(expected, orbbec.ImageBatch):
        assert_same(actual.images(), expected.images())
        assert_same(actual.sizes, expected.sizes)
    elif isinstance(expected, dict):
        assert_same(list(actual), list(expected))
        assert_same(list(actual.values()), list(expected.values()))
    elif isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_same(one, other)
    elif is_dataclass(expected):
        assert_same(vars(actual), vars(expected))
    elif hasattr(expected, "tobytes"):
        assert actual.tobytes() == expected.tobytes()
    else:
        assert actual == expected


class WithoutDtype(doctest.OutputChecker):
    """Compares printed tensors but for the dtype of floats, which is printed if it is not the default."""

    def check_output(self, want, got, flags):
        want, got = (re.sub(r", dtype=torch\.float\d\d", "", text) for text in (want, got))
        return super().check_output(want, got, flags)


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("module", MODULES)
def test_an_example_shows_the_same(module, name):
    if module in PACKAGES:
        pytest.importorskip(PACKAGES[module])
    module = importlib.import_module(module)
    names = {"np": np, **vars(module), "torch": Under(USUAL, torch)}
    runner = doctest.DocTestRunner(WithoutDtype(), optionflags=doctest.NORMALIZE_WHITESPACE)
    with default(name):
        for example in doctest.DocTestFinder().find(module, extraglobs=names):
            runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("family", sample_kernels.FAMILIES, ids=lambda family: family.__name__)
def test_an_operator_gives_the_same(monkeypatch, family, name):
    expected = list(family(sample_kernels.Device("cpu")))
    monkeypatch.setattr(sample_kernels, "orbbec", Under(name, orbbec))
    for function in ("add_to_pairs", "philox_noise", "warp", "with_gradients"):
        monkeypatch.setattr(sample_kernels, function, under(name, getattr(sample_kernels, function)))
    for (call, result), (_, wanted) in zip(family(sample_kernels.Device("cpu")), expected, strict=True):
        try:
            assert_same(sample_kernels.tensors_of(result), sample_kernels.tensors_of(wanted))
        except AssertionError as error:
            raise AssertionError(f"{call}: {error}") from error


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("transform", transform_examples.names())
def test_a_transform_gives_the_same(transform, name):
    image, targets = transform_examples.portrait()
    images = [image, *(photograph(*image.shape[:2], seed=seed) for seed in range(3))]
    targets = transform_examples.targets_for(transform_examples.example(transform), targets)
    tensors = {key: torch.from_numpy(value) for key, value in targets.items()}

    def results():
        transformed = transform_examples.pipeline_of(transform)
        return transformed(images, sample_ids=[5, 3, 9, 1], targets=[targets, {}, {}, {}]), transformed(
            images, sample_ids=[5, 3, 9, 1], targets=[tensors, {}, {}, {}]
        )

    assert_same(under(name, results)(), results())


def any_images():
    """A batch of each kind that a pipeline takes."""
    arrays = [photograph(40, 50), photograph(33, 61, seed=1)]
    tensors = [torch.from_numpy(array).permute(2, 0, 1) for array in arrays]
    pil = pytest.importorskip("PIL.Image")
    return {
        "array": arrays[0],
        "arrays of one size": np.stack([arrays[0]] * 2),
        "arrays": arrays,
        "tensor": tensors[0],
        "tensors": tensors,
        "floats": torch.stack([tensors[0] / 255] * 2),
        "half": tensors[0].half() / 255,
        "channels last": torch.stack([tensors[0]] * 2).contiguous(memory_format=torch.channels_last),
        "PIL": pil.fromarray(arrays[0]),
        "PILs": [pil.fromarray(array) for array in arrays],
        "ImageBatch": orbbec.ImageBatch.from_images(arrays),
    }


BATCHES = ("arrays of one size", "arrays", "tensors", "floats", "channels last", "PILs", "ImageBatch")
PIPELINES = {
    "one pass": lambda: [
        T.RandomResizedCrop(16, antialias=False),
        T.RandomHorizontalFlip(),
        T.ColorJitter(0.4, 0.4, 0.4, 0.1),
        T.ToDtype("float32", scale=True),
        T.Normalize(),
    ],
    "sizes": lambda: [T.RandomShortestSize([16, 24]), T.RandomRotation(20, "linear", expand=True)],
    "operators": lambda: [
        T.Resize((24, 30)),
        T.ToDtype("float32", scale=True),
        T.ElasticTransform(8.0, 2.0),
        T.GaussianBlur(5),
        T.RandomErasing(1.0, value="random"),
        T.GaussianNoise(),
    ],
}


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("kind", any_images())
def test_a_pipeline_gives_the_same(kind, pipeline, name):
    images = any_images()[kind]
    boxes = np.array([[2.0, 3.0, 30.0, 20.0]])
    target = {
        "boxes": boxes,
        "labels": torch.tensor([3]),
        "keypoints": torch.from_numpy(boxes.reshape(1, 2, 2)),
    }
    is_batch = kind in BATCHES

    def results():
        torch.manual_seed(4)
        transformed = T.Compose(PIPELINES[pipeline]())
        drawn = transformed(images, targets=[target] * 2 if is_batch else target)
        return drawn, transformed(images, sample_ids=[7, 2] if is_batch else [7], epoch=1)

    assert_same(under(name, results)(), results())


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize(
    "label", [1, [0.25, 0.75, 0.0], np.int64(2), np.array([0.5, 0.5, 0.0]), torch.tensor(1)]
)
def test_mixed_labels_are_the_same(label, name):
    images = torch.stack([torch.from_numpy(photograph(16, 16, seed=n)) for n in range(4)]).permute(0, 3, 1, 2)

    def results():
        return T.Compose([T.MixUp(num_classes=3)], seed=3)(images, targets=[{"label": label}] * 4, epoch=1)

    assert_same(under(name, results)(), results())


@pytest.mark.parametrize("name", DEFAULTS)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_loader_gives_the_same(threads, name):
    source = [Sample(photograph(20, 20 + n, seed=n), {"label": n, "score": n / 4}, n) for n in range(7)]

    def batches():
        transforms = [T.RandomResizedCrop(8), T.MixUp(num_classes=7), T.ToDtype("float32", scale=True)]
        with Loader(source, 3, transforms, "cpu", threads=threads, seed=2) as loader:
            first = [tuple(batch) for batch in loader]
        ahead = DevicePrefetcher([images for images, *_ in first], [T.RandomHorizontalFlip()], "cpu")
        shuffled = ShuffleBuffer(range(9), 4, seed=1)
        return (
            first,
            list(ahead),
            list(shuffled),
            Order(9, seed=3).indices(),
            Order(4, shuffle=False).indices(),
        )

    assert_same(under(name, batches)(), batches())


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_compiled_call_gives_the_same(name):
    matrix = torch.tensor([[0.9, 0.1, 1.0], [-0.1, 0.9, 2.0]])

    def call(images):
        resized = orbbec.resized_crop(
            images, torch.tensor([1, 2, 14, 13], device="cpu"), (9, 8), antialias=True
        )
        warped = orbbec.gaussian_blur(orbbec.warp_affine(resized, matrix, (7, 6)), 3, 1.5)
        return orbbec.normalize(orbbec.adjust_contrast(warped, 0.7), dtype=torch.float32)

    images = torch.from_numpy(photograph(16, 17)).permute(2, 0, 1)[None]
    torch.compiler.reset()
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert_same(under(name, compiled)(images), call(images))
