"""Reference functions, called with the parameters that a transform of orbbec drew.

Needs `cv2`, `PIL` or `torchvision`.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from orbbec import transforms as T
from orbbec.bridge.arguments import Array
from orbbec.filters.filter import motion_kernels
from orbbec.noise.philox import philox_noise
from orbbec.plan import AugmentPass, Plan
from orbbec.plan.passes import Pass
from orbbec.transforms.auto import OPERATIONS
from orbbec.warpaffine.elastic import elastic_displacement
from tests.support.peers import jpegs, mixes
from tests.support.peers.peers import TORCHVISION
from tests.support.registers import Drawn, Registers

Theirs = Callable[["Call"], Array]


@dataclass(frozen=True)
class Call:
    """A transform, its drawn parameters, and its input images.

    Args:
        transform: a transform of `orbbec.transforms`.
        index: its index in its pipeline.
        seed: seed of its pipeline.
        images: `[N, H, W, C]`.
        target: the target of all images, for a transform that reads targets.
    """

    transform: Any
    index: int
    seed: int
    images: Array
    target: dict[str, Any] | None = None

    @property
    def sizes(self) -> Array:
        """The sizes of the images: `[N, 2]`."""
        return np.tile([self.images.shape[1:3]], (len(self.images), 1))

    @cached_property
    def plan(self) -> Plan:
        """The plan of the transform by itself, rounded after it; it draws by its index."""
        before = [T.ClampBoundingBoxes()] * self.index  # each has a random stream, and no pass
        targets = None if self.target is None else [self.target] * len(self.images)
        kind = {"channels": self.images.shape[3], "dtype": self.images.dtype.name, "targets": targets}
        pipeline = T.Compose([*before, self.transform], seed=self.seed, exact=True)
        return pipeline.plan(self.sizes, epoch=0, **kind)

    @property
    def columns(self) -> dict[str, Array]:
        """The parameters of the first pass of the plan."""
        return self.plan.table(0)

    @property
    def warp(self) -> AugmentPass:
        """The pass of a transform that is a warp."""
        (step,) = self.plan.passes
        assert isinstance(step, AugmentPass)
        return step

    @cached_property
    def registers(self) -> Registers:
        """What the rules of the transform compute."""
        return Registers(self.transform.rules, self.sizes, seed=self.seed, index=self.index)


def by_one(call: Callable[[Call, Array, int], Any]) -> Theirs:
    """An answer made image by image."""

    def theirs(given: Call) -> Array:
        results = [np.asarray(call(given, image, n)) for n, image in enumerate(given.images)]
        return np.stack([r.reshape(*r.shape[:2], -1) for r in results])

    return theirs


@by_one
def compressed(call: Call, image: Array, n: int) -> Array:
    """By Pillow's JPEG."""
    return jpegs.by_pillow(image, int(call.columns["quality"][n]), "420")


# Geometry.


@by_one
def warped(call: Call, image: Array, n: int) -> Array:
    import cv2

    from tests.support.peers import opencv

    step = call.warp
    flags = cv2.WARP_INVERSE_MAP | (cv2.INTER_LINEAR if step.interpolation == "linear" else cv2.INTER_NEAREST)
    warp = cv2.warpAffine if (step.matrix[n, 2] == (0, 0, 1)).all() else cv2.warpPerspective
    matrix = step.matrix[n, :2] if warp is cv2.warpAffine else step.matrix[n]
    size = (int(step.sizes[n, 1]), int(step.sizes[n, 0]))
    fill = tuple(np.resize(step.fill, 4).tolist())
    border = opencv.BORDERS[step.border]
    return np.asarray(warp(image, matrix, size, flags=flags, borderMode=border, borderValue=fill))


@by_one
def cut(call: Call, image: Array, n: int) -> Array:
    """Parts of the image, and of what is put about it, by slices of `cv2.copyMakeBorder`."""
    import cv2

    from tests.support.peers import opencv

    step = call.warp
    left, top = (int(v) for v in step.matrix[n, :2, 2])
    height, width = (int(v) for v in step.sizes[n])
    before = max(0, -top), max(0, -left)
    after = max(0, top + height - image.shape[0]), max(0, left + width - image.shape[1])
    border = opencv.BORDERS[step.border]
    value = tuple(np.resize(step.fill, 4).tolist())
    whole = cv2.copyMakeBorder(image, before[0], after[0], before[1], after[1], border, value=value)
    return whole[top + before[0] :, left + before[1] :][:height, :width]


def flipped(axis: int) -> Theirs:
    def flip(call: Call, image: Array, n: int) -> Array:
        import cv2

        return np.asarray(cv2.flip(image, axis)) if (call.warp.matrix[n] != np.eye(3)).any() else image

    return by_one(flip)


