"""Records results of torchvision's box functions: `python record_torchvision.py`, with torchvision 0.25."""

from pathlib import Path

import numpy as np
import torch


def random_boxes(count: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Boxes from 0 to 160, one in ten of them reversed along a side, one in twenty a copy."""
    draw = np.random.default_rng(seed)
    corner = draw.uniform(0, 100, (count, 2))
    boxes = np.concatenate([corner, corner + draw.uniform(-3, 57, (count, 2))], 1)
    boxes[::20] = boxes[0]
    return torch.tensor(boxes).to(dtype)


def main() -> None:
    import torchvision
    import torchvision.ops as tv

    record: dict[str, np.ndarray] = {"version": np.array(torchvision.__version__)}
    for name in ("float32", "float64"):
        dtype = getattr(torch, name)
        first, second = random_boxes(31, dtype, 1), random_boxes(23, dtype, 2)
        record[f"first_{name}"], record[f"second_{name}"] = first.numpy(), second.numpy()
        for measure in ("box_iou", "generalized_box_iou", "distance_box_iou", "complete_box_iou"):
            record[f"{measure}_{name}"] = getattr(tv, measure)(first, second).numpy()
        for fmt in ("xywh", "cxcywh"):
            record[f"box_iou_{fmt}_{name}"] = tv.box_iou(first, second, fmt).numpy()
            record[f"box_area_{fmt}_{name}"] = tv.box_area(first, fmt).numpy()
        record[f"box_area_xyxy_{name}"] = tv.box_area(first).numpy()
        record[f"clipped_{name}"] = tv.clip_boxes_to_image(first, (70, 90)).numpy()
        record[f"large_{name}"] = tv.remove_small_boxes(first, 20).numpy()
        for source in ("xyxy", "xywh", "cxcywh"):
            for target in ("xyxy", "xywh", "cxcywh"):
                record[f"{source}_to_{target}_{name}"] = tv.box_convert(first, source, target).numpy()
        angles = torch.linspace(-200, 200, len(first), dtype=dtype)[:, None]
        rotated = torch.cat((first.abs() + 1, angles), 1)
        corners = tv.box_convert(rotated, "cxcywhr", "xyxyxyxy")
        record[f"rotated_{name}"] = rotated.numpy()
        record[f"cxcywha_to_xyxyxyxy_{name}"] = corners.numpy()
        record[f"xyxyxyxy_to_cxcywha_{name}"] = tv.box_convert(corners, "xyxyxyxy", "cxcywhr").numpy()
    masks = np.random.default_rng(3).random((9, 31, 45)) > 0.995
    masks[0, 4, 44] = masks[1, 30, 0] = True
    masks = masks[masks.any((1, 2))]
    record["masks"], record["masks_to_boxes"] = masks, tv.masks_to_boxes(torch.tensor(masks)).numpy()
    np.savez_compressed(Path(__file__).with_name("torchvision.npz"), **record)


if __name__ == "__main__":
    main()
