"""Transforms that give images the levels, the colors or the low frequencies of a reference image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.arguments import Array, copied_to
from orbbec.bridge.spec import composite
from orbbec.color.statistics import channel_statistics
from orbbec.color.tables import lut
from orbbec.plan.build import Build
from orbbec.plan.parameters import Column, OperatorStep
from orbbec.transforms.adaptation.references import References, as_references
from orbbec.transforms.base.arguments import checks
from orbbec.transforms.base.checks import Range, choice
from orbbec.transforms.base.transform import _Chance

_LEVELS = np.arange(256)
_SWEEPS = 8  # of rotations: errors are squared by each


def _bytes(images: Tensor) -> Tensor:
    """Images as bytes; floats are taken as 0 to 1."""
    return images if images.dtype == torch.uint8 else (images.float() * 255).round().clamp(0, 255).byte()


def _references(images: Tensor, index: Tensor, references: Any, op: str) -> Tensor:
    """The reference of each image, in its size: uint8 `[N, C, H, W]` on the CPU."""
    channels, height, width = images.shape[1:]
    known = as_references(op, references)
    some = [known.resized(k, channels, (height, width)) for k in index.tolist()]
    return torch.stack(some) if some else torch.empty(images.shape, dtype=torch.uint8, device="cpu")


def _by_tables(images: Tensor, tables: Array) -> Tensor:
    """Look up bytes `[N, C, H, W]` in tables `[N, C, 256]`, of floats that are rounded."""
    rounded = torch.from_numpy(tables.round().clip(0, 255).astype(np.uint8))
    result: Tensor = lut(images, copied_to(images.device, rounded))
    return result


def _blended(images: Tensor, others: Tensor, ratio: Tensor) -> Tensor:
    """Blend floats with others, from 0 to 1, within their range."""
    weights = copied_to(images.device, ratio.float()).view(-1, 1, 1, 1)
    mixed = images.float() * (1 - weights) + others * weights
    return mixed.clamp(0, 1).to(images.dtype)


# Histograms


def quantiles(images: Tensor) -> Array:
    """The part of the pixels up to each level of bytes `[N, C, H, W]`: float64 `[N, C, 256]`."""
    counts = channel_statistics(images).histogram
    assert counts is not None
    parts: Array = counts.cpu().numpy().cumsum(-1) / (images.shape[2] * images.shape[3])
    return parts


def matching_levels(source: Array, reference: Array) -> Array:
    """The levels of a reference at the quantiles of each level of an image `[256]`, rounded down."""
    there = np.flatnonzero(np.diff(reference, prepend=0.0))
    return np.asarray(np.floor(np.interp(source, reference[there], there)))


@composite("histogram_matching", channels=(1, 3), host_columns=("index", "blend_ratio"))
def _matched(images: Tensor, index: Tensor, blend_ratio: Tensor, references: Any) -> Tensor:
    """Give each channel the histogram of the reference's, in part."""
    if len(images) == 0:
        return images
    values, ratio = _bytes(images), blend_ratio.double().numpy()[:, None, None]
    pairs = zip(
        quantiles(values), quantiles(_references(images, index, references, "HistogramMatching")), strict=True
    )
    levels = np.stack(
        [[matching_levels(*pair) for pair in zip(*channels, strict=True)] for channels in pairs]
    )
    if images.dtype == torch.uint8:
        return _by_tables(images, levels * ratio + _LEVELS * (1 - ratio))
    return _blended(images, _by_tables(values, levels).float() / 255, blend_ratio)


# Distributions of colors


def covariance(image: Tensor) -> Array:
    """The covariances of channels of bytes `[C, H, W]`, by sums that are exact: float64 `[C, C]`."""
    flat = image.flatten(1).double()
    count = flat.shape[1]
    center = (flat.sum(1) / count).cpu().numpy()
    return np.asarray((flat @ flat.T).cpu().numpy() / count - np.outer(center, center))


