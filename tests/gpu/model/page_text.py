"""The text of docs/project/gpu_model.md around what is computed."""

HEAD = """\
# Time of the CUDA kernels: predicted, not measured

No figure on this page was measured on a GPU. `python tools/gpu_model.py --all --page` writes it: each case,
an operator call at a stated size, runs on the executor of `tests/gpu/ptx`. It executes on the CPU what nvcc
makes of the kernels and counts instructions, memory requests and waits; the result is compared with the
CPU's, bit for bit. A model computes times from the counts. On a machine with a GPU,
`python tools/gpu_model.py --measure` prints measured times next to these; `tools/gpu_check.sh` includes it.

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
  batch: two images are executed (112 for warps, four of variable size, one for medians), and counts and
  blocks are multiplied by `modelled_pixels / executed_pixels`. 256 images are modelled. Calls on boxes are
  executed whole, regions for 64 channels of one image, where 256 channels of two images are modelled.
- PTX is not machine code. ptxas removes moves, splits 64-bit integers and expands divisions. The issue bound
  weights each kind of instruction by the number of machine instructions that it becomes on average
  (`tests/gpu/model/calibrate.py`): for single kernels the estimate was 0.54 to 1.42 of the actual number. The
  report also prints the bound of the PTX instructions themselves.
- Registers, which decide how many blocks are resident, are those that ptxas gives on each GPU.
- Caches forget nothing within a block and keep nothing from block to block.
- Not modelled: integer and conversion units, conflicts of memory partitions, clocks under load, torch's own
  kernels such as sort, copies, the host, and the launches themselves, of about 1 us each. Real times
  are thus likely longer.
- The copy rate and the L2 rate of L4 are assumed. The latencies and the figures of T4 that `gpus.py` cites
  from papers still have to be checked against these.
- A rotated crop does not read all of its input, so that more than 100 % of the floor is possible.

"""

TAIL = """\
![Fraction of the bytes floor per case](../images/gpu_model.png)

The data is in `docs/benchmarks/gpu_model.json`.
"""
