"""From files to the model: readers, orders, and what passes between them."""

from orbbec.data.buffer import ShuffleBuffer
from orbbec.data.cifar import Cifar
from orbbec.data.coco import Coco
from orbbec.data.folders import FileList, ImageFolder
from orbbec.data.order import Order, OrderSampler
from orbbec.data.pack import Packed, pack
from orbbec.data.sample import BadSample, Sample, Source
from orbbec.data.shards import Shards, ShardStream, index_archives

__all__ = [
    "BadSample",
    "Cifar",
    "Coco",
    "FileList",
    "ImageFolder",
    "Order",
    "OrderSampler",
    "Packed",
    "Sample",
    "ShardStream",
    "Shards",
    "ShuffleBuffer",
    "Source",
    "index_archives",
    "pack",
]
