"""One rank of a training on the CPU, started like by torchrun.

    python train_rank.py FOLDER LAST_EPOCH [KILL_AT]

Each step waits for the other ranks, records its samples in FOLDER, and saves the state of the ranks. With
KILL_AT, the last rank ends at that step of epoch 0 as if by `kill -9`; otherwise training resumes from the
state.
"""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch
import torch.distributed

from orbbec.data import Loader, Sample
from orbbec.transforms import RandomResizedCrop

SAMPLES, BATCH = 31, 3


def main(folder: Path, last_epoch: int, kill_at: int | None) -> None:
    """Train from the saved state to the last epoch."""
    torch.distributed.init_process_group("gloo")
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    source = [Sample(np.full((6, 6, 3), i, np.uint8), {}, i) for i in range(SAMPLES)]
    loader = Loader(source, BATCH, [RandomResizedCrop(4)], seed=3, threads=2)
    saved = folder / "saved.json"
    state = json.loads(saved.read_text()) if saved.exists() else {"loader": loader.state_dict(), "steps": 0}
    loader.load_state_dict(state["loader"])
    torch.distributed.barrier()  # all have read it
    step = state["steps"]
    for epoch in range(state["loader"]["epoch"], last_epoch + 1):
        for batch in loader:
            if step == kill_at and rank == world_size - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            count = torch.tensor(len(batch.images))
            torch.distributed.all_reduce(count)  # like DDP's gradients
            step += 1
            note(folder / f"rank{rank}.jsonl", step=step, epoch=epoch, ids=batch.sample_ids.tolist())
            if rank == 0:
                replaced = saved.with_suffix(".new")
                replaced.write_text(json.dumps({"loader": loader.state_dict(), "steps": step}))
                replaced.replace(saved)
    torch.distributed.barrier()  # so that no thread of gloo still holds a tensor when Python ends
    torch.distributed.destroy_process_group()


def note(path: Path, **entry: object) -> None:
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else None)
