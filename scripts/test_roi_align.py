"""RoIAlign, called as in the README of an earlier package, compared with NumPy and torchvision.

torchvision, if it can be imported, is compared bit for bit; NumPy, in float64, to a thousandth. Exits with 1
if they differ.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
import orbbec
from orbbec import RoIAlign as PackageRoIAlign
from orbbec.roi_align import RoIAlign
from tests.support.roi_oracle import oracle_align

TOLERANCE = 1e-3  # measured: 7.1e-5, for features up to 20


def features_and_rois() -> tuple[torch.Tensor, torch.Tensor]:
    """Two feature maps of stride 16, and boxes of an image of 800 x 1088 pixels."""
    generator = torch.Generator().manual_seed(0)
    features = 4 * torch.randn(2, 8, 50, 68, generator=generator)
    corners = torch.rand(40, 2, 2, generator=generator) * torch.tensor([1088.0, 800.0])
    corners = corners.sort(dim=1).values.flatten(1)
    return features, torch.cat([torch.arange(40.0)[:, None] % 2, corners], dim=1)


def is_near(name: str, actual: torch.Tensor, expected: np.ndarray) -> bool:
    worst = float(np.abs(actual.numpy() - expected).max())
    print(f"{'same' if worst < TOLERANCE else 'DIFFERENT'}: {name}: largest difference {worst:.1e}")
    return worst < TOLERANCE


def is_same(name: str, actual: torch.Tensor, expected: torch.Tensor) -> bool:
    differ = int((actual != expected).sum())
    print(f"{'same' if differ == 0 else 'DIFFERENT'}: {name}: {differ} of {actual.numel()} values differ")
    return differ == 0


def main() -> bool:
    features, rois = features_and_rois()
    all_same = PackageRoIAlign is RoIAlign
    calls = {
        "RoIAlign(7, 1/16, 2)": (RoIAlign(7, 1 / 16, 2), (7, 2, True)),
        "RoIAlign(7, 1/16)": (RoIAlign(7, 1 / 16), (7, 0, True)),
        "RoIAlign((7, 5), 1/16, 2, use_torchvision=True)": (
            RoIAlign((7, 5), 1 / 16, 2, use_torchvision=True),
            ((7, 5), 2, True),
        ),
        "RoIAlign(7, 1/16, 0, aligned=False)": (
            RoIAlign(7, 1 / 16, 0, aligned=False),
            (7, 0, False),
        ),
    }
    for name, (module, (size, sampling_ratio, aligned)) in calls.items():
        images = features.clone().requires_grad_()
        actual = module(images, rois)
        actual.square().sum().backward()
        both = (size, size) if isinstance(size, int) else size
        expected = oracle_align(features.numpy(), rois.numpy(), both, 1 / 16, sampling_ratio, aligned)
        all_same &= is_near(f"{name} and NumPy", actual.detach(), expected)
        if importlib.util.find_spec("torchvision") is None:
            continue
        import torchvision

        theirs = features.clone().requires_grad_()
        expected = torchvision.ops.roi_align(theirs, rois, size, 1 / 16, sampling_ratio, aligned)
        expected.square().sum().backward()
        version = torchvision.__version__
        all_same &= is_same(f"{name} and torchvision {version}", actual.detach(), expected.detach())
        all_same &= is_same(f"{name} and torchvision {version}, gradients", images.grad, theirs.grad)
    boxes = [rois[rois[:, 0] == n, 1:] for n in range(2)]
    by_image = rois[rois[:, 0].argsort(stable=True)]
    listed = orbbec.roi_align(features, boxes, 7, 1 / 16, 2)
    all_same &= is_same("a list of boxes and a table", listed, RoIAlign(7, 1 / 16, 2)(features, by_image))
    return bool(all_same)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
