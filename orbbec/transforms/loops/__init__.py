"""Pipelines in the training loops of other libraries: `on_device`."""

from orbbec.transforms.loops.loops import OnDevice, on_device

__all__ = ["OnDevice", "on_device"]
