"""Operators refuse forward-mode gradients, which torch would treat as 0."""

import pytest
import torch
from torch.autograd import forward_ad

import orbbec

IMAGES = torch.rand(2, 3, 9, 8)
ROIS = torch.tensor([[0.0, 1, 1, 6, 7], [1, 0, 2, 5, 5]])
CALLS = {
    "warp_affine": lambda x: orbbec.warp_affine(x, torch.eye(3)[:2].expand(2, 2, 3), (5, 6)),
    "resize": lambda x: orbbec.resize(x, (5, 6), antialias=True),
    "gaussian_blur": lambda x: orbbec.gaussian_blur(x, 3, 1.0),
    "median_blur": lambda x: orbbec.median_blur(x, 3),
    "cvt_color": lambda x: orbbec.cvt_color(x, "RGB", "GRAY"),
    "mosaic": lambda x: orbbec.mosaic(x, torch.tensor([[0, 1, 1, 0]]), torch.tensor([3, 4]), (8, 8)),
    "adjust_color": lambda x: orbbec.adjust_brightness(x, 0.5),
    "normalize": lambda x: orbbec.normalize(x, (0.5,), (0.5,)),
    "roi_align": lambda x: orbbec.roi_align(x, ROIS, 2),
    "roi_pool": lambda x: orbbec.roi_pool(x, ROIS, 2),
    "roi_align_rotated": lambda x: orbbec.roi_align_rotated(x, ROIS[:, [0, 1, 2, 3, 4, 0]], 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_forward_gradient_is_refused(name):
    call, direction = CALLS[name], torch.ones_like(IMAGES)
    message = f"orbbec::{name}: no forward-mode gradient"
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=message):
        call(forward_ad.make_dual(IMAGES, direction))
    with pytest.raises(NotImplementedError, match=message):
        torch.func.jvp(call, (IMAGES,), (direction,))
    with forward_ad.dual_level():
        assert torch.equal(call(IMAGES), call(IMAGES.clone()))
