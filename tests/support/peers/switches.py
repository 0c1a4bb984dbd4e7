"""Compares orbbec with the torchvision functions that the switch may replace: results and times."""

from __future__ import annotations

import importlib
import io
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

import orbbec
from orbbec.backends.torchvision import functions, ops
from orbbec.backends.torchvision.loading import decode
from orbbec.bridge.arguments import Array
from tests.support.boxes import random_boxes
from tests.support.peers.colors import ADJUSTMENTS
from tests.support.peers.peers import Random, draw_image
from tests.support.peers.tally import Tally
from tests.support.rois import roi_case
from tests.support.samples import photograph
from tests.support.timing.roi_work import RoiShape

_V1, _V2 = "torchvision.transforms.functional", "torchvision.transforms.v2.functional"
ROUNDS = 9
LARGE = (375, 500)  # height and width of timed images: a typical photograph of ImageNet
_LEAST_SECONDS = 0.02  # of one round
_MODES = ("bilinear", "bicubic", "lanczos", "box", "hamming")
_MEAN, _STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Cell:
    """A torchvision function for one kind of image, and orbbec's replacement.

    Args:
        op: name of the function.
        kind: "uint8" or "float32" for tensors, "PIL", or another kind of first argument.
        api: "v1", "v2" or "ops".
        draw: random arguments, including the image.
        large: the arguments of the timed call.
        ours: orbbec's function.
        theirs: torchvision's function.
    """

    op: str
    kind: str
    api: str
    draw: Callable[[Random], Arguments]
    large: Callable[[], Arguments]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]

    def compare(self, cases: int, seed: int = 0) -> Tally:
        """Draw cases and compare the results bit by bit, except cases that orbbec refuses."""
        rng, tally = np.random.default_rng([seed, *f"{self.op} {self.kind} {self.api}".encode()]), Tally()
        for _ in range(cases):
            arguments = self.draw(rng)
            try:
                actual = self.ours(*arguments)
            except ValueError:
                continue
            tally.add(_array(actual), _array(self.theirs(*arguments)))
        return tally

    def speed(self) -> float:
        """The speed of orbbec relative to torchvision: medians of alternating rounds, in CPU time."""
        arguments = self.large()
        theirs, ours = medians([lambda: self.theirs(*arguments), lambda: self.ours(*arguments)])
        return theirs / ours


def medians(runs: Sequence[Callable[[], Any]]) -> list[float]:
    """The CPU seconds of each, the median of alternating rounds."""
    longest = max(seconds(run) for run in (*runs, *runs))  # the first is a warm-up
    count = 1 + int(_LEAST_SECONDS / max(longest, 1e-6))
    times = [[seconds(run, count) for run in runs] for _ in range(ROUNDS)]
    return [statistics.median(of_run) for of_run in zip(*times, strict=True)]


def seconds(run: Callable[[], Any], count: int = 1) -> float:
    """CPU seconds per call, over `count` calls."""
    start = time.process_time()
    for _ in range(count):
        run()
    return (time.process_time() - start) / count


def _array(result: Any) -> Array:
    return result.numpy() if isinstance(result, Tensor) else np.asarray(result)


def as_kind(pixels: Array, kind: str) -> Any:
    """`[H, W, C]` as a contiguous tensor, or as a Pillow image."""
    if kind == "PIL":
        return functions.to_pillow(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))


def _on_pillow(operator: Callable[..., Any]) -> Callable[..., Any]:
    return lambda image, *rest: functions.to_pillow(operator(np.asarray(image), *rest))


def _interpolation(rng: Random, kind: str) -> Any:
    modes = importlib.import_module("torchvision.transforms").InterpolationMode
    return modes(str(rng.choice(_MODES if kind == "PIL" else _MODES[:2])))


def _sides(rng: Random) -> list[int]:
    return [int(side) for side in rng.integers(1, 150, 2)]


def _resizing(rng: Random, kind: str, height: int, width: int) -> Arguments:
    return _sides(rng), _interpolation(rng, kind)


def _cropping(rng: Random, kind: str, height: int, width: int) -> Arguments:
    rows, columns = int(rng.integers(1, height + 1)), int(rng.integers(1, width + 1))
    top, left = int(rng.integers(0, height - rows + 1)), int(rng.integers(0, width - columns + 1))
    return (top, left, rows, columns, *_resizing(rng, kind, height, width))


