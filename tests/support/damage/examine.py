"""What becomes of files that may be broken: decoded, refused, or worse; in a process that may end or hang."""

from __future__ import annotations

import io
import multiprocessing
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image, ImageOps

from orbbec.data import BadSample, Decoding, Loader, Sample, decode_image, image_size
from orbbec.data.decode import decode, native
from orbbec.transforms import RandomResizedCrop
from tests.support.damage.damage import File

SUFFIXES = {
    "JPEG": ("jpg", "jpeg", "mpo"),
    "PNG": ("png", "apng"),
    "TIFF": ("tif", "tiff"),
    "WebP": ("webp",),
    "BMP": ("bmp", "dib"),
    "GIF": ("gif",),
    "PNM": ("pbm", "pgm", "ppm", "pnm", "pfm"),
    "AVIF": ("avif", "avifs"),
    "JPEG 2000": ("j2k", "jp2", "jpf"),
}
MAX_PIXELS = 20_000_000
START_SECONDS = 120  # that a process may take to import what it needs
FILE_SECONDS, LOADER_SECONDS = 20, 300  # that a file may take, and a Loader for all of them


def machines() -> list[str]:
    """What tests of decoding run on: "orbbec" stands for a machine where libjpeg-turbo was not built in.

    On "pillow" all is left to Pillow.
    """
    return ["pillow", "orbbec", "native"] if native.has_native() else ["pillow", "orbbec"]


class NoDecoder:
    """In place of orbbec's own decoder of JPEGs: it knows no file."""

    def orbbec_jpeg_is_known(self, *_: Any) -> int:
        return 0

    def orbbec_jpeg_decode(self, *_: Any) -> int:
        return 2

    def orbbec_jpeg_decode_planes(self, *_: Any) -> int:
        return 2


def be(machine: str) -> None:
    """Make this process one of `machines()`; for good."""
    if machine == "pillow":
        patch.object(native, "_decoder", NoDecoder).start()
    if machine != "native":
        patch.object(native, "_library", lambda: None).start()
        patch.object(decode, "_jpeg_decoders", lambda: ()).start()


class Guard:
    """Calls functions in another process, and makes a new one where that ended or hung."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def __call__(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's result, to be there within some seconds.

        Raises:
            RuntimeError: the process ended, hung, or the function raised; says which.
        """
        if self._process is None:
            self._start()
        self._pipe.send((function, arguments))
        try:
            if not self._pipe.poll(seconds):
                raise RuntimeError(f"hung for {seconds} s")
            is_good, result = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.close()
            raise RuntimeError(f"the process ended with {code}") from None
        except RuntimeError:
            self.close()
            raise
        if not is_good:
            raise RuntimeError(result)
        return result

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        # Its imports are no part of a call's time.
        if not self._pipe.poll(START_SECONDS):
            self.close()
            raise RuntimeError(f"the process did not begin within {START_SECONDS} s")
        self._pipe.recv()

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _serve(pipe: Any) -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    pipe.send("ready")
    while True:
        function, arguments = pipe.recv()
        try:
            pipe.send((True, function(*arguments)))
        except Exception as error:
            pipe.send((False, f"{type(error).__name__}: {error}"))


@dataclass(frozen=True)
class Finding:
    """What became of a file.

    Args:
        outcome: "decoded", "refused", or what should not be: another error, a process that hung or ended.
        pillow: "same" bytes; "different"; "deep", different since gray has more than 8 bits; or "refused".
        reason: of what was refused.
    """

    outcome: str
    pillow: str = ""
    reason: str = ""


def examined(files: Sequence[File], guard: Guard) -> list[Finding]:
    """Each file decoded by `decode_image` and by Pillow."""
    findings = []
    for _, data in files:
        try:
            findings.append(guard(FILE_SECONDS, _finding, data))
        except RuntimeError as error:
            findings.append(Finding(str(error)))
    return findings


def _finding(data: bytes) -> Finding:
    expected, is_deep = _by_pillow(data)
    try:
        pixels = decode_image(data, max_pixels=MAX_PIXELS)
    except ValueError as error:
        return Finding("refused", "refused" if expected is None else "decoded", str(error))
    if image_size(data) != pixels.shape[:2]:
        return Finding(f"image_size gives {image_size(data)}, decode_image {pixels.shape}")
    if expected is None:
        return Finding("decoded", "refused")
    if np.array_equal(pixels, expected):
        return Finding("decoded", "same")
    return Finding("decoded", "deep" if is_deep else "different")


def _by_pillow(data: bytes) -> tuple[np.ndarray[Any, Any] | None, bool]:
    """Its pixels, None where it refuses; and whether they were gray of more than 8 bits."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # Pillow refuses twice that
    try:
        with Image.open(io.BytesIO(data)) as image:
            pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
            return pixels, image.mode.startswith("I")
    except Exception:  # its plugins raise what they like
        return None, False


def loaded(files: Sequence[File], roi: bool, policy: str) -> tuple[list[int], list[int]]:
    """The ids of the samples that a Loader gives, and of its faults; of "raise" that of its error."""
    samples = [Sample(data, {}, number) for number, (_, data) in enumerate(files)]
    decoding = Decoding(roi=roi, max_pixels=MAX_PIXELS)
    pipeline = [RandomResizedCrop(32)]
    loader = Loader(samples, 8, pipeline, threads=2, shuffle=False, on_error=policy, decoding=decoding)
    given: list[int] = []
    try:
        for batch in loader:
            given += batch.sample_ids.tolist()
    except BadSample as error:
        return given, [error.sample_id]
    return given, [fault.sample_id for fault in loader.faults]


def disagreements(files: Sequence[File], findings: Sequence[Finding], guard: Guard) -> list[str]:
    """What Loaders of all policies do otherwise than `decode_image` says; nothing."""
    good = {number for number, finding in enumerate(findings) if finding.outcome == "decoded"}
    everything = [*range(len(files))]
    found = []
    for roi in (True, False):
        run = partial(guard, LOADER_SECONDS, loaded, files, roi)
        given, faults = run("skip")
        bad = {*everything} - {*given}  # with roi without those that are damaged where no plan looks
        wrong = good & bad if roi else good ^ {*given}
        if sorted([*given, *faults]) != everything or wrong:
            found.append(f"skip, roi={roi}: {[files[number][0] for number in sorted(wrong)]}")
        given, faults = run("substitute")
        if len(given) != len(files) or {*given} & bad or sorted(faults) != sorted(bad):
            found.append(f"substitute, roi={roi}: {len(given)} of {len(files)}, {len(faults)} faults")
        given, faults = run("raise")
        if bad and (len(faults) != 1 or faults[0] not in bad):
            found.append(f"raise, roi={roi}: {faults}")
    return found


def counts(files: Sequence[File], findings: Sequence[Finding]) -> dict[str, Counter[tuple[str, str]]]:
    """How many of each outcome and answer of Pillow, by what the suffixes of the files say."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for (name, _), finding in zip(files, findings, strict=True):
        suffix = name.rpartition(".")[2].lower()
        format = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), "others")
        found.setdefault(format, Counter())[finding.outcome, finding.pillow] += 1
    return found
