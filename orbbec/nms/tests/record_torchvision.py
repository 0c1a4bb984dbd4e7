"""Writes torchvision_nms.npz: the random boxes that torchvision keeps. Needs torchvision, but not orbbec.

python orbbec/nms/tests/record_torchvision.py
"""

from pathlib import Path

import numpy as np
import torch

CASES = [(0, 0.5), (1, 0.5), (2, 0.0), (40, 0.3), (257, 0.5), (600, 0.7), (600, 1 / 3), (600, 1.0)]


def boxes_of(count: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Boxes on a grid of quarters, so that many ratios equal a threshold and many scores are equal."""
    corner = torch.randint(0, 400, (count, 2), generator=generator) / 4
    side = torch.randint(0, 160, (count, 2), generator=generator) / 4
    scores = torch.randint(0, 200, (count,), generator=generator) / 200
    groups = torch.randint(-2, 3, (count,), generator=generator)
    return torch.cat((corner, corner + side), dim=1), scores, groups


def main() -> None:
    import torchvision

    generator = torch.Generator().manual_seed(1)
    recorded = {"version": np.array(torchvision.__version__)}
    for number, (count, threshold) in enumerate(CASES):
        boxes, scores, groups = boxes_of(count, generator)
        keep = torchvision.ops.nms(boxes, scores, threshold)
        of_groups = [(groups == group).nonzero().flatten() for group in range(-2, 3)]
        # Class by class, because torchvision's other method moves the boxes apart, which rounds them.
        kept = [g[torchvision.ops.nms(boxes[g], scores[g], threshold)] for g in of_groups]
        for name, value in (("boxes", boxes), ("scores", scores), ("groups", groups), ("keep", keep)):
            recorded[f"{name}_{number}"] = value.numpy()
        recorded[f"batched_{number}"] = torch.cat(kept).sort()[0].numpy()
        recorded[f"threshold_{number}"] = np.array(threshold)
    np.savez_compressed(Path(__file__).with_name("torchvision_nms.npz"), **recorded)


if __name__ == "__main__":
    main()
