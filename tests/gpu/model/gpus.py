"""The constants of the model, per GPU, each with its source."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Sources that several GPUs share:
# [guide] CUDA C++ programming guide, tables of technical specifications and of arithmetic throughput.
# [luo]   Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, arXiv 2402.13499, table
#         of latencies: A100, RTX 4090 (taken for L4), H100.
# [jia]   Jia et al., Dissecting the NVidia Turing T4 GPU via Microbenchmarking, arXiv 1903.07486.
# [ernst] Ernst, measurements in the repository te42kyfo/gpu-benches, 2025: a100_80.txt, h200.txt and l40.txt
#         in gpu-l2-cache, l40.txt in gpu-stream and gpu-latency.
# [a100], [h100]  NVIDIA's white papers of these architectures.


@dataclass(frozen=True)
class Gpu:
    """What a kernel may use of a GPU. Rates are per multiprocessor and clock unless they say otherwise."""

    name: str
    capability: int  # 90 is 9.0: the architecture of the machine code
    multiprocessors: int
    clock_hz: float
    copy_bytes_per_second: float  # of DRAM, read and written, as a large copy reaches it
    l2_bytes_per_clock: float  # of the whole GPU
    load_store_lanes: int  # addresses
    l1_bytes: int
    latency: dict[str, int]  # clocks: shared, l1, l2, dram
    issue: int = 4  # warp instructions: four schedulers since Volta [guide]
    arithmetic_latency: int = (
        4  # clocks from an instruction to one that needs its result [jia], also for Volta
    )


H100 = Gpu(
    name="H100",
    capability=90,
    multiprocessors=132,  # [h100], SXM
    clock_hz=1.98e9,  # the highest clock of the SXM boards: a bound is no lower with it
    copy_bytes_per_second=3.0e12,  # measured: a copy by PyTorch
    l2_bytes_per_clock=5120,  # of [a100], none being stated for Hopper
    load_store_lanes=32,  # [h100]: 32 load/store units
    l1_bytes=128,  # [h100]
    latency={"shared": 29, "l1": 41, "l2": 263, "dram": 479},  # [luo]
)
H200 = replace(H100, name="H200", copy_bytes_per_second=4.3e12)  # measured: a copy of 8.6 GB by PyTorch
A100 = Gpu(
    name="A100",
    capability=80,
    multiprocessors=108,  # [a100]
    clock_hz=1.41e9,  # [a100]
    # 0.896 of the peak, as H100 (3.0 of 3.35 TB/s) and H200 (4.3 of 4.8 TB/s) measured.
    copy_bytes_per_second=1.83e12,
    l2_bytes_per_clock=3830,  # [ernst]: 5.4 TB/s; [a100] has 5120
    load_store_lanes=32,  # [a100]
    l1_bytes=128,  # [a100]
    latency={"shared": 29, "l1": 38, "l2": 262, "dram": 466},  # [luo]
)
L4 = Gpu(
    name="L4",
    capability=89,
    multiprocessors=58,  # data sheet: 7424 cores, 128 per multiprocessor
    clock_hz=2.04e9,  # data sheet, boost; its 72 W rarely hold it
    copy_bytes_per_second=270e9,  # 0.90 of the peak, as L40 in [ernst]: 0.78 of 0.864 TB/s
    l2_bytes_per_clock=853,  # as L40 in [ernst]: 5.2 TB/s, 14.7 per multiprocessor and clock
    load_store_lanes=32,  # as 8.0
    l1_bytes=128,  # as 8.0
    # [luo], RTX 4090. L40 in [ernst]: L1 36, L2 277, DRAM 254 ns, which are 518 clocks of L4.
    latency={"shared": 30, "l1": 43, "l2": 273, "dram": 542},
)
T4 = Gpu(
    name="T4",
    capability=75,
    multiprocessors=40,  # data sheet: 2560 cores, 64 per multiprocessor
    clock_hz=1.59e9,  # data sheet, boost; its 70 W rarely hold it
    copy_bytes_per_second=220e9,  # [jia]
    l2_bytes_per_clock=799,  # [jia]: 1270 GB/s
    load_store_lanes=16,  # [jia]
    l1_bytes=64,  # [jia]
    latency={"shared": 19, "l1": 32, "l2": 188, "dram": 434},  # [jia]
)
GPUS = {gpu.name.lower(): gpu for gpu in (H100, H200, A100, L4, T4)}
