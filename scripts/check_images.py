"""Decodes damaged images and Pillow's test images with the decoder and with Loaders of every error policy.

    python scripts/check_images.py               1,743 files
    python scripts/check_images.py --no-pillow   without Pillow's images, which pip downloads once

Images of nine formats are damaged: truncated at every kilobyte, with flipped bits, a gap, only zeros, empty,
with another format's suffix, or with a declared size of 60,000 x 60,000. CMYK, gray and progressive files and
each EXIF orientation are included too. Each file is decoded in a monitored process. The exit status is 1 if
one crashes, hangs or raises anything but a ValueError, if the bytes differ from Pillow's (except for gray of
more than 8 bits), or if a Loader loses or repeats a good sample.
"""

import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

sys.path.insert(0, str(Path(__file__).parents[1] / "3rdparty"))
import vendor

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.support.damage.damage import File, damaged_files
from tests.support.damage.examine import Finding, Guard, counts, disagreements, examined

PILLOW = vendor.Package(
    folder="pillow",
    project="pillow",
    version="13.0.0",
    archive="pillow-13.0.0.tar.gz",
    sha256="cdcd1ba258178f7356d74170c9a81ba4eab6a5d55748bc402a5a2a6fe6be3510",
    root="pillow-13.0.0",
)
COLUMNS = ("decoded", "same", "deep", "different", "Pillow refuses", "refused", "Pillow decodes")


def main(
    pillow: Annotated[bool, typer.Option(help="Also the files that Pillow's source package carries.")] = True,
    flips: Annotated[int, typer.Option(help="Files of each format with flipped bits.")] = 40,
) -> None:
    """Decode damaged images, and report the outcomes."""
    ok = report("broken by script", list(damaged_files((96, 128), flips)))
    if pillow:
        ok = report("of Pillow's tests", pillow_files()) and ok
    if not ok:
        raise typer.Exit(1)


def pillow_files() -> list[File]:
    """The test images in Pillow's source package, cached after the first download."""
    cache = vendor.cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        archive = vendor.fetch(PILLOW, cache)
    except vendor.VendorError as error:
        raise SystemExit(f"{error}; or use --no-pillow") from None
    folder = f"{PILLOW.root}/Tests/images/"
    with tarfile.open(archive) as tar:
        members = [member for member in tar if member.isfile() and member.name.startswith(folder)]
        return [(member.name.removeprefix(folder), tar.extractfile(member).read()) for member in members]  # type: ignore[union-attr]


def report(title: str, files: list[File]) -> bool:
    """Print a table of formats and the problems; returns whether there are none."""
    print(f"\n{len(files)} files {title}\n")
    print("| format | files | " + " | ".join(COLUMNS) + " |\n| --- |" + " ---: |" * (len(COLUMNS) + 1))
    with Guard() as guard:
        findings = examined(files, guard)
        wrong = disagreements(files, findings, guard)
    for format, found in sorted(counts(files, findings).items()):
        print(f"| {format} | {found.total()} | " + " | ".join(map(str, row(found))) + " |")
    wrong += [name for (name, _), finding in zip(files, findings, strict=True) if is_wrong(finding)]
    for (name, _), finding in zip(files, findings, strict=True):
        if finding.outcome == "decoded" and finding.pillow == "refused":
            print(f"decoded, though Pillow refuses: {name}")
        if finding.outcome == "refused" and finding.pillow == "decoded":
            print(f"refused, though Pillow decodes: {name}: {finding.reason}")
    for line in wrong:
        print(f"WRONG: {line}")
    return not wrong


def row(found: Counter[tuple[str, str]]) -> list[int]:
    outcomes: Counter[str] = Counter()
    for (outcome, _), count in found.items():
        outcomes[outcome] += count
    answers = [found["decoded", answer] for answer in ("same", "deep", "different", "refused")]
    return [outcomes["decoded"], *answers, outcomes["refused"], found["refused", "decoded"]]


def is_wrong(finding: Finding) -> bool:
    return finding.outcome not in ("decoded", "refused") or finding.pillow == "different"


if __name__ == "__main__":
    typer.run(main)
