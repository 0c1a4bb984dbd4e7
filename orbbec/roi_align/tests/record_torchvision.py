"""Writes torchvision.npz next to this file: results of torchvision's CPU operators for the test cases.

Usage: python orbbec/roi_align/tests/record_torchvision.py, with torchvision 0.25 and orbbec installed.

It contains whole results of the first cases, and SHA-256 digests of all results.
"""

import hashlib
from pathlib import Path

import numpy as np
import torch

from tests.support.rois import roi_case

WHOLE, ALL = 12, 240  # cases
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def digest(tensor):
    return np.frombuffer(hashlib.sha256(tensor.detach().contiguous().numpy().tobytes()).digest(), np.uint8)


def main() -> None:
    import torchvision

    recorded = {"version": np.array(torchvision.__version__)}
    for operator in ("roi_align", "roi_pool"):
        call = getattr(torchvision.ops, operator)
        for name, dtype in DTYPES.items():
            digests = []
            for seed in range(ALL):
                case = roi_case(seed, dtype)
                options = case.align_options() if operator == "roi_align" else case.pool_options()
                features = case.input.clone().requires_grad_()
                output = call(features, case.rois, **options)
                output.backward(case.gradient)
                digests.append([digest(output), digest(features.grad)])
                if seed < WHOLE and dtype == torch.float32:
                    recorded[f"{operator}_output_{seed}"] = output.detach().numpy()
                    recorded[f"{operator}_gradient_{seed}"] = features.grad.numpy()
            recorded[f"{operator}_{name}"] = np.array(digests)
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **recorded)


if __name__ == "__main__":
    main()
