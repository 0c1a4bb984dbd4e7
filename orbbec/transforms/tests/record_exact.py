"""Writes exact.json: digests of the results of reference functions for random cases.

    python orbbec/transforms/tests/record_exact.py     (with OpenCV 5.0, Pillow 13, torchvision 0.25)

`forms`: the digests of the first cases of each form of tests/support/peers/transforms.py whose reference is
torchvision and that promises identity. `pipelines`: a digest per seed, of the functions in sequence.
"""

import hashlib
import json
from pathlib import Path

import numpy as np
import torch

from tests.support.peers.transforms import FORMS, Pipeline

CASES, PIPELINES = 12, 150
PATH = Path(__file__).with_name("exact.json")


def digest(array):
    """A digest of shape, dtype and bytes."""
    array = np.ascontiguousarray(array)
    text = f"{array.shape} {array.dtype}".encode()
    return hashlib.sha256(text + array.tobytes()).hexdigest()[:16]


def recorded_forms():
    return [form for form in FORMS if form.author == "torchvision" and form.promised]


def answers(form):
    """The results of orbbec and of the reference for the first cases, each as a function."""
    rng = np.random.default_rng([7, *form.name.encode()])
    return [form.answers(rng, most=20) for _ in range(CASES)]


def main():
    torch.set_num_threads(1)
    content = {
        "forms": {
            form.line().name: [digest(theirs()) for _, theirs in answers(form)] for form in recorded_forms()
        },
        "pipelines": [digest(Pipeline.drawn(seed).theirs()) for seed in range(PIPELINES)],
    }
    PATH.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
