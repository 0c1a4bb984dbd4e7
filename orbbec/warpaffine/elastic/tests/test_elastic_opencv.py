"""elastic_transform compared with cv::remap at its positions."""

import numpy as np
import pytest
import torch

opencv = pytest.importorskip("tests.support.peers.opencv", reason="needs cv2")

from orbbec.warpaffine.elastic import elastic_displacement, elastic_transform
from tests.support import assert_same_bytes, photograph


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect101"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_elastic_transform_has_the_bits_of_opencv(device, dtype, border, interpolation):
    for seed, size in enumerate([(2, 3), (7, 13), (30, 41)]):
        image = photograph(*size, 3, dtype, seed)
        dx, dy = elastic_displacement([0], size, 12.0, 1.3, seed=seed)[0].numpy()
        y, x = np.mgrid[: size[0], : size[1]].astype(np.float32)
        options = {"interpolation": interpolation, "border": border, "fill": (7, 30, 250)}
        expected = opencv.warp("remap", image, (x + dx, y + dy), size, **options)
        placed = device.put(torch.from_numpy(image).permute(2, 0, 1))
        actual = elastic_transform(placed, 12.0, 1.3, seed=seed, **options)
        assert_same_bytes(actual.permute(1, 2, 0).cpu().numpy(), expected)
