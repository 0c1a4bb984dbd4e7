"""Records torchvision 0.25's results for small images: `python record_torchvision.py`, with torchvision."""

import json
from pathlib import Path

import numpy as np
import torch

from tests.support import photographs

# Name of the functional, its arguments for uint8, for floats.
CALLS = [
    ("adjust_brightness", (0.3,), (0.3,)),
    ("adjust_brightness", (1.7,), (1.7,)),
    ("adjust_contrast", (0.35,), (0.35,)),
    ("adjust_contrast", (1.6,), (1.6,)),
    ("adjust_saturation", (0.0,), (0.0,)),
    ("adjust_saturation", (1.9,), (1.9,)),
    ("adjust_hue", (-0.5,), (-0.5,)),
    ("adjust_hue", (0.137,), (0.137,)),
    ("adjust_gamma", (0.45,), (0.45,)),
    ("adjust_gamma", (2.2, 1.3), (2.2, 1.3)),
    ("adjust_sharpness", (0.0,), (0.0,)),
    ("adjust_sharpness", (2.5,), (2.5,)),
    ("invert", (), ()),
    ("posterize", (3,), (3,)),
    ("solarize", (100,), (0.4,)),
    ("autocontrast", (), None),
    ("equalize", (), None),
]
SIZES = [(1, 1), (2, 3), (7, 13), (9, 34)]


def sample(height: int, width: int, channels: int, seed: int) -> torch.Tensor:
    image = photographs(1, channels, height, width, seed=seed)[0]
    return image // 2 + 40 if seed % 2 else image


def main() -> None:
    import torchvision
    import torchvision.transforms.v2.functional as tv

    arrays = {"version": np.array(torchvision.__version__), "calls": np.array(json.dumps(CALLS))}
    for index, (name, on_bytes, on_floats) in enumerate(CALLS):
        for height, width in SIZES:
            for channels in (1, 3):
                image = sample(height, width, channels, index + height)
                key = f"{index}/{channels}/{height}x{width}"
                arrays[f"{key}/image"] = image.numpy()
                arrays[f"{key}/uint8"] = getattr(tv, name)(image, *on_bytes).numpy()
                if on_floats is not None:
                    arrays[f"{key}/float32"] = getattr(tv, name)(image / 255, *on_floats).numpy()
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **arrays)


if __name__ == "__main__":
    main()
