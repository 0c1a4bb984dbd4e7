"""Whole batches with nvImageCodec; its CPU codecs replace the CUDA codecs behind the same calls."""

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from orbbec.data import BadSample, Decoding, Loader, Sample, decode_image
from orbbec.data.decode import nvimgcodec as module
from orbbec.data.decode.nvimgcodec import BatchDecoder
from orbbec.data.decode.tests.test_decode import encoded, picture
from orbbec.data.loader.tests.test_loader import PIPELINE, Files, by_id
from orbbec.data.order import Order

nvimgcodec = pytest.importorskip(
    "nvidia.nvimgcodec", reason="nvidia-nvimgcodec-cu13 is not installed", exc_type=ImportError
)
ON_DEVICE = Decoding(device="nvimgcodec")
CPU = torch.device("cpu")


def buffer_for(data, mode="RGB"):
    return torch.zeros(decode_image(data, mode=mode).shape, dtype=torch.uint8)


def without_quantization(data):
    """A JPEG with a valid header that no decoder can decode."""
    return data.replace(b"\xff\xdb", b"\xff\xef")


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_images_are_decoded_to_their_buffers(mode):
    files = [encoded(picture(20 + i, 40, i), orientation=i) for i in range(1, 9)]
    files += [encoded(picture(), progressive=True), encoded(picture()[..., 0])]
    decoder = BatchDecoder(CPU, mode)
    pairs = [(data, buffer_for(data, mode)) for data in files]
    assert decoder.decode_into(pairs) == [True] * 10
    assert decoder.copies == 0
    for data, buffer in pairs:
        assert np.array_equal(buffer.numpy(), decode_image(data, mode=mode))


def test_no_image_is_no_call():
    assert BatchDecoder(CPU).decode_into([]) == []


def test_what_is_damaged_is_told():
    good, bad = encoded(picture()), without_quantization(encoded(picture()))
    pairs = [(good, buffer_for(good)), (bad, buffer_for(good)), (good, buffer_for(good))]
    assert BatchDecoder(CPU).decode_into(pairs) == [True, False, True]
    assert np.array_equal(pairs[2][1].numpy(), decode_image(good))


def test_only_whole_jpegs_of_8_bits_have_a_header():
    decoder = BatchDecoder(CPU)
    assert decoder.header(encoded(picture(30, 40), orientation=6), 10**6)[:2] == (30, 40)
    cmyk = encoded(Image.fromarray(picture()).convert("CMYK"))
    for data in (cmyk, encoded(picture(), "PNG"), encoded(picture())[:-100], b""):
        assert decoder.header(data, 10**6) is None
    with pytest.raises(ValueError, match="at most 1199 pixels"):
        decoder.header(encoded(picture(30, 40)), 1199)
    with pytest.raises(ValueError, match="BatchDecoder: expected mode as one of RGB, L, but got 'RGBA'"):
        BatchDecoder(CPU, "RGBA")


