"""From files to the model: readers, orders, and what passes between them."""

from orbbec.data.buffer import ShuffleBuffer
from orbbec.data.order import Order, OrderSampler
from orbbec.data.sample import BadSample, Sample, Source

__all__ = [
    "BadSample",
    "Order",
    "OrderSampler",
    "Sample",
    "ShuffleBuffer",
    "Source",
]