def principal_axes(symmetric: Array) -> Array:
    """The eigenvectors of a symmetric matrix as columns, by ascending eigenvalues: Jacobi's rotations.

    The last bits of LAPACK's, and of products by BLAS, depend on the processor.
    """
    values, axes = symmetric.copy(), np.eye(len(symmetric))
    for p, q in _SWEEPS * list(combinations(range(len(values)), 2)):
        shared = float(values[p, q])
        if shared == 0:
            continue
        slope = float(values[q, q] - values[p, p]) / (2 * shared)
        tangent = math.copysign(1.0, slope) / (abs(slope) + math.sqrt(slope * slope + 1))
        cosine = 1 / math.sqrt(tangent * tangent + 1)
        for matrix in (values, values.T, axes):
            one, other = matrix[:, p].copy(), matrix[:, q].copy()
            matrix[:, p] = cosine * (one - tangent * other)
            matrix[:, q] = cosine * (tangent * one + other)
        values[p, q] = values[q, p] = 0.0
    return np.asarray(axes[:, np.argsort(values.diagonal(), kind="stable")])


def principal_map(source: Array, target: Array) -> Array:
    """The matrix from the principal axes of one covariance to those of another, `[C, C]`.

    Axes are paired by their variances, and point the same way.
    """
    axes, others = map(principal_axes, (source, target))
    signs = np.where((axes * others).sum(0) < 0, -1.0, 1.0)
    return np.asarray(((others * signs)[:, None] * axes).sum(2))


def color_map(image: Tensor, other: Tensor, transform_type: str) -> tuple[Array, Array]:
    """A matrix `[C, C]` and an offset `[C]` that give bytes the distribution of others."""
    pair = [channel_statistics(each[None]) for each in (image, other)]
    centers, spreads = (
        [each[0].cpu().numpy() for each in of] for of in zip(*(p[:2] for p in pair), strict=True)
    )
    if transform_type == "minmax":
        levels = [each.histogram[0].cpu().numpy() > 0 for each in pair if each.histogram is not None]
        centers = [each.argmax(1) for each in levels]
        spreads = [255 - each[:, ::-1].argmax(1) - low for each, low in zip(levels, centers, strict=True)]
    if transform_type == "pca":
        matrix = principal_map(covariance(image), covariance(other))
    else:
        one, two = (np.where(spread > 0, spread, 1.0) for spread in spreads)
        matrix = np.diag(two / one)
    return matrix, centers[1] - (matrix * centers[0]).sum(1)


def _mapped(values: Tensor, matrix: Array, offset: Array) -> Tensor:
    """Pixels of floats `[C, H, W]`, times a matrix `[C, C]` and plus an offset `[C]`."""
    planes = []
    for row, shift in zip(matrix.tolist(), offset.tolist(), strict=True):
        total = values[0] * row[0]
        for plane, factor in zip(values[1:], row[1:], strict=True):
            total = total + plane * factor
        planes.append(total + shift)
    return torch.stack(planes)


@composite("pixel_distribution", channels=(1, 3), host_columns=("index", "blend_ratio"))
def _adapted(
    images: Tensor, index: Tensor, blend_ratio: Tensor, references: Any, transform_type: str
) -> Tensor:
    """Give the colors of each image the distribution of the reference's, in part."""
    maximum = 255.0 if images.dtype == torch.uint8 else 1.0
    results = []
    for n, other in enumerate(_references(images, index, references, "PixelDistributionAdaptation")):
        matrix, offset = color_map(_bytes(images[n]), other, transform_type)
        ratio = float(blend_ratio[n])
        if images.dtype == torch.uint8 and transform_type != "pca":
            levels = (matrix.diagonal()[:, None] * _LEVELS + offset[:, None]).clip(0, 255)
            results.append(_by_tables(images[n : n + 1], (levels * ratio + _LEVELS * (1 - ratio))[None])[0])
            continue
        values = images[n].float()
        adapted = _mapped(values, matrix, offset * (maximum / 255)).clamp_(0, maximum)
        mixed = values * (1 - ratio) + adapted * ratio
        results.append((mixed.round_() if maximum == 255 else mixed).to(images.dtype))
    return torch.stack(results) if results else images


