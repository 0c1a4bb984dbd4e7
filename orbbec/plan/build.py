"""Compiles the transforms of a pipeline: collects their rules, and fuses their steps into passes.

The order within an augment pass is fixed: warp, colors, rectangles, normalize, mix, cast. A step that must
run before something that the pass already does begins a new pass, unless the result is the same. Nothing here
depends on what is drawn, so every batch gets the same passes. Values are rounded to their dtype between
passes, so this gives a sample the same bytes in every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from orbbec.augment.codes import ERASE_WIDTH, PLACED, STEPS
from orbbec.bridge.spec import FLOATS, MIXES, OPERATORS
from orbbec.plan.fusion import MAXIMUM, SMOOTHNESS, OpenPass, holds_fill
from orbbec.plan.parameters import Batch, Column, OperatorStep
from orbbec.plan.passes import ALIKE, VARIES, BlendPass, MixPass, OperatorPass, Pass, Size
from orbbec.plan.registers import Registers
from orbbec.plan.rules import PASS_REGISTERS, Operand


class Build(Registers):
    """What the rules of transforms are added to, in order.

    Args:
        channels: number of channels of the images.
        dtype: name of the dtype of the images.
        exact: whether each transform is a separate pass, with the bytes of a step-by-step pipeline.
        size: of the images: `ALIKE` if all have one size, or `VARIES`.
        batch: the first batch, for which Python draws the steps that have no rules; None: there are none.
    """

    def __init__(
        self, channels: int, dtype: str, exact: bool = False, size: Size = VARIES, *, batch: Batch | None
    ) -> None:
        super().__init__()
        self.channels, self.dtype, self.exact, self.batch = channels, dtype, exact, batch
        self.maximum = MAXIMUM.get(dtype, 1.0)
        self.size = size  # of the outputs so far
        self.least: Size = (1, 1)  # lower bounds of height and width that follow from the pipeline alone
        self.externals: list[Any] = []  # what Python draws; see external.py
        self.arrays = 0  # tables of steps
        self.streams = 0  # random streams that the transforms so far draw from
        self.passes: list[Pass] = []
        self.blends: list[tuple[BlendPass, Build, range]] = []  # with what `blend` takes
        self.notes: dict[str, None] = {}  # in order
        self.mixes = False  # whether outputs come from several images
        self._idle: list[Pass] = []
        self.begin("")

    def transform(self, transform: Any) -> None:
        """Add the rules of a transform; it draws from the next random stream."""
        self.name, self.stream, self.position = transform.name, self.streams, 0
        self.streams += 1
        transform.rules(self)

    def warp(
        self,
        rule: str,
        *operands: Operand,
        interpolation: str = "linear",
        border: str | None = None,
        fill: tuple[float, ...] = (0.0,),
        lossless: bool = False,
        onto: bool = False,
        region: bool = False,
        flips: bool = False,
        offset: bool = False,
        size: Size | None = None,
        least: Size = (1, 1),
        draws: int = 0,
    ) -> None:
        """Add a geometry rule to the fused pass.

        Args:
            rule: its name in rules.h.
            operands: its operands.
            interpolation: one of `SMOOTHNESS`.
            border: values outside the source; None: the warp never reads there.
            fill: fill of a constant border, in the units of the pipeline: one number, or one per channel.
            lossless: every output pixel is a source pixel, moved.
            onto: also, every source pixel is kept, as by a flip.
            region: whether its rectangle is cropped first.
            flips: whether it only flips images horizontally.
            offset: whether it shifts the positions that nearest warps read, but not those of targets.
            size: (height, width) of the output, `ALIKE`, `VARIES`, or None: unchanged.
            least: lower bounds of height and width, if it changes sizes.
            draws: random numbers that it takes.
        """
        self.check_numbers("fill", fill)
        why = self._begins_pass(border, fill, lossless, onto)
        if why:
            self.split(why)
        p = self.open
        if border == "constant" and p.border is None and p.interpolation in ("linear", "cubic"):
            note = f"{self.name} mixes its fill with the border over a pixel of what the pass reads"
            self.notes[note] = None
        if border is not None:
            p.border, p.step.fill = border, self._fill(fill)
            if p.cuts:
                self.notes[f"{self.name} shows pixels outside the preceding crop"] = None
        if not lossless:
            both = max(p.interpolation or "nearest", interpolation, key=SMOOTHNESS.index)
            if p.interpolation not in (None, interpolation):
                note = f"{self.name} is fused with a warp of another interpolation: both are {both}"
                self.notes[note] = None
            p.interpolation = both
        if p.flips:
            p.cuts = p.cuts or not (onto or (border is not None and region is False))
        else:
            p.step.region_block.rows = int(region)
        p.offset = p.offset or offset
        p.flips.append(flips)
        p.holds[self.name] = None
        self._move(rule, operands, p.step, draws, size, least)

    def colors(
        self,
        rule: str,
        *operands: Operand,
        rows: int = 1,
        contrast: bool = False,
        placed: bool = False,
        operators: Sequence[OperatorStep] = (),
        drawn: int | None = None,
    ) -> None:
        """Add a color rule to the fused pass.

        Args:
            rule: its name in rules.h.
            operands: its operands after the block.
            rows: the most color steps that it adds to an image.
            contrast: whether one may adjust contrast, at most one per image.
            placed: whether one may read the positions of pixels, which then stay where they are.
            operators: the operators that give torchvision's bytes instead.
            drawn: the register that says which images it changes; None: all.
        """
        self.check_no_uint16()
        if self.channels not in (1, 3):
            raise ValueError(f"{self.name}: expected images of 1 or 3 channels, but got {self.channels}")
        if self.exact and operators:
            for step in operators:
                self.operator(step)
            self.open.holds[self.name] = None
            return
        if self.dtype in FLOATS and self.maximum != 1:
            raise ValueError(
                f"{self.name}: expected to stand before ToDtype(scale=False), "
                "since floats are taken as 0 to 1"
            )
        before = self.open.step
        if before.mixes is not None:
            self.split(f"{self.name} changes colors after images were mixed")
        elif before.erase_block.rows:
            self.split(f"{self.name} changes colors after rectangles were filled")
        elif before.mean is not None:
            self.split(f"{self.name} changes colors after they were normalized")
        elif contrast and self.open.contrasts - {self.stream}:
            self.split(f"{self.name} takes a second mean for contrast")
        p = self.open
        p.step.color_block.rows += rows
        p.is_colored, p.is_placed = True, p.is_placed or placed
        p.contrasts |= {self.stream} if contrast else set()
        p.holds[self.name] = None
        gate = self.chosen(drawn)
        if rows:
            self.add_rule(rule, (p.step.color_block, *operands), gate, owner=p.step)

    def color(
        self, step: str, *registers: int, operator: OperatorStep | None = None, drawn: int | None = None
    ) -> None:
        """Add one color step to the fused pass.

        Args:
            step: its name in augment/steps/steps.h.
            registers: up to 7 of its numbers; the others are 0.
            operator: the operator that gives torchvision's bytes instead.
            drawn: see `colors`.
        """
        operators = [] if operator is None else [operator]
        if step not in STEPS:
            raise ValueError(f"{self.name}: expected a color step of {', '.join(STEPS)}, but got {step!r}")
        operands, placed = (STEPS[step], len(registers), *registers), STEPS[step] in PLACED
        contrast = step == "contrast"
        self.colors("color", *operands, contrast=contrast, placed=placed, operators=operators, drawn=drawn)

    def erase(self, register: int, rectangles: int = 1) -> tuple[list[float], list[float]]:
        """Add rectangles to fill to the fused pass.

        Args:
            register: the first of eight registers per rectangle: left, top, right, bottom in pixels, right
                and bottom exclusive, and the fill of up to four channels.
            rectangles: their number.

        Returns:
            Factors and summands per channel that convert fills from the units of the pipeline to those that
            the registers must have.
        """
        units, step = self.erase_units(), self.open.step
        block = step.erase_block
        for index in range(rectangles):
            operands = block, block.rows, register + index * ERASE_WIDTH
            self.add_rule("erase", operands, self.gate, owner=step)
            block.rows += 1
        self.open.holds[self.name] = None
        return units

    def erase_units(self) -> tuple[list[float], list[float]]:
        """What `erase` returns; begins a pass for rectangles if they need one."""
        self.check_no_uint16()
        if self.open.step.mixes is not None:
            self.split(f"{self.name} fills rectangles after images were mixed")
        if self.open.step.mean is not None and self.channels > 4:
            self.split(f"{self.name} fills rectangles after more than 4 channels were normalized")
        return self.open.fill_units(min(self.channels, 4), self.maximum)

    def normalize(self, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        """Subtract `mean` and divide by `std` of every image, with one number or one per channel."""
        self._check_all("normalized")
        if self.dtype not in FLOATS:
            raise ValueError(
                f"{self.name}: expected floats; put ToDtype(torch.float32, scale=True) before it"
            )
        if self.open.step.mean is not None:
            self.split(f"{self.name} normalizes a second time")
        count = max(len(mean), len(std))  # of one number and several, too, a pass stores equal counts
        step = self.open.step
        step.mean, step.std = (values * (count // len(values)) for values in (mean, std))
        self.open.holds[self.name] = None

    def cast(self, dtype: str | None, scale: bool, channels_last: bool | None) -> None:
        """Change the dtype or memory layout of all images; `scale` maps the old maximum value to the new."""
        self._check_all("cast")
        if channels_last is not None:
            self.open.step.channels_last = channels_last
        self._change_dtype(dtype, scale)
        self.open.holds[self.name] = None

    def operator(
        self,
        step: OperatorStep,
        rule: str = "",
        *operands: Operand,
        size: Size | None = None,
        least: Size = (1, 1),
        resizes: bool = False,
        channels: int | None = None,
        draws: int = 0,
    ) -> None:
        """Add a registered operator, a pass of its own.

        Args:
            step: its name, columns, options and the images that it changes.
            rule: the geometry rule of one that moves pixels.
            operands: the operands of the rule.
            size: see `warp`.
            least: see `warp`.
            resizes: whether it takes the size of its output.
            channels: number of output channels, if it changes them.
            draws: see `warp`.
        """
        _check_operator(self, step)
        if channels is not None and self.gate is not None:
            raise ValueError(f"{step.name}: images of one batch all get other channels, or none")
        self.close()
        drawn = None if rule else self.chosen(step.drawn)
        operator = OperatorPass(
            out=self.new_registers(PASS_REGISTERS),
            dtype=str(step.options.get("dtype", self.dtype)),
            why=f"{step.name} {step.why}",
            holds=(self.name,),
            name=step.name,
            arguments=step.columns,
            options=step.options,
            condition=drawn,
            resizes=resizes,
            per_frame=step.per_frame or self.is_per_frame,
        )
        self.passes.append(operator)
        if rule:
            self._move(rule, operands, operator, draws, size, least)
        operator.static_size = self.size
        self.channels = channels or self.channels
        self.begin(f"{step.name} precedes it")

    def mix(
        self,
        name: str,
        columns: Mapping[str, Column],
        options: Mapping[str, Any],
        size: Size | None = None,
    ) -> None:
        """Add a mix of images of the batch.

        Args:
            name: name of an operator with a `MixSpec`.
            columns: those of its table; they leave an image as it is where `pair_indices` has no others.
            options: arguments that are the same for all images.
            size: (height, width) of the output, if it changes sizes.
        """
        self.check_numbers("fill", options.get("fill", 0.0))
        self.mixes = True
        p = self.open
        can_fuse = self.dtype in MIXES[name].fused_dtypes and bool(p.holds) and p.step.mixes is None
        can_fuse = can_fuse and not (self.batch and self.batch.pairs)
        mix = MixPass(out=0, dtype=self.dtype, name=name, arguments=columns, options=options)
        if can_fuse and self.size != VARIES:
            p.step.mixes = mix
            p.holds[self.name] = None
            return
        self.close()
        mix.out, mix.holds = self.new_registers(PASS_REGISTERS), (self.name,)
        mix.why = f"{self.name} reads other images of the batch"
        self.passes.append(mix)
        if size is not None:
            self.add_rule("resize", (*size, 0), owner=mix)
            self.least = self.size = size
        mix.static_size = self.size
        self.begin(f"{name} precedes it")

    def blend(self, weights: int, copies: int, numbers: range, rules: Callable[[Build, int], None]) -> None:
        """Add a blend of images with altered copies of themselves.

        Args:
            weights: the first register of the weights of an image and of its copies.
            copies: their number.
            numbers: the registers of the numbers of the copies, one copy after the other.
            rules: adds the rules of a copy to a program; takes the first register of its numbers.
        """
        self.check_no_uint16()
        self.close()
        inner = Build(self.channels, self.dtype, batch=None)
        inner.name = self.name
        rules(inner, inner.new_registers(len(numbers) // copies))
        inner.finish()
        if self.gate is not None:
            every = range(weights, weights + 1 + copies)
            weights = self.selects(self.gate, every, [1.0] + [0.0] * copies)
        blend = BlendPass(
            out=self.new_registers(PASS_REGISTERS),
            dtype=self.dtype,
            why=f"{self.name} blends images with altered copies",
            holds=(self.name,),
            static_size=self.size,
            copies=copies,
            weight_register=weights,
        )
        self.passes.append(blend)
        self.blends.append((blend, inner, numbers))
        self.begin("blend precedes it")

    def finish(self, as_planes: bool = False) -> None:
        """Close the last pass; there is at least one if the pipeline does anything.

        With `as_planes`, the last one writes floats as planes. A pass that changes nothing stays only at the
        end, where it makes a tensor of an ImageBatch of one size.
        """
        if as_planes and self.dtype in FLOATS and self.open.step.channels_last is None:
            self.open.step.channels_last = False
        self.close()
        self.passes = [p for p in self.passes[:-1] if p not in self._idle] + self.passes[-1:]

    def close(self) -> None:
        """Finish the open pass, if it has any step."""
        p = self.open
        if not p.holds or self._joined_crop(p):
            return
        step = p.finish(self.new_registers(PASS_REGISTERS), self.dtype, self.size)
        step.why = step.why if self.passes else ""
        self.passes.append(step)
        if not p.flips and p.moves_alone(self.dtype):  # its transforms became operators before it
            self._idle.append(step)

    def begin(self, why: str) -> None:
        """Open an augment pass and note the reason."""
        maximum = MAXIMUM.get(self.dtype, 1.0)
        self.open = OpenPass(self.maximum, maximum, self.dtype)
        self.open.step.why = why

    def split(self, why: str) -> None:
        """Close the open pass and open another one."""
        self.close()
        self.begin(why)

    def check_no_uint16(self) -> None:
        """Refuse images of 16 bits."""
        if self.dtype == "uint16":
            raise ValueError(
                f"{self.name}: expected images of uint8 or floats, but got uint16; "
                "put ToDtype(torch.float32, scale=True) before it"
            )

    def _joined_crop(self, p: OpenPass) -> bool:
        """Let a preceding crop flip its results, and join it if the open pass also changes values."""
        crop = self.passes[-1] if self.passes else None
        if self.exact or not isinstance(crop, OperatorPass) or "flips" not in crop.spec.parameters:
            return False
        only_flips = all(p.flips) and p.moves_alone(self.dtype)
        if not (only_flips or (p.joins(crop) and self.channels <= 4)):
            return False
        crop.flips, crop.holds = bool(p.flips), (*crop.holds, *p.holds)
        parts = crop, p.step
        if not only_flips:
            self.passes[-1] = p.finish(crop.out, self.dtype, self.size, crop)
        for rule in self.rules:
            rule.owner = self.passes[-1] if rule.owner in parts else rule.owner
        return True

    def _move(
        self, rule: str, operands: Sequence[Operand], owner: Any, draws: int, size: Size | None, least: Size
    ) -> None:
        self.add_rule(rule, operands, self.gate, owner=owner)
        self.position += draws
        if size is not None:
            self._resize(size, least)

    def _resize(self, size: Size, least: Size) -> None:
        if self.gate is not None:
            self.least = min(least[0], self.least[0]), min(least[1], self.least[1])
            self.size = size if size == self.size != ALIKE else VARIES
        else:
            self.least, self.size = least, VARIES if size == ALIKE and self.size == VARIES else size

    def _begins_pass(self, border: str | None, fill: tuple[float, ...], lossless: bool, onto: bool) -> str:
        """Why a warp cannot join the open pass; empty if it can."""
        p, name = self.open, self.name
        if p.why_fixed:
            return f"{name} moves pixels {p.why_fixed}"
        if (p.is_colored or p.step.mean is not None) and not (border is None and lossless):
            return f"{name} reads between pixels after their colors changed"
        if p.contrasts and not onto:
            return f"{name} leaves pixels out after their mean was taken for contrast"
        if border is not None and p.border not in (None, border):
            return f"{name} has border {border}, the warp before it {p.border}"
        if border == "constant" == p.border and self._fill(fill) != p.step.fill:
            return f"{name} has another fill than the warp before it"
        if border == "constant" and not holds_fill(fill, p.unit / self.maximum, p.dtype, self.dtype):
            return f"{name} fills with what {p.dtype} does not hold"
        return ""

    def _fill(self, fill: tuple[float, ...]) -> tuple[float, ...]:
        """A fill in the units of the open pass's input."""
        return tuple(value * self.open.unit / self.maximum for value in fill)

    def check_numbers(self, name: str, values: Any) -> None:
        """Refuse an argument that has neither one number nor one per channel."""
        count = len(values) if isinstance(values, (tuple, list)) else 1
        if count not in (1, self.channels):
            counts = "1 number" if self.channels == 1 else f"1 or {self.channels} numbers"
            raise ValueError(f"{self.name}: expected {counts} in {name}, but got {count}")

    def _check_all(self, what: str) -> None:
        if self.gate is not None:
            raise ValueError(f"{self.name}: images of one batch are all {what}, or none")

    def _change_dtype(self, dtype: str | None, scale: bool) -> None:
        if dtype is None or dtype == self.dtype:
            return
        was_byte, is_byte = self.dtype == "uint8", dtype == "uint8"
        if is_byte:
            self.check_no_uint16()
        if self.dtype == "uint16" or (was_byte != is_byte and not scale):
            self._cast_by_operator(dtype, scale)
            return
        if is_byte and not was_byte and self.open.step.mean is not None:
            self.split(f"{self.name} rounds to bytes after normalizing")
        self.dtype, self.maximum = dtype, 255.0 if is_byte else 1.0

    def _cast_by_operator(self, dtype: str, scale: bool) -> None:
        is_byte, maximum = dtype == "uint8", 1.0 if scale else self.maximum
        why = "reads 16 bits" if self.dtype == "uint16" else "keeps the numbers"
        channels_last = self.open.step.channels_last
        options = {"dtype": dtype, **({} if is_byte else {"scale": scale})}
        self.operator(OperatorStep("to_uint8" if is_byte else "to_float", options=options, why=why))
        self.dtype, self.maximum = dtype, 255.0 if is_byte else maximum
        self.begin(f"{self.name} {why}")
        self.open.step.channels_last = channels_last


def _check_operator(build: Build, step: OperatorStep) -> None:
    """Refuse images that an operator does not take."""
    spec, name, dtype = OPERATORS.get(step.name), build.name, build.dtype
    if spec is None:
        raise ValueError(f"{name}: expected an operator with an OpSpec, but got {step.name!r}")
    if spec.dtypes == ("uint8",) and dtype != "uint8":
        fix = "give images of 8 bits" if dtype == "uint16" else "put it before ToDtype"
        raise ValueError(f"{name}: expected images of uint8, but got {dtype}; {fix}")
    if "uint16" not in spec.dtypes:
        build.check_no_uint16()
    if dtype not in spec.dtypes:
        raise ValueError(f"{name}: expected images of {' or '.join(spec.dtypes)}, but got {dtype}")
    if spec.channels and build.channels not in spec.channels:
        counts = " or ".join(map(str, spec.channels))
        raise ValueError(f"{name}: expected images of {counts} channels, but got {build.channels}")
    build.check_numbers("fill", step.options.get("fill", 0.0))
