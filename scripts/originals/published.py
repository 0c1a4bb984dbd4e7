"""Originals of recipes for `compare_recipes.py`: single files of packages, and steps after published code.

The packages themselves need ONNX Runtime, networks or PaddlePaddle; their files of augmentations do not.
"""

import random
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import cv2
import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torchvision import ops, tv_tensors
from torchvision.transforms import v2

from orbbec import recipes
from orbbec.bridge.arguments import Array

FACES = [[150.0, 120.0], [230.0, 118.0], [190.0, 170.0], [160.0, 215.0], [226.0, 212.0]]  # five landmarks
OBJECTS = [[100.0, 50.0, 220.0, 150.0], [200.0, 120.0, 390.0, 290.0], [20.0, 160.0, 120.0, 280.0]]
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

Draw: TypeAlias = Callable[[], Tensor]


def published_recipes(
    image: Image.Image, count: int, size: int, jitter: v2.Transform
) -> dict[str, tuple[str, Draw, Draw]]:
    """The package of the original, a batch of the recipe, and one result of the original, by recipe.

    Args:
        image: the photograph.
        count: images of a batch.
        size: of the results in pixels.
        jitter: the original of `lsj`.
    """
    pixels = np.array(image)
    line = np.ascontiguousarray(pixels[200:232, 50:200])
    depth = (np.indices(pixels.shape[:2]).sum(0) / 100 + 1).astype(np.float32)
    batch, lines = (
        torch.from_numpy(each).permute(2, 0, 1).expand(count, -1, -1, -1) for each in (pixels, line)
    )
    align, estimate, read = recipes.face_recognition(), recipes.depth(size), recipes.ocr_line()
    paste, objects = recipes.lsj_copy_paste(size), [ellipses(OBJECTS, image.height, image.width)] * count
    depths = [{"depth": torch.from_numpy(depth)}] * count

    def faces() -> Tensor:
        return align(batch, [{"landmarks": torch.from_numpy(landmarks())} for _ in range(count)])[0]

    originals = {
        "lsj_copy_paste": ("torchvision", of_copy_paste(jitter, image, count)),
        "face_recognition": ("insightface", of_insightface(pixels)),
        "depth": ("jkp-depth-anything-v2", of_depth_anything(pixels, depth, size)),
        "ocr_line": ("paddleocr", of_paddleocr(line)),
    }
    ours: dict[str, Draw] = {
        "lsj_copy_paste": lambda: paste(batch, objects)[0],
        "face_recognition": faces,
        "depth": lambda: estimate(batch, depths)[0],
        "ocr_line": lambda: read(lines),
    }
    return {name: (package, ours[name], draw) for name, (package, draw) in originals.items()}


