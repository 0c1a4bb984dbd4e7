"""Decodes files that may be damaged, in a process that may crash or hang, and records the outcomes."""

from __future__ import annotations

import io
import multiprocessing
import os
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
from orbbec.data.decode import codecs, decode, native
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
_ORIENTATIONS_OF_PILLOW = ("xmp", "XML:com.adobe.xmp", "Raw profile type exif")  # OpenCV ignores them
START_SECONDS = 120  # for a process to import its modules
FILE_SECONDS, LOADER_SECONDS = 20, 300  # per file, and for a Loader over all files


def machines() -> list[str]:
    """The decoders under test: "orbbec" is a build without packages of 3rdparty/.

    "pillow" leaves everything to Pillow.
    """
    return ["pillow", "orbbec", "native"] if native.has_native() else ["pillow", "orbbec"]


class NoDecoder:
    """Replaces orbbec's JPEG decoder by one that supports no file."""

    def orbbec_jpeg_is_known(self, *_: Any) -> int:
        return 0

    def orbbec_jpeg_decode(self, *_: Any) -> int:
        return 2

    def orbbec_jpeg_decode_planes(self, *_: Any) -> int:
        return 2


def be(machine: str) -> None:
    """Permanently make this process one of `machines()`."""
    if machine == "pillow":
        patch.object(native, "_decoder", NoDecoder).start()
        os.environ["ORBBEC_FEED"] = "0"  # its threads call the decoder themselves
    if machine != "native":
        patch.object(native, "_library", lambda: None).start()
        patch.object(codecs, "codec", lambda name: None).start()
        patch.object(decode, "_jpeg_decoders", lambda: ()).start()


class Guard:
    """Calls functions in another process, which is replaced if it crashes or hangs."""

    def __init__(self) -> None:
        self._process: Any = None
        self._pipe: Any = None

    def __call__(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """The function's result, within a time limit.

        Raises:
            RuntimeError: the process crashed or hung, or the function raised; the message says which.
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
        # Imports do not count as the time of a call.
        if not self._pipe.poll(START_SECONDS):
            self.close()
            raise RuntimeError(f"the process did not begin within {START_SECONDS} s")
        self._pipe.recv()

    def close(self) -> None:
        """Kill the process."""
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
    """The outcome of a file.

    Args:
        outcome: "decoded", "refused", or a failure: another error, a process that hung or crashed.
        pillow: "same" bytes; "different"; "deep": different because gray has more than 8 bits; or "refused".
        reason: why it was refused.
    """

    outcome: str
    pillow: str = ""
    reason: str = ""


def examined(files: Sequence[File], guard: Guard) -> list[Finding]:
    """Decode each file with `decode_image` and with Pillow."""
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
    """Pillow's pixels, None if it refuses; and whether they were gray of more than 8 bits."""
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # Pillow's limit is twice this
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            for name in _ORIENTATIONS_OF_PILLOW:
                image.info.pop(name, None)
            pixels = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
            return pixels, image.mode.startswith("I")
    except Exception:  # its plugins raise many kinds of errors
        return None, False


def loaded(files: Sequence[File], roi: bool, policy: str) -> tuple[list[int], list[int]]:
    """The ids of a Loader's samples and of its faults; with "raise", the id in its error."""
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
    """The differences between Loaders of all policies and `decode_image`; none are expected."""
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
    """The number of files by outcome and Pillow's outcome, for each file suffix."""
    found: dict[str, Counter[tuple[str, str]]] = {}
    for (name, _), finding in zip(files, findings, strict=True):
        suffix = name.rpartition(".")[2].lower()
        format = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), "others")
        found.setdefault(format, Counter())[finding.outcome, finding.pillow] += 1
    return found
