"""Pipelines as YAML."""

import numpy as np
import pytest

pytest.importorskip("yaml")

from orbbec import transforms as T


def test_pipelines_are_saved_as_yaml():
    pipeline = T.Compose([T.RandomResizedCrop(16), T.RandomApply([T.GaussianBlur(3)]), T.Normalize()], seed=3)
    assert T.Compose.from_yaml(pipeline.to_yaml()).to_json() == pipeline.to_json()


def test_floats_of_numpy_are_saved_as_floats():
    half = np.float64(0.5)
    transforms = [T.ColorJitter(half), T.RandomIoUCrop(half, sampler_options=(half,))]
    pipeline = T.Compose(transforms, target_options=T.TargetOptions(min_size=half))
    assert T.Compose.from_yaml(pipeline.to_yaml()) == pipeline
