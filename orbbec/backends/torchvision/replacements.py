"""The dict entries and attributes that the switch replaces in torchvision."""

import importlib
from collections.abc import Iterator
from typing import Any

import torch

from orbbec.backends.torchvision.batches import kernel_of_batches
from orbbec.backends.torchvision.calls import Report, routed
from orbbec.backends.torchvision.functions import FUNCTIONS, Function
from orbbec.backends.torchvision.loading import DECODER, LOADER
from orbbec.batch import ImageBatch

_V1 = {
    "tensor": "torchvision.transforms._functional_tensor",
    "PIL": "torchvision.transforms._functional_pil",
}


def replacements(exact: bool, report: Report) -> Iterator[tuple[Any, Any, Any]]:
    """Dicts or objects, their keys or attributes, and the replacements."""
    for function in (*FUNCTIONS, LOADER, DECODER):
        for table, key in entries_of(function):
            yield table, key, routed(function, table[key], exact, report)
    for functional, kernels in _registry().items():
        if not functional.__name__.startswith("get_"):
            yield kernels, ImageBatch, kernel_of_batches(functional.__name__, report)
    # Otherwise torchvision's transforms would pass a batch through unchanged.
    transform = importlib.import_module("torchvision.transforms.v2").Transform
    yield transform, "_transformed_types", (*transform._transformed_types, ImageBatch)


def entries_of(function: Function) -> list[tuple[dict[Any, Any], Any]]:
    """The dicts and keys under which torchvision looks up a function."""
    if function is LOADER:
        return [(vars(importlib.import_module("torchvision.datasets.folder")), function.op)]
    if function is DECODER:
        modules = map(importlib.import_module, ("torchvision.io", "torchvision.io.image"))
        return [(vars(module), function.op) for module in modules]
    if function.api == "v1":
        return [(vars(importlib.import_module(_V1[function.image])), function.op)]
    functional = getattr(importlib.import_module("torchvision.transforms.v2.functional"), function.op)
    kernels = _registry()[functional]
    if function.image == "PIL":
        return [(kernels, importlib.import_module("PIL.Image").Image)]
    return [(kernels, torch.Tensor), (kernels, importlib.import_module("torchvision.tv_tensors").Image)]


def _registry() -> dict[Any, dict[Any, Any]]:
    """Kernels of v2's functions, by image class."""
    utils = importlib.import_module("torchvision.transforms.v2.functional._utils")
    registry: dict[Any, dict[Any, Any]] = utils._KERNEL_REGISTRY
    return registry
