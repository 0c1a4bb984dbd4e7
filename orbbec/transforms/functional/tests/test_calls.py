"""Functions give what they gave when calls.npz was recorded (record_calls.py). Needs torchvision."""

import numpy as np
import pytest

pytest.importorskip("torchvision")

from orbbec.transforms.functional.tests.record_calls import EVERY, PATH, numbers_of

RECORDED = dict(np.load(PATH))


@pytest.mark.parametrize("key", EVERY)
def test_a_function_gives_what_it_gave(key):
    np.testing.assert_allclose(numbers_of(key), RECORDED[key], rtol=1e-5)
