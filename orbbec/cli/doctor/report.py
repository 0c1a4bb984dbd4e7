"""Facts and advice as text."""

from __future__ import annotations

from .advice import oldest_driver
from .facts import Facts


def report(facts: Facts, advice: list[str]) -> str:
    """One line per fact, then one line per advice."""
    rows = [
        ("orbbec", facts.orbbec or f"not importable: {facts.binary_failure}"),
        ("binary", facts.binary),
        (
            "  built with",
            joined(facts.compiler, facts.binary_cuda and f"CUDA {facts.binary_cuda}") or "unknown",
        ),
        ("  architectures", ", ".join(facts.architectures) or "CPU only"),
        ("orbbec.opencv", (facts.opencv and f"OpenCV {facts.opencv}") or "not built"),
        ("JPEG decoder", facts.jpeg_decoder or "not built"),
        (
            "torch",
            joined(
                facts.torch, facts.torch and (f"CUDA {facts.torch_cuda}" if facts.torch_cuda else "no CUDA")
            ),
        ),
        ("NumPy", facts.numpy),
        ("cv2", joined(facts.cv2, facts.arithmetic and f"orbbec's default is {facts.arithmetic}")),
        ("Python", facts.python),
        ("system", facts.system),
        ("CPU", joined(facts.cpu, f"{facts.cores} cores")),
        ("  SIMD", " ".join(facts.cpu_flags)),
        *gpu_rows(facts),
        ("driver", driver(facts)),
        ("nvcc", facts.nvcc),
    ]
    lines = [f"{name:<16} {value or 'none'}" for name, value in rows]
    lines += ["", *(f"- {sentence}" for sentence in advice or ["No problems found."])]
    return "\n".join(lines)


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
