"""Sums of a fixed order."""

import pytest
import torch

from orbbec.matrices.linear import sum_first
from orbbec.testing import assert_same_bytes


def test_the_order_of_a_sum_worked_by_hand():
    values = torch.tensor([1e16, 1.0, -1e16, 1.0, 1.0], dtype=torch.float64)[:, None].expand(5, 17)
    # In vectors the first 1 is lost; of the column that remains, the fifth row joins the first.
    assert sum_first(values).tolist() == [2.0] * 16 + [1.0]


@pytest.mark.parametrize("count", [0, 1, 4, 16, 17, 64, 100])
@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (5, 7, 2)])
def test_a_sum_is_that_of_torch_on_the_cpu(count, shape):
    values = torch.randn(count, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    assert_same_bytes(sum_first(values), values.sum(0))
