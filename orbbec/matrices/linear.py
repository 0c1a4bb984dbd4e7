"""Small linear systems in elementwise float64 operations of fixed order: the same bits on every device."""

from __future__ import annotations

import torch

# Below this a pivot counts as zero, as in OpenCV's LU for float64.
SMALLEST_PIVOT = 100 * torch.finfo(torch.float64).eps


def solve_lu(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Solve ``a @ x = b`` by LU with partial pivoting, in the order of operations of ``cv::hal::LU64f``.

    Args:
        a: float64 ``[..., M, M]``.
        b: float64 ``[..., M]``.

    Returns:
        ``x``, ``[..., M]``, and whether the system is singular, bool ``[...]``; then ``x`` is finite but
        meaningless.
    """
    rows = torch.cat([a, b.unsqueeze(-1)], dim=-1)
    singular = torch.zeros_like(b[..., 0], dtype=torch.bool)
    upper: list[tuple[torch.Tensor, torch.Tensor]] = []
    for _ in range(b.shape[-1]):
        rows = _largest_first(rows)
        pivot = rows[..., 0, 0]
        singular = singular | (pivot.abs() < SMALLEST_PIVOT)
        pivot = torch.where(singular, 1.0, pivot)
        top, below = rows[..., 0, 1:], rows[..., 1:, :]
        upper.append((pivot, top))
        factor = below[..., 0] * (-1 / pivot).unsqueeze(-1)
        rows = below[..., 1:] + factor.unsqueeze(-1) * top.unsqueeze(-2)
    return _substitute_back(upper), singular


def sum_last(values: torch.Tensor) -> torch.Tensor:
    """Sum over the last dimension pairwise, in an order independent of device and batch size."""
    while values.shape[-1] > 1:
        half = (values.shape[-1] + 1) // 2
        rest, missing = values[..., half:], 2 * half - values.shape[-1]
        values = values[..., :half] + (torch.nn.functional.pad(rest, (0, missing)) if missing else rest)
    return values[..., 0]


def sum_first(values: torch.Tensor) -> torch.Tensor:
    """Sum over the first dimension, like `sum_last`; an empty sum is zero."""
    return sum_last(values.movedim(0, -1)) if len(values) else values.new_zeros(values.shape[1:])


def _largest_first(rows: torch.Tensor) -> torch.Tensor:
    """Swap the first row with the row of the largest first value; the first one at a tie."""
    largest = rows[..., 0].abs().argmax(dim=-1, keepdim=True)
    index = torch.arange(rows.shape[-2], device=rows.device)
    swapped = torch.where(index == 0, largest, torch.where(index == largest, 0, index))
    return rows.gather(-2, swapped.unsqueeze(-1).expand_as(rows))


def _substitute_back(upper: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """Solve the triangular system; each entry is a pivot and the rest of its row, right-hand side last."""
    x: list[torch.Tensor] = []
    for pivot, row in reversed(upper):
        value = row[..., -1]
        for k, known in enumerate(x):
            value = value - row[..., k] * known
        x.insert(0, value / pivot)
    return torch.stack(x, dim=-1)
