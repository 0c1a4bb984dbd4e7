"""A pipeline in a training loop, with draws that follow its epochs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from orbbec.bridge.dispatch import call_for
from orbbec.transforms.base.checks import whole
from orbbec.transforms.base.seeds import LARGEST_SEED
from orbbec.transforms.base.transform import Transform
from orbbec.transforms.compose import Compose
from orbbec.transforms.views import MultiView


class OnDevice(torch.nn.Module):
    """A pipeline whose draws follow the epochs of a training loop; see `on_device`.

    Args:
        pipeline: a `Compose` or a `MultiView`.
        seed: see `on_device`.
    """

    def __init__(self, pipeline: Callable[..., Any], seed: int) -> None:
        super().__init__()
        self.pipeline = pipeline
        self.seed = whole("on_device", "seed", seed, 0, LARGEST_SEED)
        self.epoch = self.calls = 0

    def set_epoch(self, epoch: int, calls: int = 0) -> None:
        """Begin an epoch, or resume it after some calls.

        Args:
            epoch: from 0 to 2^63 - 1.
            calls: number of calls of this epoch that were made before.
        """
        self.epoch = whole("on_device", "epoch", epoch, 0, LARGEST_SEED)
        self.calls = whole("on_device", "calls", calls, 0)

    def forward(self, batch: Any, targets: Any = None, sample_ids: Any = None) -> Any:
        """Transform a batch on its device; the arguments and the result are those of `Compose`.

        Without `sample_ids`, the parameters depend on the seed, the rank of the process, the epoch and the
        number of the call; in a worker of a `DataLoader` also on the worker's seed. With them, an image has
        the parameters that `pipeline` draws for its id and the epoch, in any batch.
        """
        if sample_ids is not None:
            return self.pipeline(batch, targets, sample_ids, self.epoch)
        is_one_of_several = torch.distributed.is_available() and torch.distributed.is_initialized()
        rank = torch.distributed.get_rank() if is_one_of_several else 0
        worker = torch.utils.data.get_worker_info()  # its copy of this module counts from 0
        keys = [self.seed, rank, self.epoch, self.calls, *([worker.seed] if worker else [])]
        state = np.random.SeedSequence(keys).generate_state(1)
        self.calls += 1
        generator = torch.Generator(device="cpu").manual_seed(int(state[0]))
        return self.pipeline(batch, targets, epoch=self.epoch, generator=generator)


def on_device(pipeline: Any, *, seed: int = 0, exact: bool = False) -> OnDevice:
    """Move a pipeline from the workers of a `DataLoader` to the training loop.

    The result is a module without parameters: call it on a batch after its copy to the device. Each image has
    random parameters of its own. Decoding stays in the workers: a dataset without transforms returns PIL
    images or uint8 arrays `[H, W, C]`, and `DataLoader(..., collate_fn=orbbec.data.collate)` makes a batch of
    images of any size, so that no resize is needed there.

    `set_epoch` begins an epoch, as that of a `DistributedSampler` does; without it, the draws of a run
    continue. Runs with one seed draw alike, and ranks differ.

    Args:
        pipeline: a pipeline, or transforms, of torchvision (v1 or v2), Albumentations or orbbec.
        seed: from 0 to 2^63 - 1; for draws by epoch and call and, unless the pipeline is orbbec's and has its
            own, for draws by sample id.
        exact: see `Compose`; for pipelines that are converted.

    Returns:
        A module with `pipeline`, the `Compose` or `MultiView`.

    Raises:
        ValueError: a step has no counterpart; the message names it and its position.

    Example:
        >>> from orbbec.transforms import RandomCrop
        >>> augment = on_device(RandomCrop(4), seed=1)
        >>> images, labels = torch.randint(0, 256, (8, 3, 6, 6), dtype=torch.uint8), torch.arange(8)
        >>> first, _ = augment((images, labels))
        >>> first.shape, bool(torch.equal(first, augment(images)))
        (torch.Size([8, 3, 4, 4]), False)
        >>> augment.set_epoch(0)
        >>> bool(torch.equal(first, augment(images)))
        True
    """
    return OnDevice(call_for("on_device", _converted, pipeline, seed, exact), seed)


def _converted(pipeline: Any, seed: int, exact: bool) -> Compose | MultiView:
    if isinstance(pipeline, (Compose, MultiView)):
        if exact:
            raise ValueError(
                "on_device: expected exact only for pipelines that are converted: see Compose(exact=)"
            )
        return pipeline
    steps = pipeline if isinstance(pipeline, (list, tuple)) else [pipeline]
    if all(isinstance(step, Transform) for step in steps):
        return Compose(steps, seed, exact)
    if any(kind.__module__.split(".")[0] == "albumentations" for kind in type(pipeline).__mro__):
        return Compose.from_albumentations(pipeline, seed=seed, exact=exact)
    return Compose.from_torchvision(pipeline, seed=seed, exact=exact)
