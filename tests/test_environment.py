"""Environment variables of the package: what they do not accept is an error that says so."""

import numpy as np
import pytest
import torch

cv2 = pytest.importorskip("cv2")

import orbbec
from orbbec._library import load_library
from orbbec.cli.doctor.facts import answer_of
from orbbec.data.decode import native


@pytest.mark.parametrize("text", ["plain", "AVX2", "avx-512", " avx2", "0", "none"])
def test_a_level_that_is_unknown_is_refused(monkeypatch, text):
    """At import, and later by each operator and by the decoder of JPEGs, which does not end the process."""
    monkeypatch.setenv("ORBBEC_SIMD", text)
    message = f"^orbbec: expected ORBBEC_SIMD of scalar, avx2 or avx512, but got '{text}'$"
    with pytest.raises(ValueError, match=message):
        load_library()
    with pytest.raises(ValueError, match=message):
        orbbec.resize(torch.zeros(1, 8, 8), (3, 3))
    monkeypatch.setattr(native, "_library", lambda: None)
    _, jpeg = cv2.imencode(".jpg", np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(ValueError, match=message):
        native.decode_rectangle(jpeg.tobytes(), 0, 0, 8, 8)
    assert answer_of(torch, "cpu_target") == ""


def test_an_empty_level_is_the_best(monkeypatch):
    best = answer_of(torch, "cpu_target")
    monkeypatch.setenv("ORBBEC_SIMD", "")
    assert answer_of(torch, "cpu_target") == best


@pytest.mark.parametrize("text", ["/no/such/file.so", "/"])
def test_a_library_that_is_no_file_is_refused(monkeypatch, text):
    monkeypatch.setenv("ORBBEC_LIBRARY", text)
    with pytest.raises(ImportError, match=f"^orbbec: expected ORBBEC_LIBRARY as a binary, but got '{text}'$"):
        load_library()
