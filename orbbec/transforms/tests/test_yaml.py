"""Chains as YAML."""

import pytest

pytest.importorskip("yaml")

from orbbec import transforms as T


def test_chains_are_saved_as_yaml():
    chain = T.Compose([T.RandomResizedCrop(16), T.RandomApply([T.GaussianBlur(3)]), T.Normalize()], seed=3)
    assert T.Compose.from_yaml(chain.to_yaml()).to_json() == chain.to_json()
