"""Run unmodified torchvision code on orbbec: a reversible switch."""

from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.ops import use_ops
from orbbec.backends.torchvision.pipelines import Pipeline, convert
from orbbec.backends.torchvision.switch import get_image_backend, image_backend, report, set_image_backend

__all__ = [
    "Pipeline",
    "Report",
    "convert",
    "get_image_backend",
    "image_backend",
    "report",
    "set_image_backend",
    "use_ops",
]
