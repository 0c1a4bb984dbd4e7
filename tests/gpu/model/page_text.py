"""The text of docs/gpu_model.md around what is computed."""

HEAD = """\
# Time of the CUDA kernels: predicted, not measured

No figure on this page was measured on a GPU. `python tools/gpu_model.py --all --page` writes it: each case, an operator call at
a stated size, runs on the executor of `tests/gpu/ptx`, which executes on the CPU what nvcc makes of the kernels, compares the
result with the CPU's, bit for bit, and counts instructions, memory requests and waits. A model turns the counts into time. On a machine
with a GPU, `python tools/gpu_model.py --measure` prints measured times and these next to each other; `tools/gpu_check.sh` includes it.

## The model

The time of a launch is the largest of these bounds. The floor is the time that the necessary bytes take, each input read once and
each output written once, at the rate of a large copy. Launches of a call run one after the other.

| bound | counted | divided by |
| --- | --- | --- |
| DRAM | distinct sectors of 32 bytes that the launch reads and writes | rate of a large copy |
| L2 | sectors that each block reads for the first time, and all sectors that it writes; a part of a sector counts four times | L2 rate |
| load/store | requests of warps, or bytes that pass L1 and shared memory with bank conflicts | units and bytes per clock |
| issue | instructions of warps | four per multiprocessor and clock |
| float64 | instructions of warps for the FP64 units | FP64 lanes |
| latency | the slowest warp, or waves of average warps: waits for the level of memory that holds the bytes, and its dependent path | occupancy |
| atomics | on the most frequent address | one per clock |

What is exact and what is not:

- Counts are exact for the PTX. They scale with the batch: two images are executed (four of variable size, one for medians), and all counts and blocks are
  multiplied by the ratio of modelled to executed pixels, `modelled_pixels / executed_pixels`. 256 images are modelled, except for boxes.
  Regions are executed for 32 channels of one image.
- PTX is not machine code. ptxas drops moves, splits 64-bit integers and turns divisions into sequences. The issue bound
  weights each kind of instruction by the number of machine instructions that it becomes on average, fitted to all kernels
  (`tests/gpu/model/calibrate.py`). The report also prints the bound of the PTX count itself.
- Registers, which decide how many blocks are resident, are ptxas's, per architecture. Counts are those of the PTX for 9.0 on all GPUs.
- Caches forget nothing within a block and keep nothing between blocks. Integer and conversion units, partition conflicts, clocks under load, and torch's own
  kernels (sort, copies) are not modelled, so these are lower bounds of time; the host's work and the launches themselves (about 1 us each) come on top.

"""

TAIL = """\
![Fraction of the bytes floor per case](images/gpu_model.png)

The data is in `docs/benchmarks/gpu_model.json`.
"""
