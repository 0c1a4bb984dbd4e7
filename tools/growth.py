"""Measures how cost grows with batch size, image size, pipeline length and number of threads.

    python tools/growth.py [batch side length threads] [--rounds 7] [--output DIR]

Timing is that of tools/bench.py: outputs are compared, contenders alternate in one process, and figures are
medians over the rounds, in CPU time of one thread or wall time of several. Writes growth.json, growth.md and
growth.png to DIR/<machine>/; panels that are not measured keep their previous results. Takes some minutes and
up to 2 GiB of memory; needs cv2 and matplotlib.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.ops.transforms import BRIGHTNESS_OF, SATURATION_OF, recolored_by_cv2  # noqa: E402
from orbbec import ImageBatch  # noqa: E402
from orbbec import transforms as T  # noqa: E402
from orbbec.bridge.arguments import Array  # noqa: E402
from orbbec.cli.doctor import collect  # noqa: E402
from orbbec.plan import Plan  # noqa: E402
from tests.support import photograph  # noqa: E402
from tests.support.timing.benchmark import Case, Contender, Work, as_array, share  # noqa: E402
from tests.support.timing.by_hand import MEAN, STD, as_usual, buffer, crops  # noqa: E402
from tests.support.timing.measure import (  # noqa: E402
    FEWEST_ROUNDS,
    Result,
    Timing,
    machine_name,
    progress,
    provenance,
    result_of,
    row,
    set_threads,
    time_case,
)
from tests.support.timing.records import write_records  # noqa: E402

BY_HAND, USUAL = "cv2 and NumPy by hand", "cv2 and NumPy, as usual"
FUSED, INTO, EXACT = "orbbec", "orbbec, out=", "orbbec, step by step"
SIDE, IMAGES = 224, 64
TWO_WARPS = 3  # the first two transforms that interpolate are among this many
PIXELS = 2**24  # of the outputs of a batch of large images
BRIGHTER, PALER, GAMMA, THRESHOLD, BITS = 1.3, 0.7, 1.5, 128, 4
PIPELINE = (
    T.RandomResizedCrop(SIDE, antialias=False),
    T.RandomHorizontalFlip(1.0),
    T.RandomRotation(15, "linear"),
    T.RandomAffine(0, (0.1, 0.1), interpolation="linear"),
    T.RandomVerticalFlip(1.0),
    T.ColorJitter(brightness=(BRIGHTER, BRIGHTER)),
    T.ColorJitter(saturation=(PALER, PALER)),
    T.Gamma(GAMMA),
    T.RandomSolarize(THRESHOLD, 1.0),
    T.RandomPosterize(BITS, 1.0),
    T.RandomInvert(1.0),
    T.RandomErasing(1.0),
)
Change = Callable[[Array, int], Array]  # an image, and its number


@dataclass(frozen=True)
class Point:
    """Work whose cost is one point of a chart.

    Args:
        at: position on the axis.
        case: the work to time.
        threads: number of threads.
        divisor: divisor of the seconds of a run.
    """

    at: int
    case: Case
    threads: int
    divisor: float


@dataclass(frozen=True)
class Panel:
    """A chart.

    Args:
        title: title.
        axis: label of the quantity that grows.
        unit: unit of the figures.
        points: points in order of the axis.
        powers: whether both axes are logarithmic.
    """

    title: str
    axis: str
    unit: str
    points: Sequence[Point]
    powers: bool


def batch_of(count: int, height: int, width: int) -> ImageBatch:
    """Photographs in one buffer; `IMAGES` different ones are repeated."""
    images = [photograph(height, width, seed=n) for n in range(min(count, IMAGES))]
    return ImageBatch.from_images([images[n % len(images)] for n in range(count)])


def classify(count: int, source: tuple[int, int], side: int, device: str) -> Work:
    """Crop, flip, normalize to float32."""
    crop = T.RandomResizedCrop(side, antialias=False)
    end = T.ToDtype(torch.float32, scale=True), T.Normalize(MEAN, STD)
    pipeline, batch = T.Compose([crop, T.RandomHorizontalFlip(), *end]), batch_of(count, *source)
    (only,) = pipeline.plan(batch.sizes, epoch=0).passes
    images, flipped = [image.numpy() for image in batch.images()], only.matrix[:, 0, 0] < 0
    output = torch.empty(count, 3, side, side)
    contenders = (
        Contender(BY_HAND, crops(images, only.regions, flipped, side), False, least_psnr=40),
        Contender(USUAL, crops(images, only.regions, flipped, side, as_usual), False, least_psnr=40),
        Contender(FUSED, lambda: pipeline(batch, epoch=0)),
        Contender(INTO, lambda: pipeline(batch, epoch=0, out=output)),
    )
    return Work(contenders, as_array(pipeline(batch, epoch=0)), count, 0)


def augment_at_length(length: int, device: str) -> Work:
    """The first `length` transforms of `PIPELINE`, on bytes."""
    batch = batch_of(IMAGES, 375, 500)
    fused, exact = T.Compose(PIPELINE[:length]), T.Compose(PIPELINE[:length], exact=True)
    changes = by_hand_of(T.Compose(PIPELINE, exact=True).plan(batch.sizes, epoch=0))[:length]
    images = [image.numpy() for image in batch.images()]

    results = np.empty((IMAGES, SIDE, SIDE, 3), np.uint8)

    def change_all(n: int, image: Array, out: Array) -> None:
        for change in changes:
            image = change(image, n)
        np.copyto(out, image)

    def by_hand() -> Array:
        share(change_all, range(IMAGES), images, results)
        return results

    contenders = (
        Contender(BY_HAND, by_hand, False),
        Contender(FUSED, lambda: fused(batch, epoch=0), False),
        Contender(EXACT, lambda: exact(batch, epoch=0)),
    )
    return Work(contenders, as_array(exact(batch, epoch=0)), IMAGES, 0)


def by_hand_of(plan: Plan) -> tuple[Change, ...]:
    """`PIPELINE` with cv2 and NumPy in reused buffers, with the parameters of an exact plan."""
    first, _, turn, shift, *_, last = plan.passes
    boxes, holes = first.table["boxes"].astype(int), last.erase[:, 0, :4].astype(int)
    levels = np.arange(256)
    output = partial(buffer, shape=(SIDE, SIDE, 3))

    def cut(image: Array, n: int) -> Array:
        left, top, right, bottom = boxes[n]
        return cv2.resize(image[top:bottom, left:right], (SIDE, SIDE), dst=output("cut"))

    def warped(image: Array, n: int, matrices: Array) -> Array:
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return cv2.warpAffine(
            image, matrices[n, :2], (SIDE, SIDE), flags=flags, dst=output(f"warped {id(matrices)}")
        )

    def looked_up(image: Array, n: int, table: Array) -> Array:
        return cv2.LUT(image, table, dst=image)

    def erased(image: Array, n: int) -> Array:
        left, top, right, bottom = holes[n]
        image[top:bottom, left:right] = 0
        return image

    raised = np.rint(255 * (levels / 255) ** GAMMA).astype(np.uint8)
    solarized = np.where(levels < THRESHOLD, levels, 255 - levels).astype(np.uint8)
    posterized = (levels & (256 - (1 << (8 - BITS)))).astype(np.uint8)
    return (
        cut,
        lambda image, n: cv2.flip(image, 1, dst=output("mirrored")),
        partial(warped, matrices=turn.matrix),
        partial(warped, matrices=shift.matrix),
        lambda image, n: cv2.flip(image, 0, dst=output("upside down")),
        lambda image, n: recolored_by_cv2(image, BRIGHTNESS_OF, BRIGHTER),
        lambda image, n: recolored_by_cv2(image, SATURATION_OF, PALER),
        partial(looked_up, table=raised),
        partial(looked_up, table=solarized),
        partial(looked_up, table=posterized),
        lambda image, n: cv2.bitwise_not(image, dst=image),
        erased,
    )


def point(at: int, prepare: Callable[[str], Work], divisor: float, threads: int = 1) -> Point:
    return Point(at, Case(str(at), prepare), threads, divisor)


def batch_panel() -> Panel:
    points = [
        point(count, partial(classify, count, (240, 320), SIDE // 2), count) for count in powers_of_2(1, 1024)
    ]
    title = f"Images of 240x320 cropped to {SIDE // 2}, flipped, normalized"
    return Panel(title, "images of a batch", "s per image", points, True)


def side_panel() -> Panel:
    points = []
    for side in powers_of_2(64, 4096):
        count = min(IMAGES, PIXELS // side**2)
        points.append(point(side, partial(classify, count, (side, side), side), count * side**2))
    title = "Cropped, resized to as large as they were, flipped, normalized"
    return Panel(title, "side of the images in pixels", "s per pixel", points, True)


def length_panel() -> Panel:
    points = [point(n, partial(augment_at_length, n), IMAGES) for n in range(1, len(PIPELINE) + 1)]
    return Panel(
        f"{IMAGES} images of 375x500 to {SIDE}", "transforms of the pipeline", "s per image", points, False
    )


def threads_panel() -> Panel:
    points = [
        point(count, partial(classify, IMAGES, (375, 500), SIDE), IMAGES, count)
        for count in range(1, (os.cpu_count() or 1) + 1)
    ]
    title = f"{IMAGES} images of 375x500 cropped to {SIDE}, flipped, normalized"
    return Panel(title, "threads", "s per image", points, False)


PANELS = {"batch": batch_panel, "side": side_panel, "length": length_panel, "threads": threads_panel}


def powers_of_2(first: int, last: int) -> list[int]:
    """The numbers from `first` to `last`, each twice the previous one.

    Example:
        >>> powers_of_2(64, 256)
        [64, 128, 256]
    """
    return [first << n for n in range((last // first).bit_length())]


def measured(panel: Panel, rounds: int, say: Callable[[str], None]) -> list[Result]:
    """Time all points of a panel."""
    results = []
    for each in panel.points:
        say(f"{panel.axis}: {each.at}")
        work = each.case.prepare("cpu")
        (result,) = time_case("growth", each.case.name, work, "cpu", [each.threads], rounds)
        # One clock for the whole panel: CPU time would hide the gain of threads.
        result.clock = "wall" if any(other.threads > 1 for other in panel.points) else "cpu"
        results.append(result)
    return results


def curves_of(panel: Panel, results: Sequence[Result]) -> dict[str, list[float]]:
    """The figures of each contender, in the unit of the panel."""
    return {
        timing.name: [
            result.median(result.timings[n]) / each.divisor
            for each, result in zip(panel.points, results, strict=True)
        ]
        for n, timing in enumerate(results[0].timings)
    }


def table(panel: Panel, results: Sequence[Result]) -> str:
    """A Markdown table: microseconds, or nanoseconds per pixel."""
    scale, unit = (1e9, "ns") if panel.unit == "s per pixel" else (1e6, "µs")
    curves = curves_of(panel, results)
    head = [panel.axis, *(f"{name}, {unit}{panel.unit[1:]}" for name in curves)]
    head += ["orbbec's speed, by hand = 1", *(f"PSNR of {timing.name}, dB" for timing in inexact(results))]
    lines = [f"### {panel.title} ({results[0].clock} time)", "", row(head), row(["---:"] * len(head))]
    for n, (each, result) in enumerate(zip(panel.points, results, strict=True)):
        figures = (f"{scale * own[n]:.3g}" for own in curves.values())
        shown = f"{result.headline:.2f}" if result.headline else ""
        off = {timing.name: timing.psnr for timing in result.timings}
        near = ("same" if off[one.name] is None else f"{off[one.name]:.1f}" for one in inexact(results))
        lines.append(row([f"{each.at:,}", *figures, shown, *near]))
    return "\n".join([*lines, "", *notes(panel, results)])


def inexact(results: Sequence[Result]) -> list[Timing]:
    """The contenders with any output other than the expected one."""
    return [
        timing
        for n, timing in enumerate(results[0].timings)
        if any(result.timings[n].psnr is not None for result in results)
    ]


def notes(panel: Panel, results: Sequence[Result]) -> list[str]:
    """Sentences about the points at which orbbec loses."""
    at = dict(zip((each.at for each in panel.points), results, strict=True))
    lost = [f"{n:,}" for n, result in at.items() if result.headline is not None and result.headline < 1]
    lines = [f"By hand is faster at {listed(lost)}.", ""] if lost else ["orbbec is faster throughout.", ""]
    names = {timing.name: n for n, timing in enumerate(results[0].timings)}
    if EXACT not in names:
        return lines
    fused, exact = names[FUSED], names[EXACT]
    slow = [
        f"{n:,}" for n, result in at.items() if result.ratio(result.timings[fused], result.timings[exact]) < 1
    ]
    lines += (
        [f"The fused pipeline is slower than the step-by-step one at {listed(slow)}.", ""] if slow else []
    )
    off = [result.timings[fused].psnr for n, result in at.items() if n >= TWO_WARPS]
    near = [value for value in off if value is not None]
    if near:
        lines += [
            f"PSNR is compared with the step-by-step output. From {TWO_WARPS} transforms on the "
            f"fused pipeline has {min(near):.1f} to {max(near):.1f} dB: it interpolates once, where the "
            "step-by-step one, like cv2, interpolates and rounds at each geometric transform, which blurs.",
            "",
        ]
    return lines


def listed(values: Sequence[str]) -> str:
    """A list in words.

    Example:
        >>> listed(["1", "2", "4"]), listed(["8"])
        ('1, 2 and 4', '8')
    """
    return " and ".join([", ".join(values[:-1]), values[-1]] if len(values) > 1 else values)


def draw(found: Sequence[tuple[Panel, Sequence[Result]]], path: Path, title: str) -> None:
    """Draw one chart per panel, two per row."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, NullFormatter

    figure = Figure(figsize=(13, 5 * -(-len(found) // 2)), layout="constrained")
    figure.suptitle(title)
    colors = {BY_HAND: "black", USUAL: "tab:gray", FUSED: "tab:blue", INTO: "tab:cyan", EXACT: "tab:orange"}
    for number, (panel, results) in enumerate(found, 1):
        axes = figure.add_subplot(-(-len(found) // 2), min(2, len(found)), number)
        for name, curve in curves_of(panel, results).items():
            axes.plot([each.at for each in panel.points], curve, "o-", label=name, color=colors[name])
        axes.set(title=f"{panel.title}\n({results[0].clock} time)", xlabel=panel.axis, ylabel=panel.unit[2:])
        if panel.powers:
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_formatter(NullFormatter())
        else:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(FixedLocator([each.at for each in panel.points]))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.yaxis.set_major_formatter(EngFormatter("s"))
        axes.grid(alpha=0.3, which="both")
        axes.legend()
    figure.savefig(path, dpi=80)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How cost grows, in charts.")
    parser.add_argument("--rounds", type=int, default=7, help=f"at least {FEWEST_ROUNDS} (default: 7)")
    parser.add_argument("only", nargs="*", help=f"of {', '.join(PANELS)} (default: all)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks")
    options = parser.parse_args()
    if options.rounds < FEWEST_ROUNDS:
        parser.error(f"expected --rounds of at least {FEWEST_ROUNDS}")
    if not set(options.only) <= set(PANELS):
        parser.error(f"expected some of {', '.join(PANELS)}, but got {' '.join(options.only)}")
    options.only = options.only or list(PANELS)
    return options


def main() -> None:
    options, facts = arguments(), collect()
    folder = options.output / machine_name(facts, "cpu")
    folder.mkdir(parents=True, exist_ok=True)
    before, panels = torch.get_num_threads(), {name: make() for name, make in PANELS.items()}
    results = kept_of(folder / "growth.json")
    with progress(sum(len(panels[name].points) for name in options.only)) as say:
        results |= {panels[name].title: measured(panels[name], options.rounds, say) for name in options.only}
    set_threads(before)
    found = [(panel, results[panel.title]) for panel in panels.values() if panel.title in results]
    about = provenance(facts, "cpu", options.rounds)
    write(folder, found, about)
    print(folder / "growth.md")


def kept_of(path: Path) -> dict[str, list[Result]]:
    """The previous results of each panel, by title."""
    panels = json.loads(path.read_text())["panels"] if path.exists() else []
    return {panel["title"]: list(map(result_of, panel["results"])) for panel in panels}


def write(folder: Path, found: Sequence[tuple[Panel, Sequence[Result]]], about: dict[str, Any]) -> None:
    """Write growth.json with all samples, growth.md and growth.png."""
    panels = [
        {"title": panel.title, "axis": panel.axis, "results": [asdict(result) for result in results]}
        for panel, results in found
    ]
    write_records(folder / "growth.json", {**about, "panels": panels})
    where = f"{about['cpu']}, {about['cores']} cores, {about['date']}"
    versions = ", ".join(f"{name} {about[name]}" for name in ("orbbec", "torch", "cv2"))
    head = (
        f"# How cost grows: {where}\n\n{versions}, at {about['commit'] or 'an unknown commit'}; medians of "
    )
    head += f"{about['rounds']} interleaved rounds, by `python tools/growth.py`.\n\n![charts](growth.png)\n"
    text = "\n".join([head, *itertools.starmap(table, found)])
    (folder / "growth.md").write_text(text.rstrip() + "\n")
    draw(found, folder / "growth.png", where)


if __name__ == "__main__":
    main()