@by_one
def resized_by_opencv(call: Call, image: Array, n: int) -> Array:
    import cv2

    left, top, right, bottom = call.columns["boxes"][n].astype(int)
    part = np.ascontiguousarray(image[top:bottom, left:right])
    return _cv2_resize(cv2, part, call.plan.output_sizes[n], call.transform.interpolation)


def _cv2_resize(cv2: Any, image: Array, size: Array, interpolation: str) -> Array:
    cv2.ipp.setUseIPP(False)
    method = cv2.INTER_LINEAR if interpolation == "linear" else cv2.INTER_NEAREST
    return np.asarray(cv2.resize(image, (int(size[1]), int(size[0])), interpolation=method))


@by_one
def resized_by_pillow(call: Call, image: Array, n: int) -> Array:
    from PIL import Image

    box = tuple(call.columns["boxes"][n].tolist())
    height, width = call.plan.output_sizes[n].tolist()
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR, box))


@by_one
def resized_by_torchvision(call: Call, image: Array, n: int) -> Array:
    functional = importlib.import_module(TORCHVISION)
    left, top, right, bottom = call.columns["boxes"][n].astype(int).tolist()
    part = _tensor(image)[:, top:bottom, left:right]
    mode = functional.InterpolationMode("bilinear" if call.transform.interpolation == "linear" else "nearest")
    size = call.plan.output_sizes[n].tolist()
    return _array(functional.resize(part, size, interpolation=mode, antialias=call.transform.antialias))


@by_one
def letterboxed(call: Call, image: Array, n: int) -> Array:
    import cv2

    t, (height, width) = call.transform, image.shape[:2]
    scale = min(t.size[0] / height, t.size[1] / width)
    scale = scale if t.enlarge else min(scale, 1.0)
    inner = max(round(height * scale), 1), max(round(width * scale), 1)
    resized = _cv2_resize(cv2, image, np.array(inner), t.interpolation)
    top, left = (t.size[0] - inner[0]) // 2, (t.size[1] - inner[1]) // 2
    rest = t.size[0] - inner[0] - top, t.size[1] - inner[1] - left
    fill = tuple(np.resize(t.fill, 4).tolist())
    return np.asarray(cv2.copyMakeBorder(resized, top, rest[0], left, rest[1], 0, value=fill))


@by_one
def by_torchvision_affine(call: Call, image: Array, n: int) -> Array:
    functional = importlib.import_module(TORCHVISION)
    t = call.transform
    angle, x, y, scale, _, *shear = call.registers.of("affine", count=7)[0, n].tolist()
    options = {"fill": list(t.fill), "center": None if t.center is None else list(t.center)}
    mode = functional.InterpolationMode("bilinear" if t.interpolation == "linear" else "nearest")
    if isinstance(t, T.RandomRotation):
        turn = {"angle": -angle, "expand": t.expand}
        return _array(functional.rotate(_tensor(image), interpolation=mode, **turn, **options))
    arguments = (angle, [x, y], scale, shear)
    return _array(functional.affine(_tensor(image), *arguments, interpolation=mode, **options))


@by_one
def by_torchvision_perspective(call: Call, image: Array, n: int) -> Array:
    functional = importlib.import_module(TORCHVISION)
    t, (height, width) = call.transform, image.shape[:2]
    if (call.warp.matrix[n] == np.eye(3)).all():  # not chosen, or corners of which no matrix can be made
        return image
    starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
    inverse = np.linalg.inv(half @ call.warp.matrix[n] @ np.linalg.inv(half))
    moved = np.concatenate([starts, np.ones((4, 1))], 1) @ inverse.T
    ends = np.rint(moved[:, :2] / moved[:, 2:]).astype(int).tolist()
    mode = functional.InterpolationMode("bilinear" if t.interpolation == "linear" else "nearest")
    return _array(functional.perspective(_tensor(image), starts, ends, interpolation=mode, fill=list(t.fill)))


# Colors.


def _tensor(image: Array) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))


def _array(image: torch.Tensor) -> Array:
    return image.permute(1, 2, 0).contiguous().numpy()


def by_functional(arguments: Callable[[Call, int], tuple[Any, ...] | None], name: str) -> Theirs:
    """A torchvision function; if its arguments are None, the image is unchanged."""

    def apply(call: Call, image: Array, n: int) -> Array:
        given = arguments(call, n)
        function = getattr(importlib.import_module(TORCHVISION), name)
        return image if given is None else _array(function(_tensor(image), *given))

    return by_one(apply)