def _blurring(rng: Random, kind: str, height: int, width: int) -> Arguments:
    return [1 + 2 * int(half) for half in rng.integers(0, 4, 2)], rng.uniform(0.1, 3, 2).tolist()


def _adjusting(op: str) -> Callable[..., Arguments]:
    def draw(rng: Random, kind: str, height: int, width: int) -> Arguments:
        arguments = ADJUSTMENTS[op](rng, kind == "float32")
        return (max(arguments[0], 1),) if op == "posterize" and kind == "PIL" else arguments

    return draw


def _erasing(rng: Random, kind: str, height: int, width: int) -> Arguments:
    top, left, rows, columns, *_ = _cropping(rng, kind, height, width)
    return top, left, rows, columns, torch.zeros(1, dtype=getattr(torch, kind))


def _erase(image: Tensor, top: int, left: int, height: int, width: int, value: Tensor) -> Any:
    return orbbec.erase(image, (left, top, left + width, top + height), value.item())


def _divided(image: Any, *_: Any) -> Tensor:
    return orbbec.normalize(image, 0.0, 255.0, scale=False)


def _tensor_of_pillow(image: Any) -> Tensor:
    return _divided(np.asarray(image))


def _nothing(*_: Any) -> Arguments:
    return ()


@dataclass(frozen=True)
class _Candidate:
    """An operator that may replace a torchvision function for some kinds of images."""

    op: str
    kinds: str
    run: Callable[..., Any]
    on_pillow: Callable[..., Any] | None = None
    draw: Callable[..., Arguments] = _nothing
    timed: Arguments = ()
    apis: str = "v1 v2"
    channels: tuple[int, ...] = (1, 3)
    v1_name: str = ""

    def cells(self) -> Iterator[Cell]:
        for kind in self.kinds.split():
            for api in ("v2" if self.apis == "v2" else "v1",) if kind == "PIL" else self.apis.split():
                yield self._cell(kind, api)

    def _cell(self, kind: str, api: str) -> Cell:
        on_pillow = self.on_pillow or _on_pillow(self.run)
        name = self.v1_name if self.v1_name and api == "v1" else self.op

        def draw(rng: Random) -> Arguments:
            pixels = draw_image(rng, self.channels, "float32" if kind == "float32" else "uint8")
            return as_kind(pixels, kind), *self.draw(rng, kind, *pixels.shape[:2])

        def large() -> Arguments:
            pixels = photograph(*LARGE)
            timed = (as_kind(pixels, kind), *self.timed)
            return timed if kind != "float32" else (timed[0] / 255, *self.timed)

        def theirs(*arguments: Any) -> Any:
            return getattr(importlib.import_module(_V1 if api == "v1" else _V2), name)(*arguments)

        return Cell(name, kind, api, draw, large, on_pillow if kind == "PIL" else self.run, theirs)


