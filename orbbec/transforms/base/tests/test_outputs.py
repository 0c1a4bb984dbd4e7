"""Transforms give what they gave when outputs.npz was recorded (record_outputs.py)."""

import numpy as np
import pytest

from orbbec.plan import microbatches
from orbbec.transforms.base.tests.record_outputs import PATH, numbers_of
from orbbec.transforms.tests.examples import our_transforms

RECORDED = dict(np.load(PATH))


def test_every_transform_is_recorded():
    assert sorted(our_transforms()) == list(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_a_transform_gives_what_it_gave(monkeypatch, name):
    monkeypatch.setattr(microbatches, "MICROBATCH_BYTES", 1)  # images one by one
    np.testing.assert_allclose(numbers_of(name), RECORDED[name], rtol=1e-5)
