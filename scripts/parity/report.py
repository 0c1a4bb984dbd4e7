"""The results of check_parity.py, as tables in a terminal and as docs/project/parity_cells.md."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.peers.parity import DTYPES
from tests.support.warps import BORDERS, INTERPOLATIONS, WARPS

Row = dict[str, Any]
Result = dict[str, Any]


def difference_text(row: Row) -> str:
    """The largest difference and the fraction of differing values, such as `252 in 8.9 %`."""
    if row["different_values"] == 0:
        return "identical"
    largest, percent = row["largest_difference"], 100 * row["different_values"] / row["values"]
    return f"{largest:.0f} in {percent:.3g} %" if largest >= 2 else f"{largest:.2g} in {percent:.3g} %"


def table(rows: list[Row], op: str, dtypes: tuple[str, ...] = DTYPES) -> Iterator[list[str]]:
    """A table with dtype and interpolation as rows, and borders as columns."""
    of = {(row["dtype"], row["interpolation"], row["border"]): row for row in rows if row["op"] == op}
    yield ["dtype", "interpolation", *BORDERS]
    for dtype in dtypes:
        for interpolation in INTERPOLATIONS:
            found = [of.get((dtype, interpolation, border)) for border in BORDERS]
            yield [dtype, interpolation, *(difference_text(row) if row else "-" for row in found)]


def main_rows(result: Result) -> list[Row]:
    return [row for row in result["cells"] if row["arithmetic"] == result["arithmetic"]]


def totals(rows: list[Row]) -> tuple[int, int, int]:
    """The numbers of cases, values and differing values."""
    return (
        sum(row["cases"] for row in rows),
        sum(row["values"] for row in rows),
        sum(row["different_values"] for row in rows),
    )


def print_tables(result: Result) -> int:
    """Print a table per operator; return the number of differing values where identity is promised."""
    rows = main_rows(result)
    print(f'OpenCV {result["opencv"]}, arithmetic="{result["arithmetic"]}"')
    print(
        f"{result['cases_per_cell']:,} cases per cell where identity is promised, "
        f"{result['cases_per_other_cell']} elsewhere"
    )
    for op in WARPS:
        if not any(row["op"] == op for row in rows):
            continue
        print(f"\n{op}")
        lines = list(table(rows, op))
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        for line in lines:
            print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())
    promised = [row for row in rows if row["promised"]]
    cases, values, different = totals(promised)
    print(f"\npromised to be identical: {cases:,} cases, {values:,} values, {different:,} differ")
    for row in promised:
        if row["different_values"]:
            name = " ".join(row[key] for key in ("op", "dtype", "interpolation", "border"))
            print(
                f"  BROKEN {name}: {difference_text(row)}, {row['different_cases']} of {row['cases']} cases"
            )
    print(f"{result['seconds']} s")
    return different


def print_lines(result: Result) -> int:
    """Print a line per form of an operator; return how many values differ where identity is promised."""
    print(f"\n{result['author']} {result['version']}")
    for row in result["lines"]:
        broken = row["promised"] and row["different_values"]
        print(
            f"{row['op']:18} {row['form']:32} {row['cases']:5,} cases {row['values']:12,} values  "
            f"{difference_text(row)}{'  BROKEN' if broken else ''}"
        )
    return sum(row["different_values"] for row in result["lines"] if row["promised"])


def lines_section(result: Result) -> str:
    """The operators compared with one version of one reference."""
    promised = [row for row in result["lines"] if row["promised"]]
    cases, values, different = totals(promised)
    rows = [
        [f"`{row['op']}`", row["form"], f"{row['cases']:,}", f"{row['values']:,}", difference_text(row)]
        for row in result["lines"]
    ]
    head = ["operator", "form", "cases", "values", "result"]
    return (
        f"## {result['author']} {result['version']}: other operators\n\n"
        f"Promised to be identical: {cases:,} cases, {values:,} values, **{different:,} differ**. "
        f"{result['processor']}.\n\n{markdown_table(iter([head, *rows]))}"
    )


def transforms_section(result: Result) -> str:
    """Single transforms, one row per form."""
    promised = [row for row in result["lines"] if row["promised"]]
    cases, values, different = totals(promised)
    versions = ", ".join(f"{author} {version}" for author, version in result["versions"].items())
    head = ["transform", "form", "reference", "cases", "values", "difference"]
    rows = [
        [
            f"`{row['op']}`",
            row["form"],
            row["author"],
            f"{row['cases']:,}",
            f"{row['values']:,}",
            difference_text(row),
        ]
        for row in sorted(result["lines"], key=lambda row: (row["op"], row["form"], not row["promised"]))
    ]
    text = (
        f"Each transform in `Compose([...], exact=True)` compared with the function of {versions}, with the "
        f"same parameters, on random images. Promised to be identical: {cases:,} cases, {values:,} values, "
        f"**{different:,} differ**. The tests also compare random pipelines of two and three transforms. A "
        "row may be identical although less is promised: in the cases of `RandAugment`, no position was "
        "halfway between two pixels."
    )
    parts = ["## Transforms", text, markdown_table(iter([head, *rows])), TRANSFORM_REASONS]
    return "\n\n".join([*parts, SHARPNESS.format(**result["sharpness"])])


def markdown_table(lines: Iterator[list[str]]) -> str:
    header, *rest = list(lines)
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, ["---"] * len(header), *rest))


def worst(rows: list[Row]) -> str:
    """The largest difference and the fraction of values over several cells."""
    _, values, different = totals(rows)
    return difference_text(
        {
            "values": values,
            "different_values": different,
            "largest_difference": max(row["largest_difference"] for row in rows),
        }
    )


def select(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def section(result: Result) -> str:
    """One version of OpenCV."""
    rows = main_rows(result)
    promised = [row for row in rows if row["promised"]]
    cases, values, different = totals(promised)
    parts = [
        f'## OpenCV {result["opencv"]}: `arithmetic="{result["arithmetic"]}"`',
        f"Promised to be identical: {cases:,} cases, {values:,} values, **{different:,} differ**. "
        f"{result['cases_per_cell']:,} cases per cell where identity is promised, "
        f"{result['cases_per_other_cell']} elsewhere; {result['processor']}; torch {result['torch']}, "
        f"NumPy {result['numpy']}; {result['seconds'] / 60:.0f} minutes.",
    ]
    for op in WARPS:
        parts += [f"### {op}", markdown_table(table(rows, op))]
    return "\n\n".join(parts)


DEVIATIONS_OF_5 = """\
- **cubic, transparent** (uint8: {cubic_transparent}). For taps outside the image OpenCV uses
  the old value of the *first* output pixel of each group of 8; orbbec uses that of the pixel itself, so no
  pixel depends on its neighbors.
