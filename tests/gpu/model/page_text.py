"""The text of the pages of the model around what is computed."""

SUMMARY = """\
# Time of the CUDA kernels: predicted, not measured

**No figure here was measured on a GPU.** The times come from a model.

How it works: nvcc compiles a kernel to PTX, and `tests/gpu/ptx` executes the PTX on the CPU. The result is
compared with the CPU's, bit for bit, while instructions, memory requests and waits are counted. From the
counts the model computes how long each resource of a GPU would take: DRAM, L2, the load/store units,
instruction issue, the FP64 units, latency and atomics. The slowest of them is the predicted time.

For each case the page compares this time with the *floor*: the time of the necessary bytes alone, each input
read once and each output written once. A kernel at 100 % of the floor cannot be faster.

![Fraction of the bytes floor per case](../images/gpu_model.png)

A bar is the fraction of the floor on an H200, in the color of what limits the case; marks are the other GPUs.

What to trust:

- The counts are exact for the PTX. The machine code that ptxas makes of it differs: for single kernels the
  estimated number of instructions was 0.54 to 1.42 of the actual one.
- Left out are launches, the host, copies, torch's own kernels, memory partitions and clocks under load. Real
  times are likely longer. The host takes 6 to 25 us per call of an operator, and 31 and 39 us for the
  gradients of roi_align and roi_pool, most of it in torch's autograd, by `tools/host_cost.py --operators` on
  one core of an Intel Xeon. It needs no GPU and therefore leaves out the driver's part of a launch and
  torch's CUDA allocator. Without `--operators` it times pipelines, whose call takes much longer.
- The figures of the GPUs are those of data sheets and of published measurements; for L4 some are those of an
  L40, which has the same multiprocessors.

[Every case](gpu_model_cases.md) has the bounds, the figures of the GPUs, the predicted times and what limits
each case. On a machine with a GPU, `python tools/gpu_model.py --measure` prints measured times next to these;
`tools/gpu_check.sh` includes it.
"""

HEAD = """\
# Predicted times, every case

The details of [the model](gpu_model.md). No figure on this page was measured on a GPU.
`python tools/gpu_model.py --all --page` writes it; a case is an operator call at a stated size.

## The model

The time of a launch is the largest of these bounds. The floor is the time that the necessary bytes take, each
input read once and each output written once, at the rate of a large copy. Launches of a call run in series.

| bound | counted | divided by |
| --- | --- | --- |
| DRAM | distinct sectors of 32 bytes that the launch reads and writes | rate of a large copy |
| L2 | sectors that a block reads first, and all that it writes; parts of sectors count 4 times | L2 rate |
| load/store | requests of warps; or bytes that pass L1, and bank conflicts | units, bytes per clock |
| issue | instructions of warps | 4 per multiprocessor and clock |
| float64 | instructions of warps for the FP64 units | FP64 lanes |
| latency | waits and dependent path of the slowest warp, or of waves of average warps | occupancy |
| atomics | on the most frequent address | 1 per clock |

What is exact and what is not:

- Counts are exact for the PTX that the machine code of every GPU is assembled from. They scale with the
  batch: two images are executed (112 for warps, 40 for pipelines, 256 for blurs of bytes, one for medians),
  and counts and blocks are multiplied by `modelled_pixels / executed_pixels`. 256 images are modelled. Calls
  on boxes are executed whole, regions for 64 channels of one image, where 256 channels of two images are
  modelled.
- PTX is not machine code. ptxas removes moves, splits 64-bit integers and expands divisions. The issue bound
  weights each kind of instruction by the number of machine instructions that it becomes on average
  (`tests/gpu/model/calibrate.py`): for single kernels the estimate was 0.54 to 1.42 of the actual number. The
  report also prints the bound of the PTX instructions themselves.
- Registers, which decide how many blocks are resident, are those that ptxas gives on each GPU.
- Caches forget nothing within a block and keep nothing from block to block.
- Not modelled: integer and conversion units, conflicts of memory partitions, clocks under load, torch's own
  kernels such as sort, copies, the host, and the launches themselves, of about 1 us each. Real times
  are thus likely longer.
- The copy rate and the L2 rate of L4 are those measured on an L40, per byte of peak and per multiprocessor;
  `tests/gpu/model/gpus.py` has the source of every figure.
- The times before the redesign were computed with earlier figures: 240 GB/s for a copy and 1024 bytes of L2
  per clock on L4, 5120 bytes of L2 per clock on A100.
- A rotated crop does not read all of its input, so that more than 100 % of the floor is possible.

"""

DOUBLE = """\
FP64 instructions of all launches of a case; cases with less than two per pixel, value or box prepare tables,
matrices or statistics of an image with them."""

TAIL = """\
The data is in `docs/benchmarks/gpu_model.json`.
"""
