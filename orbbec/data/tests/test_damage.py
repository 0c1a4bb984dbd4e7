"""Broken images: each is decoded or refused; nothing crashes or hangs, and no Loader loses a sample."""

import os
import time

import pytest

from orbbec.data import decode_image
from orbbec.testing.damage import FORMATS, damaged_files, good_file, huge
from orbbec.testing.examine import Guard, disagreements, examined

SIZE = (48, 64)


def test_what_is_broken_is_refused_and_what_is_not_has_the_bytes_of_pillow():
    files = list(damaged_files(SIZE, flips=6))
    with Guard() as guard:
        findings = examined(files, guard)
        assert disagreements(files, findings, guard) == []
    assert {finding.outcome for finding in findings} == {"decoded", "refused"}
    # The two agree on which files are broken, as well.
    assert {(f.outcome, f.pillow) for f in findings} == {("decoded", "same"), ("refused", "refused")}
    by_name = {name: finding.outcome for (name, _), finding in zip(files, findings, strict=True)}
    for name, outcome in by_name.items():
        damage = name.partition("/")[2].partition(".")[0].partition("-")[0]
        if damage in ("whole", "named", "exif", "cmyk", "CMYK", "L"):
            assert outcome == "decoded", name
        elif damage in ("empty", "zeros", "huge", "cut"):
            assert outcome == "refused", name


@pytest.mark.parametrize("kind", FORMATS)
def test_decompression_bombs_are_refused_at_their_header(kind):
    bomb = huge(kind.rpartition(".")[2], good_file(kind, SIZE))
    began = time.process_time()
    with pytest.raises(ValueError, match=r"max_pixels|decompression bomb"):
        decode_image(bomb)
    assert time.process_time() - began < 0.5  # 13 ms at most were seen


def kill_this_process(code):
    os._exit(code)


def test_a_guard_survives_the_end_of_its_process():
    with Guard() as guard:
        assert guard(60, int, "3") == 3
        with pytest.raises(RuntimeError, match="ValueError: invalid literal"):
            guard(60, int, "three")
        with pytest.raises(RuntimeError, match="the process ended with 3"):
            guard(60, kill_this_process, 3)
        with pytest.raises(RuntimeError, match=r"hung for 0\.1 s"):
            guard(0.1, time.sleep, 60)
