"""Tables, histograms, statistics and CLAHE, compared with NumPy and OpenCV."""

import numpy as np
import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings
from hypothesis import strategies as st

import orbbec
from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs

cv2 = pytest.importorskip("cv2", reason="the bytes are OpenCV's")


def gray_image(rng, height, width):
    values = rng.normal(rng.uniform(0, 255), rng.uniform(0, 60), (height, width))
    return np.clip(values, 0, 255).astype(np.uint8)


@given(st.integers(1, 90), st.integers(1, 90), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_equalize_hist_matches_opencv(height, width, seed):
    image = gray_image(np.random.default_rng(seed), height, width)
    np.testing.assert_array_equal(orbbec.equalize_hist(image), cv2.equalizeHist(image))


@given(
    st.integers(2, 90),
    st.integers(2, 90),
    st.integers(1, 9),
    st.integers(1, 9),
    st.floats(0, 50),
    st.integers(0, 999),
)
@settings(max_examples=60, deadline=None)
def test_clahe_matches_opencv(height, width, rows, columns, limit, seed):
    image = gray_image(np.random.default_rng(seed), height, width)
    expected = cv2.createCLAHE(limit, (columns, rows)).apply(image)
    np.testing.assert_array_equal(orbbec.clahe(image, limit, (rows, columns)), expected)


@pytest.mark.parametrize("channels", [1, 2, 3, 5])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("width", [1, 33, 300])
def test_lut_matches_numpy(device, channels, last, width):
    images = photographs(2, channels, 5, width)
    rng = np.random.default_rng(0)
    layout = torch.channels_last if last else torch.contiguous_format
    put = device.put(images).contiguous(memory_format=layout)
    for shape in ((256,), (channels, 256), (2, channels, 256), (2, 1, 256)):
        table = torch.from_numpy(rng.integers(0, 256, shape, np.uint8))
        full = table.expand(2, channels, 256)
        expected = torch.gather(full, 2, images.flatten(2).long()).view_as(images)
        assert_same_bytes(orbbec.lut(put, device.put(table)), expected)


@pytest.mark.sanitized
@pytest.mark.parametrize("simd", ["scalar", "avx2", "avx512"])
def test_every_level_of_vectors_gives_the_same(monkeypatch, simd):
    images = photographs(2, 3, 7, 301)
    table = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (3, 256), np.uint8))
    calls = [
        lambda x: orbbec.lut(x, table),
        lambda x: orbbec.adjust_hue(x, 0.3),
        lambda x: orbbec.adjust_contrast(x, 0.3),
        lambda x: orbbec.cvt_color(x, "HSV", "RGB"),
        lambda x: orbbec.cvt_color(x, "RGB", "HLS"),
        lambda x: orbbec.normalize(x),
        lambda x: orbbec.normalize(x, dtype=torch.bfloat16),
        lambda x: orbbec.adjust_saturation(orbbec.to_float(x), 1.4),
    ]
    expected = [call(images) for call in calls]
    monkeypatch.setenv("ORBBEC_SIMD", simd)
    for call, before in zip(calls, expected, strict=True):
        assert_same_bytes(call(images), before)
        last = images.contiguous(memory_format=torch.channels_last)
        assert_same_bytes(call(last), before)


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("last", [False, True])
def test_channel_statistics_match_numpy(device, channels, last):
    images = photographs(3, channels, 17, 150)
    layout = torch.channels_last if last else torch.contiguous_format
    statistics = orbbec.channel_statistics(device.put(images).contiguous(memory_format=layout))
    for n in range(3):
        for c in range(channels):
            values = images[n, c].numpy()
            counts = np.bincount(values.ravel(), minlength=256)
            assert statistics.histogram[n, c].tolist() == counts.tolist()
            assert statistics.mean[n, c].item() == pytest.approx(values.mean(), rel=1e-14)
            assert statistics.std[n, c].item() == pytest.approx(values.std(), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_channel_statistics_of_floats(device, dtype):
    images = photographs(2, 3, 40, 90, dtype)
    statistics = orbbec.channel_statistics(device.put(images))
    values = images.double()
    torch.testing.assert_close(statistics.mean.cpu(), values.mean((2, 3)), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(statistics.std.cpu(), values.std((2, 3), correction=0), rtol=1e-10, atol=1e-10)
    assert statistics.histogram is None


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_channel_statistics_of_one_image_are_those_in_a_batch(device, dtype):
    images = [photograph(20, 30), photograph(9, 41)]
    batch = device.put(ImageBatch.from_images(images))
    together = orbbec.channel_statistics(batch)
    for n, image in enumerate(images):
        alone = orbbec.channel_statistics(torch.from_numpy(image).permute(2, 0, 1)[None].to(dtype))
        for whole, one in zip(together[:2], alone[:2], strict=True):
            torch.testing.assert_close(whole[n].cpu(), one[0], rtol=1e-12, atol=0)


def test_tables_by_hand(device):
    image = device.put(torch.tensor([[[10, 20, 20, 30]]], dtype=torch.uint8))
    assert orbbec.equalize_hist(image).flatten().tolist() == [0, 170, 170, 255]
    # 20 / (20 / 255) is slightly below 255 in float32, and torchvision truncates it.
    assert orbbec.autocontrast(image).flatten().tolist() == [0, 127, 127, 254]
    same = device.put(torch.full((1, 1, 9, 9), 7, dtype=torch.uint8))
    for name in ("equalize_hist", "autocontrast", "equalize"):
        assert_same_bytes(getattr(orbbec, name)(same), same)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: orbbec.lut(x, torch.zeros(255, dtype=torch.uint8)),
            r"expected table of shape \[256\], \[3, 256\] or \[2, 3, 256\]",
        ),
        (lambda x: orbbec.lut(x, torch.zeros(256)), "lut: expected table of uint8"),
        (lambda x: orbbec.lut(x, [1]), "lut: expected table as a tensor or an array, but got list"),
        (lambda x: orbbec.lut(x.float(), torch.zeros(256).byte()), "lut: expected images of uint8"),
        (lambda x: orbbec.clahe(x, -1.0), "clahe: expected clip_limit of at least 0, but got -1.0"),
        (
            lambda x: orbbec.clahe(x, tiles=(0, 3)),
            r"expected tiles as \(rows, columns\), each from 1 to 1024",
        ),
        (lambda x: orbbec.clahe(x, tiles=3), r"clahe: expected tiles as \(rows, columns\), but got 3"),
        (lambda x: orbbec.clahe(x.float()), "clahe: expected images of uint8"),
        (
            lambda x: orbbec.channel_statistics(x.to(torch.uint16)),
            "channel_statistics: expected images of uint8",
        ),
    ],
)
def test_tables_name_the_bad_argument(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(photographs(2, 3, 4, 5))


def test_channel_statistics_refuse_a_gradient():
    mean = orbbec.channel_statistics(torch.rand(2, 3, 4, 5).requires_grad_()).mean
    with pytest.raises(NotImplementedError, match="channel_statistics: there is no gradient"):
        mean.sum().backward()


def test_tables_compile_and_pass_opcheck(device):
    images = device.put(photographs(2, 3, 9, 5))
    for call in (orbbec.equalize, orbbec.clahe, lambda x: orbbec.adjust_gamma(x, 2.0)):
        compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
        assert_same_bytes(compiled(images), call(images))
    table = device.put(torch.zeros(1, 1, 256, dtype=torch.uint8))
    torch.library.opcheck(torch.ops.orbbec.lut.default, (images, None, 0, table))
    torch.library.opcheck(torch.ops.orbbec.histogram.default, (images, None, 0))
    torch.library.opcheck(torch.ops.orbbec.by_histogram.default, (images, None, 0, "equalize"))
    torch.library.opcheck(torch.ops.orbbec.clahe.default, (images, None, 0, 2.0, None, 2, 3))
    torch.library.opcheck(torch.ops.orbbec.gray_sums.default, (images, None, 0))
    torch.library.opcheck(torch.ops.orbbec.channel_sums.default, (images.float(), None, 0))
    counts = torch.ops.orbbec.histogram(images, None, 0)
    torch.library.opcheck(torch.ops.orbbec.channel_moments.default, (counts, None, 0))
    sums = torch.ops.orbbec.channel_sums(images.float(), None, 0)
    torch.library.opcheck(torch.ops.orbbec.channel_moments.default, (sums, None, 45))