def if_chosen(*arguments: Any) -> Callable[[Call, int], tuple[Any, ...] | None]:
    def of(call: Call, n: int) -> tuple[Any, ...] | None:
        values = tuple(getattr(call.transform, a) if isinstance(a, str) else a for a in arguments)
        return values if call.columns["drawn"][n] else None

    return of


def grays(call: Call, n: int) -> tuple[Any, ...]:
    return (call.transform.num_output_channels,)


def gammas(call: Call, n: int) -> tuple[Any, ...]:
    return float(call.columns["gamma"][n]), call.transform.gain


def permutations(call: Call, n: int) -> tuple[Any, ...]:
    (step,) = call.plan.passes
    return (_permutation(step, n),)


def _permutation(step: Pass, n: int) -> list[int]:
    """The input channel of each output channel."""
    assert isinstance(step, AugmentPass)
    order: list[int] = step.colors[n, 0, 1:10].reshape(3, 3).argmax(1).tolist()
    return order


def norms(call: Call, n: int) -> tuple[Any, ...]:
    return list(call.transform.mean), list(call.transform.std)


def sigmas(call: Call, n: int) -> tuple[Any, ...]:
    return list(call.transform.kernel_size), [float(call.columns["sigma"][n])] * 2


_FACTORS = ("brightness_factor", "contrast_factor", "saturation_factor", "hue_factor")


@by_one
def jittered(call: Call, image: Array, n: int) -> Array:
    functional, result = importlib.import_module(TORCHVISION), _tensor(image)
    for step in call.plan.passes:
        columns = step.columns()
        if isinstance(step, AugmentPass):
            channels = _permutation(step, n) if step.colors.shape[1] else [0, 1, 2]
            result = functional.permute_channels(result, channels)
        elif columns["drawn"][n]:
            (factor,) = (columns[name][n] for name in _FACTORS if name in columns)
            result = getattr(functional, step.name)(result, float(factor))
    return _array(result)


@by_one
def operated(call: Call, image: Array, n: int) -> Array:
    """An automatic policy, slot by slot, by torchvision's functions."""
    result = _tensor(image)
    for operation, magnitude in operations(call.registers)[:, n]:
        result = _one_operation(OPERATIONS[int(operation)], result, float(magnitude), call.transform)
    return _array(result)


def operations(registers: Drawn) -> Array:
    """Operation and magnitude of the slots of a policy: `[slots, N, 2]`."""
    return np.concatenate([registers.of("auto_warp", operand) for operand in range(2)], 2)


@by_one
def blended(call: Call, image: Array, n: int) -> Array:
    """AugMix: the weighted sum of the image and its copies, each altered by torchvision's functions."""
    (blend,) = call.plan.passes
    weights, count = blend.tables(call.plan.key)["weights"][n], len(call.images)
    slots = operations(call.registers.copies)
    result = weights[0] * image
    for copy, weight in enumerate(weights[1:]):
        altered = _tensor(image)
        for operation, magnitude in slots[:, copy * count + n]:
            altered = _one_operation(OPERATIONS[int(operation)], altered, float(magnitude), call.transform)
        result = result + weight * _array(altered)
    return np.asarray(result.astype(np.uint8))


def _one_operation(name: str, image: torch.Tensor, magnitude: float, transform: Any) -> torch.Tensor:
    f = importlib.import_module(TORCHVISION)
    mode = f.InterpolationMode("bilinear" if transform.interpolation == "linear" else "nearest")
    how = {"interpolation": mode, "fill": list(transform.fill)}
    degrees = math.degrees(math.atan(magnitude))
    calls: dict[str, Callable[[], Any]] = {
        "Identity": lambda: image,
        "ShearX": lambda: f.affine(image, 0.0, [0, 0], 1.0, [degrees, 0.0], center=[0, 0], **how),
        "ShearY": lambda: f.affine(image, 0.0, [0, 0], 1.0, [0.0, degrees], center=[0, 0], **how),
        "TranslateX": lambda: f.affine(image, 0.0, [int(magnitude), 0], 1.0, [0.0, 0.0], **how),
        "TranslateY": lambda: f.affine(image, 0.0, [0, int(magnitude)], 1.0, [0.0, 0.0], **how),
        "Rotate": lambda: f.rotate(image, magnitude, **how),
        "Brightness": lambda: f.adjust_brightness(image, 1.0 + magnitude),
        "Color": lambda: f.adjust_saturation(image, 1.0 + magnitude),
        "Contrast": lambda: f.adjust_contrast(image, 1.0 + magnitude),
        "Sharpness": lambda: f.adjust_sharpness(image, 1.0 + magnitude),
        "Posterize": lambda: f.posterize(image, int(magnitude)),
        "Solarize": lambda: f.solarize(image, 255.0 * magnitude),
        "AutoContrast": lambda: f.autocontrast(image),
        "Equalize": lambda: f.equalize(image),
        "Invert": lambda: f.invert(image),
    }
    result: torch.Tensor = calls[name]()
    return result


