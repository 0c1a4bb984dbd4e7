"""AugMix: blends an image with several augmented copies of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orbbec.plan.build import Build
from orbbec.transforms.auto import NARROW, OPERATIONS, TORCHVISION, apply_operation
from orbbec.transforms.base.arguments import at_least, checks, warp_interpolation
from orbbec.transforms.base.checks import FillValue, checked_numbers
from orbbec.transforms.base.transform import Transform

_SPACE = replace(NARROW, most_bits=4, fraction=1.0 / 3.0)
_BINS = 10  # strength levels
_ALL = TORCHVISION[1:]  # without Identity
_COLORS = ("Brightness", "Color", "Contrast", "Sharpness")
_WITHOUT_COLORS = [code for code in _ALL if OPERATIONS[code] not in _COLORS]


@dataclass(frozen=True)
class AugMix(Transform):
    """Blend each image with several copies, each augmented by random operations in sequence; uint8 only.

    The weights are drawn from Dirichlet and Beta distributions. The cost is 4 passes over all copies per
    operation of the longest chain (geometry and colors, sharpness, autocontrast, equalize) plus one pass
    for the weighted sum: 13 passes by default. Boxes, masks and points do not change.

    Args:
        severity: strength of the operations, from 1 to 10.
        mixture_width: number of copies, from 1 to 64.
        chain_depth: number of operations per chain, up to 64; below 1: drawn from 1 to 3 for each copy.
        alpha: parameter of both distributions, above 0.
        all_ops: include brightness, contrast, color and sharpness.
        interpolation: "nearest", "linear", "cubic" or "lanczos4".
        fill: value outside the image, in pixel units: a number or one per channel.

    Source:
        `torchvision.transforms.v2.AugMix`, with an identical weighted sum, truncated to whole numbers.
        Hendrycks and others: AugMix (2020).

    Example:
        >>> from orbbec.transforms import Compose
        >>> print(Compose([AugMix(mixture_width=2, chain_depth=1)]).plan([(4, 6)], epoch=0))
        Plan of 1 image of 4x6, uint8, 3 channels; seed 0, epoch 0
         1. blend -> 4x6 uint8 (2 altered copies of each; 4 passes over them)
            holds AugMix
            because AugMix blends images with altered copies
    """

    severity: int = 3
    mixture_width: int = 3
    chain_depth: int = -1
    alpha: float = 1.0
    all_ops: bool = True
    interpolation: str = "linear"
    fill: FillValue = 0.0

    _checks = checks(
        severity=(1, _BINS),
        mixture_width=(1, 64),
        chain_depth=(-1, 64),
        alpha=at_least(1e-6),
        interpolation=warp_interpolation,
    )

    def rules(self, build: Build) -> None:
        shares = build.dirichlet(2, self.alpha)
        parts = build.dirichlet(self.mixture_width, self.alpha)
        weights = build.compute("copy", shares)
        for k in range(self.mixture_width):
            build.compute("times", parts + k, shares + 1)
        chains = [register for _ in range(self.mixture_width) for register in self._chain(build)]
        first = build.copies(chains)
        build.blend(weights, self.mixture_width, range(first, first + len(chains)), self._add_chain)

    @property
    def _slots(self) -> int:
        return 3 if self.chain_depth < 1 else self.chain_depth

    def _chain(self, build: Build) -> list[int]:
        """The registers of a copy: operation, level and sign draw of each slot."""
        codes = _ALL if self.all_ops else _WITHOUT_COLORS
        depth = build.whole(1, 3) if self.chain_depth < 1 else build.constant(self.chain_depth)
        registers = []
        for slot in range(1, self._slots + 1):
            operation = build.lookup(build.whole(0, len(codes)), codes)
            is_applied = build.compute("at_most", build.constant(slot), depth)
            level = build.compute("over", build.whole(0, self.severity), _BINS - 1)
            registers += [build.compute("times", operation, is_applied), level, build.uniform()]
        return registers

    def _add_chain(self, build: Build, register: int) -> None:
        reading = self.interpolation, "constant", checked_numbers(self.fill)
        slots = range(register, register + 3 * self._slots, 3)
        choices = [(first, _SPACE.magnitude(build, first, first + 1, first + 2)) for first in slots]
        for operation, magnitude in choices:
            apply_operation(build, operation, magnitude, reading)
