"""PNG and WebP: the feed decodes what the libraries decode, to the bytes of the Python functions."""

import numpy as np
import pytest

from orbbec.data.decode import native
from orbbec.data.decode.codecs import decode_by_codec
from orbbec.data.decode.native import codec
from orbbec.data.decode.orientation import upright_size
from orbbec.feed.feed import GOOD, Feed, Limits

corpus = pytest.importorskip("orbbec.data.decode.tests.corpus", reason="needs cv2", exc_type=ImportError)

MAX_PIXELS = 10**4
MODES = {"RGB": 3, "L": 1, "RGBA": 4, "planes": 0}
pytestmark = pytest.mark.skipif(
    None in (codec("png"), codec("webp")), reason="libspng and libwebp were not built in"
)


@pytest.fixture(scope="module")
def feed():
    feed = Feed(2, native.feed_functions())
    yield feed
    feed.end()


def decoded(feed, data, limits, box):
    """The pixels of each file; None for those left to the caller."""
    with feed.read_bytes(data, limits) as batch:
        assert batch.wait(lambda: False)
        rows = batch.rows()
        sizes = [upright_size(*row) for row in rows[["height", "width", "orientation"]].tolist()]
        boxes = np.array([box(size) for size in sizes])
        shapes = [(bottom - top, right - left, limits.channels or 3) for left, top, right, bottom in boxes]
        ends = np.cumsum([np.prod(shape) for shape in shapes])
        pixels = np.zeros(ends[-1], np.uint8)
        batch.decode(pixels, np.array([0, *ends[:-1]]), channels=limits.channels, boxes=boxes)
        assert batch.wait(lambda: False)
        parts = [part.reshape(shape) for part, shape in zip(np.split(pixels, ends[:-1]), shapes, strict=True)]
        return [
            part if row["status"] == GOOD else None for part, row in zip(parts, batch.rows(), strict=True)
        ]


def whole(size):
    return 0, 0, size[1], size[0]


def part(size):
    return size[1] // 3, size[0] // 4, size[1] - size[1] // 5, size[0]


@pytest.mark.parametrize("box", [whole, part])
@pytest.mark.parametrize("applies_orientation", [True, False])
@pytest.mark.parametrize(("mode", "channels"), MODES.items())
def test_what_the_libraries_decode_has_the_same_bytes(feed, mode, channels, applies_orientation, box):
    data = corpus.pngs_and_webps()
    found = decoded(feed, data, Limits(MAX_PIXELS, applies_orientation, channels), box)
    mode = "RGB" if mode == "planes" else mode
    expected = [decode_by_codec(file, mode, MAX_PIXELS, applies_orientation) for file in data]
    left_out = different = 0
    for pixels, image in zip(found, expected, strict=True):
        if pixels is None:
            left_out += image is not None
        else:
            left, top, right, bottom = box(image.shape)
            different += not np.array_equal(pixels, image[top:bottom, left:right])
    assert different == 0
    assert left_out <= 2  # BigTIFF
    good = sum(pixels is not None for pixels in found)
    assert 100 < good < len(data) - 500


def test_without_the_libraries_the_files_are_left_to_the_caller(monkeypatch):
    monkeypatch.setattr(native, "codec", lambda name: None)
    feed = Feed(1, native.feed_functions())
    with feed.read_bytes(corpus.pngs_and_webps()[:99], Limits(MAX_PIXELS)) as batch:
        assert batch.wait(lambda: False)
        assert (batch.rows()["status"] != GOOD).all()
    feed.end()