- **float64 with nearest, linear and cubic** (relative to the largest value: {doubles}). orbbec computes
  in float64. OpenCV 5 rounds float64 positions to 1/32 pixel, like OpenCV 4, and computes cubic in
  float32. With `arithmetic="cv2_4"`, orbbec's float64 compared with OpenCV 5 is {doubles_fixed}.
- **Positions that are not finite** (a horizon, a NaN in a map). orbbec gives the fill, or with a
  transparent border the old pixel. OpenCV gives 0, NaN or a pixel, depending on the neighbors. The cases
  above contain {undefined:,} such values, of which {undefined_different:,} differ; the tables do not
  count them.
- **wrap with positions beyond the range of int.** OpenCV crashed on one in float64, so the comparison
  omits them. orbbec wraps in closed form.
- **cubic with reflect101 on an image 1 pixel wide or high.** OpenCV does not return ({hangs}). orbbec
  reads the one pixel.
- **-0.** A fill of -0 counts as 0. OpenCV gives -0 or 0, depending on the neighbors, also where a
  transparent border keeps a -0. No case contains -0.
- **2, or more than 4 channels.** For these OpenCV uses the arithmetic of OpenCV 4 with nearest and
  linear, and refuses more than 4 with cubic and lanczos4. orbbec treats any number of channels alike.
  {channels}
