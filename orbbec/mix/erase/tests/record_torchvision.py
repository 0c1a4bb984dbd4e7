"""Records torchvision 0.25's results of erase: `python record_torchvision.py`, with torchvision."""

from pathlib import Path

import numpy as np
import torch

from tests.support import photographs

# Channels, height, width; left, top, right, bottom; the values.
CASES = [
    ((3, 1, 1), (0, 0, 1, 1), (7,)),
    ((3, 7, 13), (2, 1, 9, 6), (1, 20, 255)),
    ((1, 9, 34), (30, 0, 34, 9), (3,)),
    ((4, 20, 33), (0, 19, 33, 20), (0, 1, 2, 3)),
    ((3, 5, 6), (2, 2, 2, 5), (9,)),
]
DTYPES = ("uint8", "float16", "float32")


def main() -> None:
    import torchvision
    from torchvision.transforms.v2.functional import erase

    arrays = {"version": np.array(torchvision.__version__)}
    for index, (shape, (left, top, right, bottom), values) in enumerate(CASES):
        value = torch.tensor(values, dtype=torch.float32)[:, None, None]
        for dtype in DTYPES:
            image = photographs(1, *shape, getattr(torch, dtype))[0]
            erased = erase(image, top, left, bottom - top, right - left, value)
            key = f"{index}/{dtype}"
            arrays |= {f"{key}/image": image.numpy(), f"{key}/erased": erased.numpy()}
            arrays |= {f"{key}/box": np.array([left, top, right, bottom]), f"{key}/values": np.array(values)}
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **arrays)


if __name__ == "__main__":
    main()