@by_one
def gray(call: Call, image: Array, n: int) -> Array:
    import cv2

    return np.asarray(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


# Neighborhoods, rectangles, the end, several images.


@by_one
def blurred(call: Call, image: Array, n: int) -> Array:
    import cv2

    sigma = float(call.columns["sigma"][n])
    return np.asarray(cv2.GaussianBlur(image, tuple(call.transform.kernel_size), sigma, sigmaY=sigma))


@by_one
def median(call: Call, image: Array, n: int) -> Array:
    import cv2

    columns = call.columns
    side = int(columns["kernel_size"][n])
    return np.asarray(cv2.medianBlur(image, side)) if columns["drawn"][n] else image


@by_one
def smeared(call: Call, image: Array, n: int) -> Array:
    import cv2

    columns = call.columns
    if not columns["drawn"][n]:
        return image
    kernel = motion_kernels([int(columns["length"][n])], [float(columns["angle_degrees"][n])])[0].numpy()
    return np.asarray(cv2.filter2D(image, -1, kernel.astype(np.float32)))


@by_one
def displaced(call: Call, image: Array, n: int) -> Array:
    import cv2

    t = call.transform
    alpha, sigma = (torch.tensor([value]) for value in (t.alpha, t.sigma))
    key = {"seed": call.seed, "epoch": 0, "transform_index": call.index}
    dx, dy = elastic_displacement(torch.tensor([n]), image.shape[:2], alpha, sigma, **key)[0].numpy()
    y, x = np.mgrid[: image.shape[0], : image.shape[1]].astype(np.float32)
    method = cv2.INTER_LINEAR if t.interpolation == "linear" else cv2.INTER_NEAREST
    fill = tuple(np.resize(t.fill, 4).tolist())
    return np.asarray(cv2.remap(image, x + dx, y + dy, method, borderValue=fill))


_EDGES = ("left", "top", "right", "bottom")


@by_one
def erased(call: Call, image: Array, n: int) -> Array:
    functional = importlib.import_module(TORCHVISION)
    left, top, right, bottom = (int(call.columns[f"erase0.{edge}"][n]) for edge in _EDGES)
    value = torch.tensor(call.transform.value).to(torch.from_numpy(image).dtype).view(-1, 1, 1)
    return _array(functional.erase(_tensor(image), top, left, bottom - top, right - left, value))


@by_one
def noisy(call: Call, image: Array, n: int) -> Array:
    """By NumPy, with Philox's numbers."""
    key = {"seed": call.seed, "epoch": 0, "transform_index": call.index}
    noise = philox_noise([n], image.shape[2], image.shape[:2], kind="normal", **key)
    mean, sigma = (np.float32(255 * values[n]) for values in (call.columns["mean"], call.columns["sigma"]))
    sums = image.astype(np.float32) + (mean + sigma * _array(noise[0]))
    return np.asarray(np.rint(sums.clip(0, 255)).astype(np.uint8))


@by_one
def cast(call: Call, image: Array, n: int) -> Array:
    functional = importlib.import_module(TORCHVISION)
    return _array(functional.to_dtype(_tensor(image), call.transform.dtype, scale=call.transform.scale))


def mixed(call: Call) -> Array:
    return mixes.mixup_by_opencv(call.images, tuple(call.columns["weights"].tolist()))


def pasted(call: Call) -> Array:
    result = call.images.copy()
    for n, (left, top, right, bottom) in enumerate(call.columns["boxes"].tolist()):
        result[n, top:bottom, left:right] = call.images[n - 1, top:bottom, left:right]
    return result


def laid(call: Call) -> Array:
    """Four images around a center, one pixel at a time."""
    t, images = call.transform, call.images
    height, width = t.size
    result = np.empty((len(images), height, width, 3), np.uint8)
    result[:] = np.resize(t.fill, 3)
    h, w = images.shape[1:3]
    for n, (x, y) in enumerate(call.columns["centers"].tolist()):
        corners = ((x - w, y - h), (x, y - h), (x - w, y), (x, y))
        quarters = ((0, 0, x, y), (x, 0, width, y), (0, y, x, height), (x, y, width, height))
        for k, ((left, top), quarter) in enumerate(zip(corners, quarters, strict=True)):
            x0, y0 = max(left, quarter[0]), max(top, quarter[1])
            x1, y1 = min(left + w, quarter[2]), min(top + h, quarter[3])
            if x0 < x1 and y0 < y1:
                result[n, y0:y1, x0:x1] = images[n - k][y0 - top : y1 - top, x0 - left : x1 - left]
    return result