def module_of(package: str, file: str, needs: dict[str, Any] | None = None) -> ModuleType:
    """A file of an installed package, imported without the package.

    Args:
        package: its name.
        file: from its folder.
        needs: modules that the file imports and does not use here, by name.
    """
    found = find_spec(package)
    if found is None or found.submodule_search_locations is None:
        raise ModuleNotFoundError(f"compare_recipes: {package} is not installed", name=package)
    path = Path(next(iter(found.submodule_search_locations)), file)
    for name, content in (needs or {}).items():
        module = sys.modules.setdefault(name, ModuleType(name))
        module.__dict__.update(content)
    folder = ModuleType(f"{package}_files")  # for its relative imports
    folder.__path__ = [str(path.parent)]
    sys.modules[folder.__name__] = folder
    spec = spec_from_file_location(f"{folder.__name__}.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def landmarks() -> Array:
    """Five landmarks of a face, float32 `[5, 2]`."""
    return np.asarray(FACES + np.random.normal(0, 6, (5, 2)), np.float32)


def of_insightface(image: Array) -> Draw:
    """InsightFace's aligned crop of 112 pixels, with the transforms of its training."""
    align = module_of("insightface", "utils/face_align.py").norm_crop
    finish = v2.Compose(
        [
            v2.ToPILImage(),
            v2.RandomHorizontalFlip(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3),
        ]
    )
    return lambda: finish(align(image, landmarks(), 112))


def of_depth_anything(image: Array, depth: Array, size: int) -> Draw:
    """Depth Anything V2's transforms of images and depth maps, its crop and its flip."""
    steps = module_of("depth_anything_v2", "util/transform.py")
    resize = steps.Resize(
        width=size,
        height=size,
        resize_target=True,
        keep_aspect_ratio=True,
        ensure_multiple_of=14,
        resize_method="lower_bound",
        image_interpolation_method=cv2.INTER_CUBIC,
    )
    transforms = v2.Compose([resize, steps.NormalizeImage(MEAN, DEVIATION), steps.PrepareForNet()])

    def draw() -> Tensor:
        sample = transforms({"image": image / 255.0, "depth": depth})
        height, width = sample["image"].shape[-2:]
        top, left = random.randint(0, height - size), random.randint(0, width - size)
        crop = ..., slice(top, top + size), slice(left, left + size)
        results = [torch.from_numpy(sample[key][crop]) for key in ("image", "depth")]
        if random.random() < 0.5:
            results = [result.flip(-1) for result in results]
        return results[0]

    return draw


def of_paddleocr(line: Array) -> Draw:
    """PaddleOCR's training augmentation of a line, without TIA, noise, and changes of hue and position."""
    unused = {
        "paddle": {},
        "paddle.vision": {},
        "paddle.vision.transforms": {"Compose": None, "ColorJitter": None},
    }
    steps = module_of("paddleocr", "ppocr/data/imaug/rec_img_aug.py", unused)
    augment = steps.RecAug(tia_prob=0, noise_prob=0, jitter_prob=0, hsv_aug_prob=0)

    def draw() -> Tensor:
        changed = augment({"image": line.copy()})["image"]
        return torch.from_numpy(steps.resize_norm_img(changed, (3, 48, 320))[0])

    return draw


def of_copy_paste(jitter: v2.Transform, image: Image.Image, count: int) -> Draw:
    """Simple Copy-Paste as torchvision's references do it: `count` images at once, each on the one before it.

    Args:
        jitter: large-scale jitter and the rest, for images with boxes and masks.
        image: the photograph.
        count: images of a batch.
    """
    target = ellipses(OBJECTS, image.height, image.width)
    canvas = image.height, image.width
    results: list[Tensor] = []

    def samples() -> Iterator[tuple[Tensor, dict[str, Tensor]]]:
        for _ in range(count):
            boxes = tv_tensors.BoundingBoxes(target["boxes"], format="XYXY", canvas_size=canvas)
            masks = tv_tensors.Mask(target["masks"])
            yield jitter(image, {"boxes": boxes, "masks": masks, "labels": target["labels"]})

    def draw() -> Tensor:
        if not results:
            batch = list(samples())
            pairs = zip(batch, batch[-1:] + batch[:-1], strict=True)
            results.extend(pasted(*one, *other)[0] for one, other in pairs)
        return results.pop()

    return draw


def ellipses(boxes: list[list[float]], height: int, width: int) -> dict[str, Tensor]:
    """The targets of ellipses in boxes."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    masks = [
        ((2 * x - left - right) / (right - left)) ** 2 + ((2 * y - top - bottom) / (bottom - top)) ** 2 <= 1
        for left, top, right, bottom in boxes
    ]
    labels = torch.arange(len(boxes))
    return {"boxes": torch.tensor(boxes), "labels": labels, "masks": torch.stack(masks).to(torch.uint8)}


def pasted(
    image: Tensor, target: dict[str, Tensor], other: Tensor, other_target: dict[str, Tensor]
) -> tuple[Tensor, dict[str, Tensor]]:
    """An image with some objects of another one, drawn with replacement, whose edges are blurred."""
    count = len(other_target["masks"])
    if count == 0:
        return image, target
    chosen = torch.randint(0, count, (count,)).unique()
    objects = {key: value.as_subclass(Tensor)[chosen] for key, value in other_target.items()}
    cover = v2.functional.gaussian_blur(objects["masks"].bool().any(0)[None], [5, 5], [2.0])
    masks = target["masks"].as_subclass(Tensor) * ~cover
    left = masks.flatten(1).any(1)
    below = {"masks": masks[left], "boxes": ops.masks_to_boxes(masks[left]), "labels": target["labels"][left]}
    joined = {key: torch.cat([value, objects[key]]) for key, value in below.items()}
    is_box = (joined["boxes"][:, 2:] > joined["boxes"][:, :2]).all(1)
    return image * ~cover + other * cover, {key: value[is_box] for key, value in joined.items()}