# Frequencies


def replaced_part(size: tuple[int, int], beta: float) -> Array:
    """How much of each frequency is replaced: float64 `[H, W // 2 + 1]`, 0, 0.5 or 1.

    A square about frequency 0, whose sides are `2 * beta` of the shorter one of the image, is replaced. Its
    ends are not symmetric, and of a real image a frequency is the mean of itself and the opposite one.
    """
    reach, inside = int(min(size) * beta), []
    for side in size:
        center = (side - 1) / 2
        low, high = max(0, int(center - reach)) - side // 2, min(int(center + reach), side) - side // 2
        frequency = np.arange(side)
        signed = [(sign * frequency + side // 2) % side - side // 2 for sign in (1, -1)]
        inside.append([(low <= each) & (each < high) for each in signed])
    (rows, opposite_rows), (columns, opposite_columns) = inside
    both = np.outer(rows, columns).astype(float) + np.outer(opposite_rows, opposite_columns)
    return np.asarray(both[:, : size[1] // 2 + 1] / 2)


@composite("fourier_adaptation", channels=(1, 3), host_columns=("index", "beta"))
def _with_frequencies(images: Tensor, index: Tensor, beta: Tensor, references: Any) -> Tensor:
    """Give the lowest frequencies the amplitudes of the reference's."""
    maximum = 255.0 if images.dtype == torch.uint8 else 1.0
    size = images.shape[2], images.shape[3]
    results = []
    for n, other in enumerate(_references(images, index, references, "FDA")):
        part = replaced_part(size, float(beta[n]))
        rows, columns = (np.flatnonzero(part.any(axis)) for axis in (1, 0))
        if not len(rows):
            results.append(images[n])
            continue
        low = [copied_to(images.device, torch.from_numpy(each)) for each in (rows, part[rows][:, columns])]
        spectrum = torch.fft.rfft2(images[n].float())
        theirs = torch.fft.rfft2(copied_to(images.device, other).float() * (maximum / 255))
        ours, wanted = (each[:, low[0], : len(columns)] for each in (spectrum, theirs.abs()))
        amplitude = ours.abs()
        phase = torch.where(amplitude > 0, ours / amplitude, 1.0)
        spectrum[:, low[0], : len(columns)] = ours + (wanted - amplitude) * low[1].float() * phase
        result = torch.fft.irfft2(spectrum, s=size).clamp_(0, maximum)
        results.append((result.round_() if maximum == 255 else result).to(images.dtype))
    return torch.stack(results) if results else images


class _Adaptation(_Chance):
    """Reads a random one of its reference images; its subclasses have these fields."""

    references: Any
    p: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.references, References):
            self._set(references=References(self.name, self.references))

    def to_dict(self) -> dict[str, Any]:
        paths = self.references.paths
        if paths is None:
            raise TypeError(
                f"{self.name}: only references that are paths can be serialized as text; pickle the pipeline"
            )
        return {**super().to_dict(), "references": paths}

    def _adapt(self, build: Build, name: str, column: str, ends: Range, options: dict[str, Any]) -> None:
        """Add the operator, with an amount drawn from a range."""
        chosen, count = build.chance(self.p), len(self.references)
        columns = {
            "index": Column("registers", build.whole(0, count), dtype="int64"),
            column: Column("registers", build.uniform(*ends)),
        }
        self.references.check(build.channels)
        options = {"references": self.references.option, **options}
        build.operator(OperatorStep(name, columns, options, chosen, "reads a reference image"))


class _Blend(_Adaptation):
    """Blends with the adapted image; its subclasses have this field."""

    blend_ratio: Range

    _checks = checks(blend_ratio=(0.0, 1.0))


@dataclass(frozen=True)
class FDA(_Adaptation):
    """Give the lowest frequencies of each image the amplitudes of a reference image's.

    Images of different devices differ in the last bits, as their Fourier transforms do.

    Args:
        references: images of the other domain: arrays `[H, W, C]`, tensors `[C, H, W]`, images of Pillow or
            paths; or a function without arguments that returns them, which is called once. Floats are taken
            as 0 to 1. One is drawn for each image, and resized to its size.
        beta_range: range of half the side of the square of frequencies, as a fraction of the shorter side of
            the image, from 0 to 0.5.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, images have neither 1 nor 3
            channels, or a reference has another number.

    Source:
        FDA: Fourier Domain Adaptation for Semantic Segmentation (Yang and Soatto, 2020); `FDA` of
        Albumentations.

    Example:
        >>> bright = torch.full((1, 9, 9), 200, dtype=torch.uint8)
        >>> adapted = FDA([bright], (0.3, 0.3), p=1.0)(torch.full((1, 12, 12), 50, dtype=torch.uint8))
        >>> adapted.unique().tolist()
        [200]
    """

    references: Any
    beta_range: Range = (0.0, 0.1)
    p: float = 0.5

    _checks = checks(beta_range=(0.0, 0.5))

    def rules(self, build: Build) -> None:
        self._adapt(build, "fourier_adaptation", "beta", self.beta_range, {})


@dataclass(frozen=True)
class HistogramMatching(_Blend):
    """Give each channel the histogram of a reference image's, in part.

    Args:
        references: see `FDA`.
        blend_ratio: range of the weight of the result, from 0 to 1; the image has the rest.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, images have neither 1 nor 3
            channels, or a reference has another number.

    Source:
        `HistogramMatching` of Albumentations, by `numpy.interp` of the cumulative histograms.

    Example:
        >>> reference = torch.tensor([[[10, 10, 90, 200]]], dtype=torch.uint8)
        >>> image = torch.tensor([[[0, 1, 2, 3]]], dtype=torch.uint8)
        >>> HistogramMatching([reference], (1.0, 1.0), p=1.0)(image).tolist()
        [[[10, 10, 90, 200]]]
    """

    references: Any
    blend_ratio: Range = (0.5, 1.0)
    p: float = 0.5

    def rules(self, build: Build) -> None:
        self._adapt(build, "histogram_matching", "blend_ratio", self.blend_ratio, {})


@dataclass(frozen=True)
class PixelDistributionAdaptation(_Blend):
    """Give the colors of each image the distribution of a reference image's, in part.

    Args:
        references: see `FDA`.
        blend_ratio: range of the weight of the result, from 0 to 1; the image has the rest.
        transform_type: "pca": the principal axes of colors, which keep their variances; "standard": mean and
            standard deviation of each channel; "minmax": its smallest and its largest value.
        p: probability, from 0 to 1.

    Raises:
        TypeError: an argument has a wrong type.
        ValueError: an argument is out of range; or, when the plan is made, images have neither 1 nor 3
            channels, or a reference has another number.

    Source:
        `DomainAdapter` of qudida. `PixelDistributionAdaptation` of Albumentations rounds its values to 0 and
        1 of 255.

    Example:
        >>> reference = torch.tensor([[[100, 200]]], dtype=torch.uint8)
        >>> adaptation = PixelDistributionAdaptation([reference], (1.0, 1.0), "minmax", p=1.0)
        >>> adaptation(torch.tensor([[[0, 5, 10]]], dtype=torch.uint8)).tolist()
        [[[100, 150, 200]]]
    """

    references: Any
    blend_ratio: Range = (0.25, 1.0)
    transform_type: str = "pca"
    p: float = 0.5

    _checks = checks(transform_type=partial(choice, known=("pca", "standard", "minmax")))

    def rules(self, build: Build) -> None:
        options = {"transform_type": self.transform_type}
        self._adapt(build, "pixel_distribution", "blend_ratio", self.blend_ratio, options)
