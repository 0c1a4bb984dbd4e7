"""Records torchvision 0.25's results for small images: `python record_torchvision.py`, with torchvision."""

from pathlib import Path

import numpy as np
import torch

from tests.support import photographs

SHAPE = (4, 3, 4, 5)
DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
}
WEIGHTS = (0.0, 0.25, 0.3, 0.7310585786300049, 1.0)
BOXES = ((0, 0, 5, 4), (2, 1, 4, 3), (2, 3, 2, 3), (4, 0, 5, 4))


def bits(values: torch.Tensor) -> np.ndarray:
    kind = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[values.element_size()]
    return values.contiguous().view(kind).numpy()


def main() -> None:
    import torchvision
    from torchvision.transforms import v2

    mixup, cutmix = v2.MixUp(num_classes=4), v2.CutMix(num_classes=4)
    recorded = {"version": np.array(torchvision.__version__)}
    for name, dtype in DTYPES.items():
        images = photographs(*SHAPE[:2], *SHAPE[2:], dtype)
        for weight in WEIGHTS:
            params = {"lam": weight, "labels": None, "batch_size": len(images)}
            recorded[f"mixup {name} {weight}"] = bits(mixup.transform(images, params))
    images = photographs(*SHAPE[:2], *SHAPE[2:])
    for box in BOXES:
        params = {"box": box, "labels": None, "batch_size": len(images)}
        recorded[f"cutmix {box}"] = bits(cutmix.transform(images, params))
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **recorded)


if __name__ == "__main__":
    main()
