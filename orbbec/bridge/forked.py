"""A clear error for CUDA in forked worker processes."""

import os

import torch
from torch.utils.data import get_worker_info

# A forked process inherits this module; a spawned one imports it again.
_IMPORTED_BY = os.getpid()


def check_not_forked(op: str) -> None:
    """Refuse CUDA in a forked DataLoader worker, or in a process forked after CUDA was initialized.

    Args:
        op: name of the caller, for the message.

    Raises:
        RuntimeError: this process was forked; the message suggests alternatives.

    Example:
        >>> check_not_forked("ImageBatch.to")
    """
    forked_worker = get_worker_info() is not None and os.getpid() != _IMPORTED_BY
    if forked_worker or torch.cuda._is_in_bad_fork():
        raise RuntimeError(
            f"{op}: CUDA cannot be used in a forked worker process; return the batch from the worker and "
            'call .to(device) in the training loop, or use multiprocessing_context="spawn"'
        )
