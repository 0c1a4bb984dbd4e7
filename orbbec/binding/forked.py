"""CUDA in worker processes: what does not work there, said before CUDA says it."""

import os

import torch
from torch.utils.data import get_worker_info

# A forked process inherits this module, a spawned one imports it anew.
_IMPORTED_BY = os.getpid()


def check_not_forked(op: str) -> None:
    """Refuse CUDA where it cannot work: in a forked DataLoader worker, or forked after CUDA was initialised.

    Args:
        op: the name of the caller, for the message.

    Raises:
        RuntimeError: this process was forked; the message says what to do instead.

    Example:
        >>> check_not_forked("ImageBatch.to")
    """
    forked_worker = get_worker_info() is not None and os.getpid() != _IMPORTED_BY
    if forked_worker or torch.cuda._is_in_bad_fork():
        raise RuntimeError(
            f"{op}: CUDA cannot be used in a forked worker process; return the batch from the worker and "
            'call .to(device) in the training loop, or use multiprocessing_context="spawn"'
        )
