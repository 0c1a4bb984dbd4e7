"""Tables reach another device in one copy."""

import numpy as np
import torch

from orbbec.plan.packing import on_device


def test_tables_for_another_device_are_one_copy_that_nothing_waits_for(monkeypatch):
    copies, empty = [], torch.empty

    class OnHost(torch.Tensor):
        def to(self, *device, **how):
            copies.append((*device, self.nbytes, how))
            return self.clone()

    monkeypatch.setattr(
        torch, "empty", lambda *size, pin_memory, **how: empty(*size, **how).as_subclass(OnHost)
    )
    tables = {"sigma": np.arange(5.0), "drawn": np.array([True, False]), "size": np.full((3, 2), -7)}
    found = on_device(tables, torch.device("cuda"))
    assert copies == [
        (torch.device("cuda"), 3 * 64, {"non_blocking": True})
    ]  # each begins at a multiple of 64
    assert {name: table.tolist() for name, table in found.items()} == {
        name: table.tolist() for name, table in tables.items()
    }


def test_tables_of_which_one_is_a_tensor_are_left_as_they_are():
    tables = {"sigma": np.ones(2), "which": torch.ones(2)}
    assert on_device(tables, torch.device("meta")) is tables
