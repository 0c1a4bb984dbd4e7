"""Results of different sizes go into an ImageBatch by one call, with the bytes of calls for each image."""

import pytest
import torch

import orbbec
from orbbec import ImageBatch
from orbbec.augment import Output
from tests.support import assert_same_bytes
from tests.support.augments import fused as augment

SOURCES = [(40, 61), (33, 20), (90, 7), (17, 64)]
TARGETS = [(31, 50), (70, 33), (1, 40), (130, 1)]  # widths around blocks of 16 and tiles of 32
INSIDE = [[1.0, 0, 2], [0, 1, 1], [0, 0, 1]]
MATRICES = torch.tensor(
    [
        [[-1.0, 0, 45], [0, 1, 3], [0, 0, 1]],
        [[0.7, -0.2, 3.3], [0.1, 0.4, 1.8], [0, 0, 1]],
        [[0.2, 0.01, 0], [0, 1, 44], [0.001, 0, 1]],
        INSIDE,
    ]
)
COLORS = torch.zeros(4, 2, 16)
COLORS[:, 0, :2] = torch.tensor([3.0, 0.8])
COLORS[:, 0, 2] = 1
COLORS[:3, 1, :2] = torch.tensor([6.0, 1.7])
ERASE = torch.tensor([3.0, 0, 30, 40, 0.2, 0.9, 0.5, 0]).expand(4, 1, 8)
OPTIONS = {
    "moved": {},
    "border": {"border": "reflect101"},
    "cubic": {"interpolation": "cubic"},
    "nearest": {"interpolation": "nearest", "fill": [1, 2, 3]},
    "colors": {"colors": COLORS, "contrast": True},
    "erased": {"erase": ERASE, "colors": COLORS[:, :1]},
    "regions": {"regions": torch.tensor([[1, 2, 30, 30], [0, 0, 9, 9], [2, 0, 7, 80], [0, 0, 64, 17]])},
}


@pytest.fixture
def batch(device):
    generator = torch.Generator().manual_seed(3)
    images = [torch.randint(0, 256, (*size, 3), dtype=torch.uint8, generator=generator) for size in SOURCES]
    return on(device, ImageBatch.from_images(images))


def on(device, batch):
    return batch.to("cuda" if device.name == "cuda" else "cpu")


def results(device):
    batch = on(device, ImageBatch.of_sizes(TARGETS, 3))
    batch.buffer.fill_(77)
    return batch


def each(batch, options):
    """Calls of one image; tables have rows of each."""
    for n, size in enumerate(TARGETS):
        own = {name: v[n : n + 1] if isinstance(v, torch.Tensor) else v for name, v in options.items()}
        yield augment(batch[n : n + 1], MATRICES[n : n + 1], size, **own)[0]


@pytest.mark.parametrize("name", OPTIONS)
def test_each_result_has_the_bytes_of_its_own_call(device, batch, name):
    out = results(device)
    with device.active():
        returned = augment(batch, MATRICES, None, out=out, **OPTIONS[name])
        expected = list(each(batch, OPTIONS[name]))
    assert returned is out
    for image, alone in zip(out.images(), expected, strict=True):
        assert_same_bytes(image.permute(2, 0, 1), alone)


def test_nothing_between_the_results_is_written(device, batch):
    out = results(device)
    with device.active():
        augment(batch, MATRICES, None, out=out)
    covered = torch.zeros(len(out.buffer), dtype=torch.bool)
    for offset, height, width in out.host_layout.tolist():
        covered[offset : offset + height * width * 3] = True
    assert (~covered).any()
    assert bool((out.buffer.cpu()[~covered] == 77).all())


def test_images_of_one_size_give_results_of_several(device, batch):
    images = device.put(torch.arange(4 * 3 * 20 * 30).reshape(4, 3, 20, 30).to(torch.uint8))
    out = results(device)
    with device.active():
        augment(images, MATRICES, None, out=out)
        expected = [augment(images[n, None], MATRICES[n], size)[0] for n, size in enumerate(TARGETS)]
    for image, alone in zip(out.images(), expected, strict=True):
        assert_same_bytes(image.permute(2, 0, 1), alone)


def test_no_images(device):
    empty = on(device, ImageBatch.of_sizes([], 3))
    with device.active():
        assert len(augment(empty, MATRICES[:0], None, out=on(device, ImageBatch.of_sizes([], 3)))) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": (9, 9)}, "augment: expected size None, since out is an ImageBatch, but got"),
        ({"mix": torch.zeros(4, 7)}, "augment: expected no mix for an out of variable-size images"),
        ({"out": ImageBatch.of_sizes(TARGETS[:3], 3)}, "augment: expected out of 4 images, but got 3"),
        ({"out": ImageBatch.of_sizes(TARGETS, 1)}, "augment: expected out of 3 channels, but got 1"),
        ({"out": torch.zeros(4, 3, 9, 9, dtype=torch.uint8)}, "augment: expected size"),
    ],
)
def test_what_does_not_fit_is_named(device, batch, change, message):
    arguments = {"size": None, "out": results(device)} | change
    with device.active(), pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        augment(batch, MATRICES, **arguments)


def test_results_may_not_overwrite_images(device, batch):
    with device.active(), pytest.raises((ValueError, RuntimeError), match="augment: "):
        orbbec.augment(batch, MATRICES, None, output=Output(out=batch))