- **Processors without AVX2.** OpenCV then rounds products and sums separately. orbbec gives the results
  of a processor with AVX2, as in the tables, everywhere. Compared with OpenCV without vector code,
  warp_affine of uint8: {without_avx2}.
"""

DEVIATIONS_OF_4 = """\
- None in the cells above, including positions that are not finite: they convert to the smallest int,
  which is outside the image.
- -0: as above. No case contains -0.
- Sides of 32767 pixels and more are refused, since positions have 16 bits; OpenCV refuses them in
  `remap`.
- Only the version named above was measured.
"""


def doubles_text(result: Result) -> str:
    fixed = [r for r in result["cells"] if r["arithmetic"] == "cv2_4" and r["dtype"] == "float64"]
    names = ("nearest", "linear", "cubic")
    return ", ".join(f"{name} {worst(select(fixed, interpolation=name))}" for name in names)


def channels_text(result: Result) -> str:
    rows = [row for row in result["channels"] if row["different_values"]]
    texts = [f"{row['channels']} channels {row['interpolation']} {difference_text(row)}" for row in rows]
    return f"Measured on uint8: {', '.join(texts)}." if texts else "Measured: identical."


def deviations_of_5(result: Result) -> str:
    """The intended differences from OpenCV 5."""
    rows = main_rows(result)
    doubles = [r for r in select(rows, dtype="float64") if r["interpolation"] != "lanczos4"]
    unoptimized = (f"{r['interpolation']} {difference_text(r)}" for r in result["without_avx2"])
    return DEVIATIONS_OF_5.format(
        cubic_transparent=worst(select(rows, dtype="uint8", interpolation="cubic", border="transparent")),
        doubles=worst(doubles),
        doubles_fixed=doubles_text(result),
        undefined=sum(row["undefined_values"] for row in rows),
        undefined_different=sum(row["undefined_different_values"] for row in rows),
        hangs="stopped after 10 seconds" if result["hangs_on_one_pixel"] else "here it did",
        channels=channels_text(result),
        without_avx2=", ".join(unoptimized),
    )


TRANSFORM_REASONS = """\
- **RandomRotation, RandomAffine, RandomPerspective compared with torchvision.** torchvision blends image
  and fill at the border with a separate mask, and its positions differ in the last bits; orbbec follows
  OpenCV.
- **RandomResizedCrop with antialias compared with torchvision.** torchvision crops before it resizes;
  orbbec reads beyond the crop, like Pillow with `box=`.
- **Resize compared with torchvision.** torchvision uses another fixed-point format for uint8.
- **Grayscale to 1 channel, GaussianBlur.** orbbec follows OpenCV, not torchvision.
- **ToDtype, float32 to uint8.** torchvision truncates `255.999 * value`; orbbec rounds `255 * value`.
- **MotionBlur.** As `filter2d`: sums that end in one half.
- **The automatic policies.** With nearest interpolation, a position halfway between two pixels may read
  either.
"""

SHARPNESS = """\
By default, consecutive coordinate transforms resample once and round once. For a random resized crop, a
rotation and an affine transform of waves of 3 to 40 pixels, the PSNR against the exact result is
{fused_psnr:.1f} dB, and {exact_psnr:.1f} dB with `exact=True`. The default keeps {fused_detail:.2f} of
the detail (the variance of the Laplacian), `exact=True` {exact_detail:.2f}.

If a transform with a fill follows a resize in one pass, image and fill blend over one pixel of the image
before the resize, not after it. Enlarged 4 times and rotated, the border is {fused_border:.1f} pixels wide,
and {exact_border:.1f} with `exact=True`. The plan has a note about it.
"""

REASONS = """\
## Where the other operators differ, and why

