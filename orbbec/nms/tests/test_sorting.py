"""orbbec::argsort and orbbec::selected_indices compared with torch's stable sort and its masks."""

import pytest
import torch

INF, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, -NAN, 1e-45, -1e-45, 3e38]
LONGS = [0, -1, 1, 2**63 - 1, -(2**63), 2**32, -(2**32), 2**31]


def draw(dtype: torch.dtype, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(count)
    listed = torch.tensor(SPECIAL if dtype.is_floating_point else LONGS, dtype=dtype)
    some = listed[torch.randint(0, len(listed), (count,), generator=generator)]
    others = (torch.randn(count, generator=generator) * 5).to(dtype)
    return torch.where(torch.rand(count, generator=generator) < 0.5, some, others)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 17, 3000])
def test_argsort_is_torchs_stable_sort(dtype, descending, count):
    values = draw(dtype, count)
    expected = values.argsort(descending=descending, stable=True)
    for given in (values, torch.stack((values, values), 1)[:, 0]):
        assert torch.ops.orbbec.argsort(given, descending).tolist() == expected.tolist()


def test_argsort_opcheck():
    torch.library.opcheck(torch.ops.orbbec.argsort.default, (draw(torch.float32, 9), True))


def test_argsort_names_the_bad_argument():
    with pytest.raises(ValueError, match=r"argsort: expected values of shape \[N\], but got \[2, 2\]"):
        torch.ops.orbbec.argsort(torch.zeros(2, 2), False)
    with pytest.raises(ValueError, match="argsort: expected values of float32, float64 or int64"):
        torch.ops.orbbec.argsort(torch.zeros(2, dtype=torch.int32), False)


@pytest.mark.parametrize("count", [0, 1, 5, 1000])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_selected_indices_are_torchs(count, fraction):
    generator = torch.Generator().manual_seed(count)
    indices, mask = (
        torch.randperm(2 * count, generator=generator),
        torch.rand(count, generator=generator) < fraction,
    )
    for given in (indices[:count], indices[::2]):
        assert torch.ops.orbbec.selected_indices(given, mask).tolist() == given[mask].tolist()


def test_selected_indices_opcheck_and_bad_arguments():
    selected_indices = torch.ops.orbbec.selected_indices
    torch.library.opcheck(
        selected_indices.default, (torch.arange(4), torch.tensor([True, False, True, True]))
    )
    with pytest.raises(ValueError, match=r"selected_indices: expected indices of int64 and shape \[N\]"):
        selected_indices(torch.zeros(2), torch.ones(2, dtype=torch.bool))
    for wrong in (torch.ones(3, dtype=torch.bool), torch.ones(2)):
        with pytest.raises(ValueError, match=r"selected_indices: expected chosen of bool and shape \[2\]"):
            selected_indices(torch.arange(2), wrong)