_TIMED: dict[str, Arguments] = {
    "posterize": (4,),
    "solarize": (0.5,),
    "adjust_hue": (0.1,),
    "adjust_gamma": (1.4,),
    **dict.fromkeys(("invert", "autocontrast", "equalize"), ()),
}
_NO_FLOATS = ("autocontrast", "equalize", "posterize")
_CANDIDATES = (
    *(
        _Candidate(
            op,
            "uint8 PIL" if op in _NO_FLOATS else "uint8 float32 PIL",
            getattr(orbbec, op),
            draw=_adjusting(op),
            timed=_TIMED.get(op, (1.3,)),
        )
        for op in ADJUSTMENTS
    ),
    _Candidate(
        "rgb_to_grayscale",
        "uint8 float32",
        functions.gray_of_rgb,
        draw=lambda rng, *_: (int(rng.choice([1, 3])),),
        timed=(3,),
        channels=(3,),
    ),
    _Candidate(
        "jpeg",
        "uint8 PIL",
        orbbec.jpeg_compression,
        draw=lambda rng, *_: (int(rng.integers(1, 101)),),
        timed=(75,),
        apis="v2",
    ),
    _Candidate("erase", "uint8", _erase, draw=_erasing, timed=(50, 60, 100, 120, torch.zeros(1).byte())),
    _Candidate(
        "normalize",
        "float32",
        orbbec.normalize,
        draw=lambda rng, *_: (rng.uniform(0.3, 0.6, 3).tolist(), rng.uniform(0.1, 0.4, 3).tolist()),
        timed=(_MEAN, _STD),
        channels=(3,),
    ),
    _Candidate(
        "to_dtype",
        "uint8",
        lambda image, *_: orbbec.to_float(image),
        draw=lambda *_: (torch.float32, True),
        timed=(torch.float32, True),
        apis="v2",
    ),
    _Candidate(
        "convert_image_dtype",
        "uint8",
        _divided,
        draw=lambda *_: (torch.float32,),
        timed=(torch.float32,),
        apis="v1",
    ),
    _Candidate("to_tensor", "PIL", _divided, _tensor_of_pillow, apis="v1"),
    _Candidate(
        "resize", "uint8 float32 PIL", functions.resize_to, functions.resize_to, _resizing, ([256, 341],)
    ),
    _Candidate(
        "resized_crop",
        "uint8 float32 PIL",
        functions.resized_crop,
        functions.resized_crop,
        _cropping,
        (30, 40, 250, 300, [224, 224]),
    ),
    _Candidate("gaussian_blur", "uint8 float32", functions.blur, draw=_blurring, timed=([5, 5], [1.0, 1.0])),
)


def _loader() -> Cell:
    """JPEGs in memory, read as by `ImageFolder`."""
    image = importlib.import_module("PIL.Image")

    def encoded(pixels: Array, **options: Any) -> bytes:
        file = io.BytesIO()
        as_kind(pixels, "PIL").save(file, "JPEG", **options)
        return file.getvalue()

    def draw(rng: Random) -> Arguments:
        quality, subsampling = int(rng.integers(20, 100)), int(rng.integers(3))
        progressive = bool(rng.integers(2))
        pixels = draw_image(rng, (1, 3))
        return (encoded(pixels, quality=quality, subsampling=subsampling, progressive=progressive),)

    def theirs(data: bytes) -> Any:
        return image.open(io.BytesIO(data)).convert("RGB")

    return Cell(
        "pil_loader", "JPEG", "v1", draw, lambda: (encoded(photograph(*LARGE), quality=90),), decode, theirs
    )


def _nms_cell(op: str) -> Cell:
    def of(count: int, rng: Random) -> Arguments:
        boxes, scores = random_boxes(count, seed=int(rng.integers(1 << 31)))
        groups = torch.from_numpy(rng.integers(0, 5, len(boxes)))
        threshold = float(rng.uniform(0.1, 0.8))
        return (boxes, scores, groups, threshold) if op == "batched_nms" else (boxes, scores, threshold)

    def draw(rng: Random) -> Arguments:
        return of(int(rng.integers(1, 400)), rng)

    return _ops_cell(op, draw, lambda: of(2000, np.random.default_rng(0)))


def _roi_cell(op: str) -> Cell:
    def draw(rng: Random) -> Arguments:
        case = roi_case(int(rng.integers(1 << 20)), torch.float32)
        options = case.align_options() if op == "roi_align" else case.pool_options()
        return (case.input, case.rois, *options.values())

    def large() -> Arguments:
        shape = RoiShape(regions=128)
        rest = (shape.sampling_ratio, True) if op == "roi_align" else ()
        return (shape.features("cpu"), shape.rois("cpu"), shape.bins, shape.spatial_scale, *rest)

    return _ops_cell(op, draw, large)


def _ops_cell(op: str, draw: Callable[[Random], Arguments], large: Callable[[], Arguments]) -> Cell:
    def theirs(*arguments: Any) -> Any:
        return getattr(importlib.import_module("torchvision.ops"), op)(*arguments)

    ours: Callable[..., Any] = ops.OURS[op]
    return Cell(op, "float32", "ops", draw, large, ours, theirs)


def cells() -> list[Cell]:
    """Every function with every kind of image, then the loader and the detection operators."""
    listed = [cell for candidate in _CANDIDATES for cell in candidate.cells()]
    detection = [*map(_nms_cell, ("nms", "batched_nms")), *map(_roi_cell, ("roi_align", "roi_pool"))]
    return [*listed, _loader(), *detection]
