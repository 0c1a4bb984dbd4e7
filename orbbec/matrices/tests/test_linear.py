"""Sums in a fixed order."""

import pytest
import torch

from orbbec.matrices.linear import sum_first


def test_a_sum_adds_the_second_half_to_the_first():
    values = torch.tensor([1e16, 1.0, 1.0, -1e16, 1.0], dtype=torch.float64)[:, None].expand(5, 3)
    assert sum_first(values).tolist() == 3 * [((1e16 - 1e16) + 1.0) + (1.0 + 1.0)]


@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_a_sum_is_near_that_of_torch(count):
    values = torch.randn(count, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    torch.testing.assert_close(sum_first(values), values.sum(0))
