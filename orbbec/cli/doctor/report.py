"""Facts and advice as text."""

from __future__ import annotations

from .advice import NAMES, Advice, oldest_driver, version_numbers
from .facts import Facts


def report(facts: Facts, advice: list[Advice]) -> str:
    """One line per fact, then each problem and, on a line of its own, what fixes it."""
    rows = [
        ("orbbec", facts.orbbec or f"not importable: {facts.binary_failure}"),
        ("binary", facts.binary),
        (
            "  built with",
            joined(facts.compiler, facts.binary_cuda and f"CUDA {facts.binary_cuda}") or "unknown",
        ),
        ("  architectures", ", ".join(facts.architectures) or "CPU only"),
        *oracle_rows(facts),
        ("JPEG, baseline", "orbbec, whole or a region" if facts.orbbec else ""),
        ("JPEG, other", other_jpegs(facts)),
        ("JPEG, on a GPU", on_gpu(facts)),
        ("PNG", "libspng" if "png" in facts.codecs else "Pillow: libspng is not built in"),
        ("WebP", "libwebp" if "webp" in facts.codecs else "Pillow: libwebp is not built in"),
        (
            "torch",
            joined(
                facts.torch, facts.torch and (f"CUDA {facts.torch_cuda}" if facts.torch_cuda else "no CUDA")
            ),
        ),
        ("packages", joined(*(f"{one.name} {one.version}" for one in facts.packages if one.version))),
        (
            "cv2",
            joined(facts.cv2 or "none", facts.arithmetic and f"orbbec's default is {facts.arithmetic}"),
        ),
        ("Python", facts.python),
        ("system", facts.system),
        ("CPU", joined(facts.cpu, f"{facts.cores} cores")),
        ("  instructions", " ".join(facts.cpu_flags)),
        ("  kernels", kernels(facts)),
        *gpu_rows(facts),
        ("driver", driver(facts)),
        ("nvcc", facts.nvcc),
    ]
    lines = [f"{name:<16} {value or 'none'}" for name, value in rows]
    lines += ["", *(written(one) for one in advice or [Advice("No problems found.")])]
    return "\n".join(lines)


def written(advice: Advice) -> str:
    return f"- {advice.problem}" + (f"\n    {advice.line}" if advice.line else "")


def oracle_rows(facts: Facts) -> list[tuple[str, str]]:
    """`orbbec.opencv`, which only a source tree has."""
    version = f"OpenCV {facts.opencv}" if facts.opencv else "not built"
    return [("orbbec.opencv", version)] if facts.source else []


def other_jpegs(facts: Facts) -> str:
    """How progressive and other JPEGs are decoded that orbbec's own decoder does not know."""
    if facts.jpeg_decoder:
        simd = "" if facts.jpeg_decoder.endswith("without SIMD") else " with SIMD"
        return f"{facts.jpeg_decoder}{simd}, whole or a region"
    decoder = "simplejpeg" if facts.simplejpeg else "cv2" if facts.cv2 else "Pillow"
    return f"{decoder}, whole: libjpeg-turbo is not built in"


def on_gpu(facts: Facts) -> str:
    """What decodes JPEGs on a GPU: kernels, and nvImageCodec."""
    kernels = "orbbec, baseline" if facts.binary_cuda and facts.jpeg_decoder else ""
    return joined(kernels, nvimgcodec(facts))


def nvimgcodec(facts: Facts) -> str:
    if facts.nvimgcodec:
        return f"nvImageCodec {facts.nvimgcodec}"
    major = 12 if version_numbers(facts.torch_cuda)[0] == 12 else 13
    return f"nvImageCodec is not installed (pip install 'nvidia-nvimgcodec-cu{major}[nvjpeg]')"


def kernels(facts: Facts) -> str:
    """The target that runs, and those that were built."""
    if not facts.cpu_target:
        return "unknown"
    built = ", ".join(NAMES.get(target, target) for target in facts.cpu_targets)
    return f"{NAMES.get(facts.cpu_target, facts.cpu_target)} (built: {built})"


def driver(facts: Facts) -> str:
    """The driver and the CUDA that it supports, compared with what the binary needs."""
    found = joined(facts.driver, facts.driver_cuda and f"CUDA {facts.driver_cuda}") or "none"
    if not facts.binary_cuda:
        return found
    return f"{found}; the binary's CUDA {facts.binary_cuda} needs {oldest_driver(facts)} or newer"


def gpu_rows(facts: Facts) -> list[tuple[str, str]]:
    rows = []
    for gpu in facts.gpus:
        tested = f"self-test {gpu.self_test}" if gpu.self_test else "not tested"
        rows.append(
            ("GPU", joined(gpu.name, f"{gpu.memory_gib:g} GiB", f"capability {gpu.capability}", tested))
        )
    return rows or [("GPU", "")]


def joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
