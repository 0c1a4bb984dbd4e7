"""Measures how DALI's operators differ from orbbec's on the CPU: the table of docs/how-to/moving/dali.md.

    python scripts/parity/compare_dali.py

Needs nvidia-dali in the version that the page names.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from nvidia.dali import fn, pipeline_def, types

sys.path.insert(0, str(Path(__file__).parents[2]))
import orbbec
from tests.support import photograph

Array = npt.NDArray[Any]

SIDES = (224, 224)
AFFINE = ((0.8, -0.3, 60.0), (0.3, 0.8, -40.0))  # source pixel to output pixel
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
IMAGES = [photograph(375, 500), photograph(333, 500), photograph(480, 640)]
# For DALI, (0, 0) is the corner of a pixel, for orbbec its center: shift by half a pixel and back.
CORNERS = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])


def affine_of_dali() -> list[float]:
    moved = CORNERS @ np.array([*AFFINE, (0, 0, 1)]) @ np.linalg.inv(CORNERS)
    return [float(value) for value in moved[:2].flatten()]


def normalized(image: Array) -> Array:
    tensor = torch.from_numpy(image).permute(2, 0, 1)
    return orbbec.normalize(tensor, MEAN, STD).numpy().transpose(1, 2, 0)


def normalized_by_dali(images: Any) -> Any:
    scaled = [[255 * value for value in values] for values in (MEAN, STD)]
    return fn.crop_mirror_normalize(images, output_layout="HWC", mean=scaled[0], std=scaled[1])


COMPARED: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Array]]] = {
    "`fn.warp_affine(matrix)`": (
        lambda images: fn.warp_affine(
            images, matrix=affine_of_dali(), size=SIDES, fill_value=0, inverse_map=False
        ),
        lambda image: orbbec.warp_affine(image, np.array(AFFINE), SIDES),
    ),
    "`fn.resize(antialias=False)`": (
        lambda images: fn.resize(images, size=SIDES, antialias=False, interp_type=types.INTERP_LINEAR),
        lambda image: orbbec.resize(image, SIDES),
    ),
    "`fn.resize()`, antialiased": (
        lambda images: fn.resize(images, size=SIDES, interp_type=types.INTERP_LINEAR),
        lambda image: orbbec.resize(image, SIDES, antialias=True),
    ),
    "`fn.flip`": (lambda images: fn.flip(images), lambda image: image[:, ::-1]),
    "`fn.crop_mirror_normalize`": (normalized_by_dali, normalized),
    "`fn.brightness(1.3)`": (
        lambda images: fn.brightness(images, brightness=1.3),
        lambda image: adjusted(orbbec.adjust_brightness, image, 1.3),
    ),
    "`fn.saturation(1.3)`": (
        lambda images: fn.saturation(images, saturation=1.3),
        lambda image: adjusted(orbbec.adjust_saturation, image, 1.3),
    ),
    "`fn.hue(36)`": (
        lambda images: fn.hue(images, hue=36.0),
        lambda image: adjusted(orbbec.adjust_hue, image, 0.1),
    ),
    "`fn.gaussian_blur(5, 1.5)`": (
        lambda images: fn.gaussian_blur(images, window_size=5, sigma=1.5),
        lambda image: orbbec.gaussian_blur(image, 5, 1.5),
    ),
    "`fn.jpeg_compression_distortion(50)`": (
        lambda images: fn.jpeg_compression_distortion(images, quality=50),
        lambda image: orbbec.jpeg_compression(image, 50),
    ),
    "`fn.color_space_conversion` to gray": (
        lambda images: fn.color_space_conversion(images, image_type=types.RGB, output_type=types.GRAY),
        lambda image: orbbec.cvt_color(image, "RGB", "GRAY").reshape(*image.shape[:2], 1),
    ),
}


def adjusted(adjust: Callable[..., Any], image: Array, factor: float) -> Array:
    return np.asarray(adjust(image, factor))


def by_dali(graph: Callable[[Any], Any]) -> list[Array]:
    @pipeline_def(batch_size=len(IMAGES), num_threads=1, device_id=None)
    def pipeline() -> Any:
        return graph(fn.external_source(lambda: IMAGES, layout="HWC"))

    built = pipeline()
    built.build()
    return [np.asarray(output) for output in built.run()[0]]


def main() -> None:
    """Print one row per operator."""
    for name, (graph, ours) in COMPARED.items():
        pairs = zip(by_dali(graph), map(ours, IMAGES), strict=True)
        differences = np.concatenate([np.abs(a.astype(np.float64) - b).flatten() for a, b in pairs])
        fraction = (differences > 0).mean()
        print(f"| {name} | {differences.max():.3g} in {fraction:.3g} |" if fraction else f"| {name} | 0 |")


if __name__ == "__main__":
    main()