def test_damage_behind_a_good_header_is_refused_unless_it_is_kept():
    good, decoder = encoded(picture(30, 40)), BatchDecoder(CPU)
    bad = good[: len(good) // 2] + good[-2:]
    assert decoder.header(bad, 10**6, "keep") == decoder.header(good, 10**6)
    with pytest.raises(ValueError, match="decode_image: the JPEG is damaged"):
        decoder.header(bad, 10**6)
    assert decoder.header(encoded(picture(), "PNG"), 10**6, "raise") is None


def test_an_image_of_another_size_is_left_to_the_host():
    data, decoder = encoded(picture(30, 40)), BatchDecoder(CPU)
    small, turned = torch.zeros(30, 39, 3, dtype=torch.uint8), torch.zeros(40, 30, 3, dtype=torch.uint8)
    buffer = buffer_for(data)
    assert decoder.decode_into([(data, buffer), (data, turned)]) == [True, False]
    assert decoder.copies == 0
    assert decoder.decode_into([(data, buffer.zero_()), (data, small)]) == [True, False]
    assert decoder.copies == 1  # nvImageCodec refuses a buffer that is too small
    assert np.array_equal(buffer.numpy(), decode_image(data))


class Cuda:
    """nvImageCodec as on a GPU, with device codecs in stream order; its CPU codecs do the work here.

    Codecs that ignore `images` write their results elsewhere.
    """

    def __init__(self, ignores):
        self.calls = []
        self.ignores = ignores
        for name in ("CodeStream", "ColorSpec", "SampleFormat", "DecodeParams"):
            setattr(self, name, getattr(nvimgcodec, name))

    def Decoder(self, device_id):
        backends = [nvimgcodec.Backend(nvimgcodec.BackendKind.CPU_ONLY)]
        real = nvimgcodec.Decoder(device_id=nvimgcodec.NVIMGCODEC_DEVICE_CPU_ONLY, backends=backends)

        def decode(files, *, images, params, cuda_stream):
            self.calls.append((device_id, cuda_stream))
            found = real.decode(files, images=None if self.ignores else images, params=params)
            return [torch.from_numpy(np.asarray(image)) for image in found]

        return SimpleNamespace(decode=decode)

    def as_images(self, buffers, stream):
        assert all(isinstance(buffer, torch.Tensor) for buffer in buffers)
        self.calls.append(stream)
        return nvimgcodec.as_images([buffer.numpy() for buffer in buffers])


@pytest.mark.parametrize("ignores", [False, True])
def test_on_cuda_the_current_stream_is_waited_for_and_named_and_copies_are_counted(monkeypatch, ignores):
    stub = Cuda(ignores)
    event = SimpleNamespace(synchronize=lambda: stub.calls.append("waited"))
    stream = SimpleNamespace(cuda_stream=77, record_event=lambda: event)
    monkeypatch.setattr(module, "optional", lambda *_, **__: stub)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    decoder = BatchDecoder(torch.device("cuda", 3))
    files = [encoded(picture(20, 30 + i)) for i in range(3)]
    pairs = [(data, buffer_for(data)) for data in files]
    assert decoder.decode_into(pairs) == [True] * 3
    assert stub.calls == ["waited", 77, (3, 77)]
    assert decoder.copies == (3 if ignores else 0)
    assert all(np.array_equal(buffer.numpy(), decode_image(data)) for data, buffer in pairs)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_loader_gives_what_decoding_one_by_one_gives(threads):
    expected = by_id(Loader(Files(13), 4, PIPELINE, seed=7))
    actual = by_id(Loader(Files(13), 4, PIPELINE, seed=7, threads=threads, decoding=ON_DEVICE))
    assert actual.keys() == expected.keys()
    assert all(torch.equal(actual[i], expected[i]) for i in expected)


def test_a_loader_decodes_on_the_host_what_is_no_jpeg():
    files = [encoded(picture(20, 30), format) for format in ("PNG", "JPEG", "WEBP")]
    source = [*(Sample(data, {}, i) for i, data in enumerate(files)), Sample(picture(7, 5), {}, 3)]
    (batch,) = Loader(source, 4, shuffle=False, decoding=ON_DEVICE)
    expected = [*map(decode_image, files), picture(7, 5)]
    assert all(np.array_equal(a, b) for a, b in zip(batch.images.numpy(), expected, strict=True))


def test_a_loader_decodes_on_the_host_what_the_device_refuses(monkeypatch):
    monkeypatch.setattr(BatchDecoder, "decode_into", lambda self, encoded: [False] * len(encoded))
    expected = by_id(Loader(Files(5), 2, PIPELINE, seed=7))
    actual = by_id(Loader(Files(5), 2, PIPELINE, seed=7, decoding=ON_DEVICE))
    assert all(torch.equal(actual[i], expected[i]) for i in expected)


def test_the_time_of_the_decoder_is_time_of_decoding(monkeypatch):
    decode = BatchDecoder.decode_into
    monkeypatch.setattr(BatchDecoder, "decode_into", lambda *some: (time.sleep(0.2), decode(*some))[1])
    loader = Loader(Files(3), 3, PIPELINE, decoding=ON_DEVICE)
    list(loader)
    assert loader.seconds["decode"] > 0.2


def test_the_decoder_allocates_the_memory_of_a_batch(monkeypatch):
    sizes, empty = [], BatchDecoder.empty_bytes
    monkeypatch.setattr(
        BatchDecoder, "empty_bytes", lambda self, nbytes: sizes.append(nbytes) or empty(self, nbytes)
    )
    (batch,) = Loader(Files(3), 3, shuffle=False, decoding=ON_DEVICE)
    (nbytes,) = sizes
    assert nbytes >= len(batch.images.buffer)


class Damaged(Files):
    """The first image in `bad` is truncated; the others are complete but cannot be decoded."""

    def __init__(self, count, bad):
        super().__init__(count, bad[:1])
        for index in bad[1:]:
            self.data[index] = without_quantization(self.data[index])


def test_a_loader_keeps_its_policies():
    for bad in ([1], [0, 1]):
        order = Order(4, shuffle=False).part(1, 4)
        with pytest.raises(BadSample, match=r"sample 1 \(its image\)"):
            list(Loader(Damaged(4, bad), 4, PIPELINE, order=order, decoding=ON_DEVICE))
    for policy, wanted in (("skip", [0, 3]), ("substitute", [0, 3, 3, 3])):
        loader = Loader(
            Damaged(4, bad=[1, 2]), 4, PIPELINE, shuffle=False, on_error=policy, decoding=ON_DEVICE
        )
        with pytest.warns(UserWarning, match="2 bad samples"):
            (batch,) = loader
        assert batch.sample_ids.tolist() == wanted


def test_a_decoding_on_the_device_has_no_alpha():
    with pytest.raises(ValueError, match="Decoding: expected mode as one of RGB, L, but got 'RGBA'"):
        Decoding(mode="RGBA", device="nvimgcodec")


def test_without_nvimgcodec_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "nvidia.nvimgcodec", None)
    with pytest.raises(ImportError, match="pip install 'nvidia-nvimgcodec-cu13"):
        BatchDecoder(CPU)


def test_the_check_for_gpus_runs_on_the_cpu():
    """Without nvImageCodec's encoders, which are not installed with its decoders."""
    script = Path(__file__).parents[4] / "tools" / "check_nvimgcodec.py"
    program = f"""
import runpy, sys
from nvidia import nvimgcodec
nvimgcodec.Encoder = None
sys.argv = [{str(script)!r}, "--device", "cpu"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert "difference 0, mean 0.000\ncopied on the device: 0 of 192 images" in done.stdout
    assert "the same bytes: True; a damaged file is reported: True" in done.stdout
