"""Valid arguments of operators by name, from which the fuzzer starts, so that calls reach the kernels.

A name has the same meaning in every operator; exceptions have an entry `operator.name`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from random import Random
from typing import Any

import torch

from orbbec.plan.rules import WIDTH
from orbbec.transforms.effects.plasma import draw_count
from tests.fuzz.call import TensorSpec
from tests.fuzz.rules import STATE, WORDS, compiled, rows
from tests.fuzz.targets import TARGETS

FLOATS = (torch.float32, torch.float32, torch.float64, torch.float16, torch.bfloat16)
WARPS = ("nearest", "linear", "cubic", "area", "lanczos4")
BORDERS = ("constant", "replicate", "reflect", "reflect101", "wrap", "transparent")
CV2_SIZES = ("nearest", "nearest_exact", "linear", "linear_exact", "cubic", "area", "lanczos4")
PILLOW_SIZES = ("box", "linear", "bilinear", "hamming", "cubic", "bicubic", "lanczos")
ADJUSTMENTS = (
    *("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue", "adjust_gamma"),
    *("adjust_sharpness", "invert", "posterize", "solarize"),
)
SPACES = ("GRAY", "HSV", "HLS", "YCrCb", "YUV", "LAB", "RGB", "BGR")
BYTES_ONLY = {
    *("pillow_blur", "augment_crop", "jpeg_compression", "clahe"),
    *("histogram", "lut", "by_histogram", "ycbcr_to_rgb"),
}
CROPS = {"augment_crop"}
GRADIENTS_OF_FLOATS = {
    "warp_affine_backward",
    "warp_perspective_backward",
    "remap_backward",
    "resize_backward",
}
RESULT_LAYOUTS = ("resize.out_layout", "resize.host_layout")
COLORED = {"jpeg_compression", "cvt_color", "adjust_color", "gray_sums", "augment"} | CROPS


class Scene:
    """What the arguments of one call have in common: counts, sizes, dtypes, whether sizes vary."""

    def __init__(self, random: Random, op: str, names: list[str]) -> None:
        op = op.removesuffix("_out").removesuffix("_each")  # variants, of the same arguments
        self.random, self.op, self.names = random, op, names
        self.n, self.k = random.choice((0, 1, 1, 2, 2, 3)), random.choice((0, 1, 2, 3, 5, 8, 20, 70))
        self.c = random.choice(
            (1, 3) if op in COLORED and random.random() < 0.9 else (1, 2, 3, 3, 4, 5, 9, 0)
        )
        self.h, self.w, self.oh, self.ow = (random.choice((1, 2, 3, 7, 15, 16, 17, 33, 40)) for _ in range(4))
        self.h *= random.random() > 0.03
        self.dtype = self._dtype()
        self.antialias, self.planes = random.random() < 0.4, random.random() < 0.3
        self.ragged = "layout" in names and op != "ycbcr_to_rgb" and random.random() < 0.4
        self.source, self.target = self._spaces()
        if self.op == "elastic_displacement":
            self.k = self.n
        if self.op == "cvt_color":
            self.c = 1 if self.source == "GRAY" else 3
            self.dtype = torch.uint8 if "LAB" in (self.source, self.target) else self.dtype
        if self.op.startswith("augment"):
            self.planes = self.planes and self.ragged and op not in CROPS
            self.c = 3 if self.planes else self.c
        self.sizes = [[random.randint(0, 24) for _ in range(2)] for _ in range(self.n)]
        self.forms = [random.randint(0, 5) for _ in range(self.n)]
        self.has_sizes = op == "resize" and "out_layout" in names  # of each result
        if self.ragged or self.has_sizes:
            self.dtype = torch.uint8

    @cached_property
    def result_dtype(self) -> torch.dtype:
        return self.random.choice(FLOATS)

    def _dtype(self) -> torch.dtype:
        if self.op in BYTES_ONLY:
            return torch.uint8
        if self.op in GRADIENTS_OF_FLOATS:
            return self.random.choice((torch.float32, torch.float64))
        if "rois" in self.names or self.op.endswith("_backward"):
            return self.random.choice(FLOATS)
        return self.random.choice((torch.uint8, torch.uint8, torch.uint8, *FLOATS, torch.uint16))

    def _spaces(self) -> tuple[str, str]:
        pair = self.random.choice(("RGB", "BGR")), self.random.choice(SPACES)
        return pair if self.random.random() < 0.5 else (pair[1], pair[0])

    def tensor(self, shape: list[int], dtype: torch.dtype, low: float = 0, high: float = 1) -> TensorSpec:
        """A contiguous tensor of a few uniform numbers; integers for integer dtypes."""
        if dtype.is_floating_point:
            values = tuple(round(self.random.uniform(low, high), 3) for _ in range(5))
        else:
            values = tuple(self.random.randint(int(low), int(high)) for _ in range(5))
        return TensorSpec(tuple(shape), dtype, values)

    def pixels(self, shape: list[int], dtype: torch.dtype | None = None) -> TensorSpec:
        dtype = dtype or self.dtype
        spec = self.tensor(shape, dtype, 0, 255 if not dtype.is_floating_point else 1)
        if len(shape) == 4 and self.random.random() < 0.3:  # channels last
            _, c, h, w = shape
            return TensorSpec(spec.shape, dtype, spec.values, (h * w * c, 1, w * c, c))
        return spec

    def table(self, rows: list[list[float]], dtype: torch.dtype, columns: int) -> TensorSpec:
        """A tensor of these numbers."""
        flat = tuple(number for row in rows for number in row)
        return TensorSpec((len(rows), columns), dtype, flat or (0,))

    def per_image(self, dtype: torch.dtype = torch.float64, low: float = 0, high: float = 2) -> TensorSpec:
        return self.tensor([self.n], dtype, low, high)

    def buffer(self, lengths: list[int]) -> TensorSpec:
        return self.tensor([sum(lengths) + self.random.choice((0, 0, 5))], torch.uint8, 0, 255)

    def lay_out(self, lengths: list[int], sizes: list[list[int]] | None = None) -> TensorSpec:
        rows, first = [], 0
        for length, size in zip(lengths, sizes or self.sizes, strict=True):
            rows.append([first, *size])
            first += length
        return self.table(rows, torch.int64, 3)

    def lengths(self, channels: int) -> list[int]:
        return [h * w * channels for h, w in self.sizes]

    def plane_lengths(self) -> list[int]:
        """Tables of images stored as JPEG planes."""
        lengths = []
        for (h, w), form in zip(self.sizes, self.forms, strict=True):
            rows, columns = (h + 1) // 2 if form in (4, 5) else h, (w + 1) // 2 if form in (3, 5) else w
            lengths.append(3 * h * w if form == 0 else h * w if form == 1 else h * w + 2 * rows * columns)
        return lengths

    def chance(self, probability: float, value: Callable[[], Any]) -> Any:
        return value() if self.random.random() < probability else None

    def images(self) -> TensorSpec:
        if self.planes and self.ragged:
            return self.buffer(self.plane_lengths())
        return (
            self.buffer(self.lengths(self.c))
            if self.ragged
            else self.pixels([self.n, self.c, self.h, self.w])
        )

    def out(self) -> TensorSpec:
        if self.op == "erase":
            if self.random.random() < 0.5:
                shape = self.images().shape if not self.ragged else (sum(self.lengths(self.c)),)
                return TensorSpec(shape, self.dtype, shares=0)
            return self.images()
        if self.has_sizes:
            return self.buffer(self.n * [self.oh * self.ow * self.c])
        if self.op == "elastic_displacement":
            return self.tensor([self.n, 2, self.oh, self.ow], torch.float32)
        dtype = self.result_dtype if "dtype" in self.names else self.dtype
        if "size" in self.names and (self.op != "normalize" or self.ragged):
            count = self.k % 4 if self.op == "mosaic" else self.n
            return self.pixels([count, self.c, self.oh, self.ow], dtype)
        if self.ragged:
            return self.buffer(self.lengths(self.c))
        channels = self.c if self.op != "cvt_color" else 1 if self.target == "GRAY" else 3
        return self.pixels([self.n, channels, self.h, self.w], dtype)

    def matrix(self, rows: int) -> TensorSpec:
        r = self.random
        lines = [[r.uniform(0.5, 1.5), r.uniform(-0.5, 0.5), r.uniform(-9, 9)] for _ in range(2)]
        lines += [[r.uniform(-0.01, 0.01), 0.0, 1.0]][: rows - 2]
        values = tuple(round(number, 3) for line in lines for number in line)
        shape = (rows, 3) if r.random() < 0.3 else (self.n, rows, 3)
        return TensorSpec(shape, r.choice((torch.float32, torch.float64)), values)

    def coordinates(self) -> TensorSpec:
        """A map of remap; both have the same shape."""
        shares = self.k in (0, 3)
        return self.tensor([self.n, self.oh, self.ow][shares:], torch.float32, -3, 40)

    def kernel_sizes(self) -> list[int]:
        count = 2 * (self.n if self.random.random() < 0.3 else 1)
        sizes = [self.random.choice((1, 3, 3, 5, 7, 9, 15, 31)) for _ in range(count)]
        return [s + self.random.randint(0, 1) for s in sizes] if self.op.startswith("box") else sizes

    def one_or_each(self, low: float, high: float) -> list[float]:
        count = self.random.choice((1, self.c))
        return [round(self.random.uniform(low, high), 2) for _ in range(count)]

    def boxes(self, shape: list[int], dtype: torch.dtype) -> TensorSpec:
        """Boxes as ordered corners, or as center, sides and angle: 4 or 5 numbers."""
        r, rows = self.random, []
        for _ in range(7):
            x, y, w, h = (round(r.uniform(0, 30), 1) for _ in range(4))
            rows += [x, y, x + w, y + h] if shape[-1] == 4 else [x, y, w, h, round(r.uniform(-2, 2), 2)]
        return TensorSpec(tuple(shape), dtype, tuple(rows))

    def rois(self, numbers: int) -> TensorSpec:
        r, rows = self.random, []
        for _ in range(self.k):
            x, y = r.uniform(-4, 20), r.uniform(-4, 20)
            row = [
                r.randrange(max(self.n, 1)),
                x,
                y,
                x + r.uniform(0, 20),
                y + r.uniform(0, 20),
                r.uniform(-3, 3),
            ]
            rows.append([round(number, 1) for number in row[:numbers]])
        return self.table(rows, self.dtype, numbers)

    def program(self) -> TensorSpec:
        r = self.random
        rows = [
            [r.randint(0, 6), *(round(r.uniform(0, 1), 2) for _ in range(15))] for _ in range(r.randint(0, 3))
        ]
        flat = tuple(number for row in rows for number in row) or (0,)
        return TensorSpec(
            (len(rows), 16) if r.random() < 0.3 else (self.n, len(rows), 16), torch.float32, flat
        )

    @cached_property
    def rules(self) -> list[list[float]]:
        """Rows of a program for `draw`."""
        return rows(self.random)

    def kernel(self) -> TensorSpec:
        sides = [self.random.randint(1, 6) for _ in range(2)]
        return self.tensor([self.random.choice((1, self.n)), *sides], torch.float32, -1, 1)


def _erased(s: Scene) -> TensorSpec:
    return s.tensor([s.n, s.random.randint(0, 3), 8], torch.float32, 0, 20)


def _floats(s: Scene) -> torch.dtype:
    return s.random.choice((torch.float32, torch.float64))


def _argmax(s: Scene) -> TensorSpec:
    return s.tensor([s.k, s.c, s.oh, s.ow], torch.int32, -1, s.h * s.w - 1)


def _channels(s: Scene) -> int:
    return s.c if s.ragged else 0


PLAUSIBLE: dict[str, Callable[[Scene], Any]] = {
    # images, dense or of different sizes
    "images": Scene.images,
    "layout": lambda s: s.lay_out(s.lengths(s.c)) if s.ragged else None,
    "channels": _channels,
    "out": Scene.out,
    "size": lambda s: [s.oh, s.ow],
    "regions": lambda s: s.chance(0.3, lambda: s.tensor([s.n, 4], torch.int64, 0, 20)),
    "gradient": lambda s: s.pixels([s.n, s.c, s.oh, s.ow]),
    "interpolation": lambda s: s.random.choice(WARPS),
    "border": lambda s: s.random.choice(BORDERS[:5]),
    "fill": lambda s: s.one_or_each(0, 255),
    "inverse": lambda s: s.random.random() < 0.5,
    "arithmetic": lambda s: s.random.choice(("cv2_5", "cv2_4")),
    "dtype": lambda s: s.result_dtype,
    # warps
    "warp_affine.matrix": lambda s: s.matrix(2),
    "warp_affine_backward.matrix": lambda s: s.matrix(2),
    "matrix": lambda s: s.matrix(3),
    "map_x": lambda s: s.coordinates(),
    "map_y": lambda s: s.coordinates(),
    # statistics
    "totals": lambda s: s.tensor([s.n, 2 * s.c], torch.float64, 0, 1000),
    "pixels": lambda s: s.h * s.w,
    "largest": lambda s: s.per_image(low=0, high=1e6),
    "warp_affine_backward.interpolation": lambda s: s.random.choice(WARPS[:2]),
    "warp_perspective_backward.interpolation": lambda s: s.random.choice(WARPS[:2]),
    "remap_backward.interpolation": lambda s: s.random.choice(WARPS[:2]),
    # resize
    "antialias": lambda s: s.antialias,
    "resize.interpolation": lambda s: s.random.choice(PILLOW_SIZES if s.antialias else CV2_SIZES),
    "resize_backward.interpolation": lambda s: s.random.choice(PILLOW_SIZES if s.antialias else CV2_SIZES),
    "resize.arithmetic": lambda s: s.random.choice(
        ("pillow_12", "pillow_13") if s.antialias else ("cv2_5", "cv2_4")
    ),
    "resize_backward.arithmetic": lambda s: "pillow_13" if s.antialias else "cv2_5",
    **dict.fromkeys(RESULT_LAYOUTS, lambda s: s.lay_out([s.oh * s.ow * s.c] * s.n, [[s.oh, s.ow]] * s.n)),
    "resize.boxes": lambda s: s.chance(0.4, lambda: s.boxes([s.n, 4], torch.float64)),
    "resize_backward.boxes": lambda s: s.chance(0.4, lambda: s.boxes([s.n, 4], torch.float64)),
    "longest": lambda s: [24, 24],
    "image_size": lambda s: [max(s.h, 1), s.w],
    "flips": lambda s: s.chance(0.3, lambda: s.tensor([s.n], torch.bool)),
    # augment
    "colors": lambda s: s.chance(0.6, s.program),
    "augment.boxes": lambda s: s.chance(0.4, lambda: _erased(s)),
    "augment.interpolation": lambda s: s.random.choice(WARPS[:3]),
    **{
        f"{op}.{name}": entry
        for op in sorted(CROPS)
        for name, entry in (
            ("interpolation", lambda s: s.random.choice(PILLOW_SIZES if s.antialias else CV2_SIZES)),
            ("arithmetic", lambda s: "pillow_13" if s.antialias else "cv2_5"),
            ("boxes", lambda s: s.boxes([s.n, 4], torch.float64)),
            ("erase", lambda s: s.chance(0.4, lambda: _erased(s))),
        )
    },
    "out_layout": lambda s: s.chance(0.1, lambda: s.lay_out(s.lengths(s.c))),
    "amount": lambda s: s.random.uniform(0, 1),
    "amounts": lambda s: s.chance(0.3, s.per_image),
    "salt_ratio": lambda s: s.random.uniform(0, 1),
    "salt_ratios": lambda s: s.chance(0.3, s.per_image),
    "salt_and_pepper.salt": lambda s: s.random.uniform(0, 1),
    "pepper": lambda s: s.random.uniform(0, 1),
    "shot_noise.scale": lambda s: s.random.uniform(0.001, 1),
    "shot_noise.scales": lambda s: s.chance(0.3, s.per_image),
    "mean": lambda s: s.one_or_each(0, 1),
    "std": lambda s: s.one_or_each(0.1, 1),
    "scale": lambda s: 1 / 255,
    "max_value": lambda s: 255.0 if s.dtype == torch.uint8 else 1.0,
    "mix": lambda s: s.chance(0.4, lambda: s.tensor([s.n, 7], torch.float32, -1, 3)),
    "stored": lambda s: s.lay_out(s.plane_lengths()) if s.planes else None,
    "augment.forms": lambda s: _forms(s) if s.planes else None,
    # planes of JPEGs
    "planes": lambda s: s.buffer(s.plane_lengths()),
    "ycbcr_to_rgb.layout": lambda s: s.lay_out(s.plane_lengths()),
    "ycbcr_to_rgb.boxes": lambda s: s.chance(0.5, lambda: s.tensor([s.n, 4], torch.int64, -3, 40)),
    "jpeg_planes.layout": lambda s: s.lay_out(s.plane_lengths()),
    "scans": lambda s: s.tensor([16 * s.k], torch.uint8, 0, 255),
    "files": lambda s: s.tensor([s.n, 7], torch.int64, 0, 0),
    "blocks": lambda s: s.random.randint(0, 9),
    "unit_bits": lambda s: s.random.choice((128, 4096)),
    "forms": lambda s: _forms(s),
    "rgb_layout": lambda s: s.lay_out(s.lengths(3)),
    "nbytes": lambda s: sum(s.lengths(3)) + s.random.choice((0, 0, 5)),
    # filters
    "arctangent.y": lambda s: s.tensor([s.n, s.k], _floats(s), -2, 2),
    "arctangent.x": lambda s: s.tensor([s.n, s.k], _floats(s), -2, 2),
    "squares": lambda s: s.tensor([s.n, s.k], _floats(s), 0, 4),
    "kernel_size": Scene.kernel_sizes,
    "alpha": lambda s: s.tensor([s.random.choice((1, s.n)), 2], torch.float32, -9, 9),
    "pillow_blur.boxes": lambda s: s.tensor([s.n, 3], torch.int64, 0, 1 << 23),
    "sigma:Tensor": lambda s: s.tensor([s.random.choice((1, s.n)), 2], torch.float64, 0, 4),
    "kernel": Scene.kernel,
    "motion_kernels.lengths": lambda s: s.tensor([s.n], torch.int64, 1, 15),
    "angles_degrees": lambda s: s.tensor([s.random.choice((1, s.n))], torch.float64, -360, 360),
    "radians": lambda s: s.tensor([s.n], torch.float64, -7, 7),
    "gaussian_blur_backward.gradient": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    "box_blur_backward.gradient": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    "filter2d_backward.gradient": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    # noise, erase, JPEG
    "mean:float": lambda s: s.random.uniform(-1, 1),
    "sigma:float": lambda s: s.random.uniform(0.1, 2),
    "means": lambda s: s.chance(0.3, s.per_image),
    "sigmas": lambda s: s.chance(0.3, s.per_image),
    "seed": lambda s: s.random.getrandbits(30),
    "epoch": lambda s: s.random.randint(0, 9),
    "frames": lambda s: s.random.choice((1, 1, max(s.n, 1))),
    "transform_index": lambda s: s.random.randint(0, 9),
    "transform_count": lambda s: s.random.randint(1, 4),
    "sample_ids:Tensor?": lambda s: s.chance(0.5, lambda: s.tensor([s.n], torch.int64, 0, 99)),
    "sample_ids": lambda s: s.tensor([s.k], torch.int64, 0, 99),
    "erase.boxes": lambda s: s.tensor(
        [s.random.choice((1, s.n)), s.random.randint(0, 3), 4], torch.int64, -2, 40
    ),
    "fills": lambda s: s.chance(
        0.4, lambda: s.tensor([s.n, 1, s.random.choice((1, s.c))], torch.float64, 0, 255)
    ),
    "fill:float": lambda s: s.random.uniform(0, 255),
    "noise": lambda s: s.random.choice(("none", "uniform", "normal")),
    "quality": lambda s: s.random.randint(1, 100),
    "qualities": lambda s: s.chance(0.4, lambda: s.tensor([s.n], torch.int64, -5, 120)),
    "subsampling": lambda s: s.random.choice(("420", "444")),
    "counters": lambda s: s.tensor([s.k, 4], torch.int64, 0, 2**32 - 1),
    "key_low": lambda s: s.random.getrandbits(32),
    "key_high": lambda s: s.random.getrandbits(32),
    "count": lambda s: s.random.randint(0, 9),
    "sizes": lambda s: s.tensor([s.k, 2], torch.int64, 8, 60),
    "code": lambda s: s.table(s.rules, torch.float64, WIDTH),
    "run.code": lambda s: s.table(compiled().code.tolist(), torch.float64, WIDTH),
    "run_seed.images": lambda s: s.pixels([s.n, 3, s.h, s.w], torch.uint8),
    "run_seed.code": lambda s: s.table(compiled().code.tolist(), torch.float64, WIDTH),
    "run.host_layout": lambda s: s.lay_out(s.lengths(s.c)) if s.ragged else None,
    "run.code_on_device": lambda s: None,
    "run.epoch_tensor": lambda s: s.chance(0.3, lambda: s.tensor([1], torch.int64, 0, 9)),
    "run.out": lambda s: None,
    "begin": lambda s: 0,
    "end": lambda s: len(s.rules),
    "state": lambda s: s.tensor([s.k, STATE], torch.float64),
    "words": lambda s: s.tensor([s.k * WORDS], torch.float32),
    "philox_noise.channels": lambda s: s.c,
    "height": lambda s: s.h,
    "width": lambda s: s.w,
    "below": lambda s: s.random.randint(1, 99),
    "kind": lambda s: s.random.choice(("uniform", "normal")),
    "philox_draws.kind": lambda s: s.random.choice(("uniform", "normal", "below")),
    # mixing
    "pair_indices": lambda s: s.tensor([s.n], torch.int64, -1, s.n),
    "mosaic.pair_indices": lambda s: s.tensor([s.k % 4, 9 if s.k % 3 == 2 else 4], torch.int64, -1, s.n),
    "centers": lambda s: s.tensor([s.k % 4, 2], torch.int64, -3, 40),
    "cutmix.boxes": lambda s: s.tensor([s.n, 4], torch.int64, -3, 40),
    "masks": lambda s: s.buffer(s.lengths(1)) if s.ragged else s.tensor([s.n, s.h, s.w], torch.uint8),
    "copy_paste_soft.masks": lambda s: s.tensor(
        [s.n, s.h, s.w], torch.float64 if s.dtype == torch.float64 else torch.float32
    ),
    "masks_layout": lambda s: s.lay_out(s.lengths(1)) if s.ragged else None,
    "weights": lambda s: s.per_image(high=1),
    "base": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    "parts": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    "order": lambda s: TensorSpec((s.n,), torch.int64, tuple(range(s.n)) or (0,)),
    "starts": lambda s: TensorSpec((s.n + 1,), torch.int64, tuple(range(s.n + 1))),
    # targets
    **TARGETS,
    "low": lambda s: s.random.randint(0, 60),
    "high": lambda s: s.random.randint(50, 2041),
    "most": lambda s: s.random.choice((0.5, 20.0, 1000.0)),
    "plasma.out": lambda s: s.tensor([s.h, s.w], torch.float32),
    "draws": lambda s: s.tensor([draw_count((max(s.h, 1), max(s.w, 1)))], torch.float32),
    "scale_by_factors.images": lambda s: s.tensor([s.k, s.c, s.h, s.w], torch.uint8),
    "scale_by_factors.out": lambda s: s.tensor([s.k, s.c, s.h, s.w], torch.uint8),
    "scale_by_factors.factors": lambda s: s.tensor([s.k, s.h, s.w], torch.float32),
    "roughness": lambda s: s.random.choice((0.5, 3.0, 1000.0)),
    "philox_noise.out": lambda s: s.tensor([s.k, s.c, s.h, s.w], torch.float32),
    # colors
    "adjust_color.name": lambda s: s.random.choice(ADJUSTMENTS),
    "by_histogram.name": lambda s: s.random.choice(("autocontrast", "equalize", "equalize_hist")),
    "factor": lambda s: s.random.uniform(0, 2),
    "factors": lambda s: s.chance(0.4, s.per_image),
    "gain": lambda s: s.random.uniform(0, 2),
    "mean:Tensor?": lambda s: s.chance(0.8, s.per_image),
    "clip_limit": lambda s: s.random.uniform(0, 9),
    "clip_limits": lambda s: s.chance(0.4, s.per_image),
    "tiles_y": lambda s: s.random.randint(1, 9),
    "tiles_x": lambda s: s.random.randint(1, 9),
    "source": lambda s: s.source,
    "target": lambda s: s.target,
    "tables": lambda s: s.tensor([7936], torch.int32, -9, 99),
    "table": lambda s: s.tensor(
        [s.random.choice((1, s.n)), s.random.choice((1, s.c)), 256], torch.uint8, 0, 255
    ),
    "gamma": lambda s: s.tensor([s.k], torch.float64, 0, 3),
    # regions
    "input": lambda s: s.pixels([s.n, s.c, s.h, s.w]),
    "rois": lambda s: s.rois(6 if "rotated" in s.op else 5),
    "output_size": lambda s: [s.oh % 8 + 1, s.ow % 8 + 1],
    "input_size": lambda s: [s.n, s.c, s.h, s.w],
    "spatial_scale": lambda s: s.random.choice((1.0, 0.5, 0.25)),
    "sampling_ratio": lambda s: s.random.randint(-1, 4),
    "argmax": _argmax,
    "roi_align_backward.gradient": lambda s: s.pixels([s.k, s.c, s.oh, s.ow]),
    "roi_align_rotated_backward.gradient": lambda s: s.pixels([s.k, s.c, s.oh, s.ow]),
    "roi_pool_backward.gradient": lambda s: s.pixels([s.k, s.c, s.oh, s.ow]),
    # boxes
    "boxes": lambda s: s.boxes(
        [s.k, 5 if "rotated" in s.op else 4], s.dtype if s.dtype.itemsize > 3 else torch.float32
    ),
    "boxes1": lambda s: s.boxes([s.n, s.k, 5 if "rotated" in s.op else 4], torch.float32),
    "boxes2": lambda s: s.boxes([s.n, s.h, 5 if "rotated" in s.op else 4], torch.float32),
    "scores": lambda s: s.tensor([s.k], s.dtype if s.dtype.itemsize > 3 else torch.float32),
    "labels": lambda s: s.chance(0.5, lambda: s.tensor([s.k], torch.int64, 0, 3)),
    "groups": lambda s: s.chance(
        0.5, lambda: TensorSpec((s.k,), torch.int64, tuple(i // 3 for i in range(max(s.k, 1))))
    ),
    "measure": lambda s: s.random.choice(("iou", "generalized_iou", "distance_iou")),
    "epsilon": lambda s: 1e-7,
    "iou_threshold": lambda s: s.random.uniform(0, 1),
    "offset": lambda s: s.random.choice((0.0, 1.0)),
    "method": lambda s: s.random.choice(("linear", "gaussian")),
    "soft_nms.method": lambda s: s.random.choice(("naive", "linear", "gaussian")),
    "min_score": lambda s: s.random.uniform(0, 0.5),
    "max_output": lambda s: s.random.choice((0, s.k, s.k, 5)),
    "values": lambda s: s.tensor([s.k], s.random.choice((torch.float32, torch.float64, torch.int64)), -9, 9),
    "indices": lambda s: s.tensor([s.k], torch.int64, 0, 99),
    "chosen": lambda s: s.tensor([s.k], torch.bool),
    "device": lambda s: 0,
}


def _forms(s: Scene) -> TensorSpec:
    return s.table([[form, s.random.randint(1, 8)] for form in s.forms], torch.int64, 2)


def plausible(scene: Scene, name: str, kind: str) -> Any:
    """The entry of an argument; KeyError if it has none."""
    for key in (f"{scene.op}.{name}", f"{name}:{kind}", name):
        if key in PLAUSIBLE:
            return PLAUSIBLE[key](scene)
    raise KeyError(name)