- **cvt_color to HLS, uint8.** OpenCV fuses products and sums in full vectors, but not in the tail of a
  row; orbbec fuses everywhere.
- **cvt_color, gaussian_blur, filter2d of float32.** OpenCV's order of sums and its fused operations
  depend on the processor and on the position in a row. The last bits differ.
- **box_blur of float32.** OpenCV uses running sums, whose error grows along a row; orbbec sums each
  window separately.
- **filter2d, sharpen, motion_blur, uint8.** OpenCV 5 does not fuse in the tail of a row, which matters
  where a sum ends in one half. For kernels of 130 taps and more it uses Fourier transforms.
- **resize, lanczos and hamming with antialias, of uint16 and float32.** Pillow's sine differs in the last
  bits, which changes sums halfway between two values.
- **autocontrast compared with Pillow.** orbbec truncates, like torchvision for tensors; torchvision's
  results for tensors and for PIL images differ in the same way.
- **adjust_contrast, adjust_gamma, adjust_sharpness of float32.** torchvision's mean, power and
  convolution differ in the last bits; orbbec's are the same on every device.
- **normalize to float16.** torchvision rounds after each step, orbbec once.
"""

PREFACE = """\
# Parity, cell by cell

The details of [parity](parity.md). Written by `scripts/parity/check_parity.py` from `docs/parity/*.json`; do
not edit.

A cell is *identical* if every value of every case has the same bits (a NaN equals a NaN). Otherwise it
has the largest difference and the fraction of differing values: in levels for integers, relative to the
largest value of the image for floats. Cases are random: sizes from 1 x 1 to 700 x 700; 1, 3 and 4
channels; similarities, shears, singular matrices, scales from 10^-6 to 10^6, shifts by multiples of 1,
1/32 and 1/64 pixel, images far outside; float32 and float64 matrices of both directions; fills with
fractions and out of range. float16, which OpenCV lacks, is compared with OpenCV's rounded float32 result;
the tests compare bfloat16 with orbbec's rounded float32. Everything is measured on the CPU; the tests
compare CUDA with the CPU bit for bit.
"""


PEERS = """## Tests with other libraries

`make test-peers` runs the tests that need another library: conversion from torchvision and
Albumentations, the switch for torchvision, and Ray. `make test` and CI include them, with the torchvision
that matches torch and the versions in `requirements/`. The last run before this page was written:"""


def peers_section(found: dict[str, dict[str, str]]) -> str:
    """When the tests that need another library last passed before this page was written."""
    lines = [["library", "version", "torch", "Python", "passed on"]]
    lines += [[name, row["version"], row["torch"], row["python"], row["date"]] for name, row in found.items()]
    return f"{PEERS}\n\n{markdown_table(iter(lines))}"


def results(docs: Path, pattern: str) -> list[Result]:
    """The recorded results of a kind, the newest version first."""
    files = sorted((docs / "parity").glob(pattern), reverse=True)
    return [json.loads(file.read_text()) for file in files]


def write_cells(docs: Path) -> None:
    """Write `docs/project/parity_cells.md` from every `docs/parity/*.json`."""
    parts = [PREFACE]
    for result in results(docs, "opencv-*.json"):
        five = result["arithmetic"] == "cv2_5"
        deviations = deviations_of_5(result) if five else DEVIATIONS_OF_4
        parts += [section(result), "### Intended differences", deviations]
    operators = results(docs, "operators-*.json")
    parts += [lines_section(result) for result in operators]
    parts += [REASONS] if operators else []
    parts += [transforms_section(result) for result in results(docs, "transforms.json")]
    parts += [peers_section(found) for found in results(docs, "peers.json")]
    page = docs / "project" / "parity_cells.md"
    page.write_text("\n\n".join(part.rstrip() for part in parts) + "\n")
