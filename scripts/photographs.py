"""Real photographs for the scripts, from the wheels of scikit-image and scikit-learn."""

from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]

FILES = {
    "astronaut": ("skimage", "data/astronaut.png"),
    "cat": ("skimage", "data/chelsea.png"),
    "coffee": ("skimage", "data/coffee.png"),
    "coins": ("skimage", "data/coins.png"),
    "flower": ("sklearn", "datasets/images/flower.jpg"),
    "galaxies": ("skimage", "data/hubble_deep_field.jpg"),
    "motorcycle": ("skimage", "data/motorcycle_left.png"),
    "palace": ("sklearn", "datasets/images/china.jpg"),
    "retina": ("skimage", "data/retina.jpg"),
    "rocket": ("skimage", "data/rocket.jpg"),
    "tissue": ("skimage", "data/ihc.png"),
}
COLORED = tuple(name for name in FILES if name != "coins")
LARGEST_SIDE = 512  # pixels
DISTRIBUTIONS = {"skimage": "scikit-image", "sklearn": "scikit-learn"}


def load_photograph(name: str) -> Image:
    """Read a photograph of `FILES` as RGB `[H, W, 3]`, at most `LARGEST_SIDE` pixels wide or high.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    package, file = FILES[name]
    # Located without an import, which would take seconds for scikit-learn.
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec else None
    path = Path(folders[0], file) if folders else None
    image = cv2.imread(str(path)) if path and path.exists() else None
    if image is None:
        raise FileNotFoundError(
            f"no photograph '{name}': pip install -r requirements/demo.txt ({DISTRIBUTIONS[package]})"
        )
    scale = LARGEST_SIDE / max(image.shape)
    if scale < 1:
        image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(image[:, :, ::-1])


def load_photographs() -> dict[str, Image]:
    """The color photographs by name, as RGB `[H, W, 3]` of different sizes."""
    return {name: load_photograph(name) for name in COLORED}
