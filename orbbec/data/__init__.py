"""From files to batches on the device of the model.

Begin with loader/loader.py, `Loader`, which joins everything else: `readers` find samples in folders, shards
and tables, order.py shuffles them over ranks and epochs, `decode` reads images or the regions that a plan
needs, `cache` keeps samples that were read, `loader` assembles batches in threads, `device` copies them ahead
of the model.
"""

from orbbec.batch import collate
from orbbec.data.cache import Cache
from orbbec.data.decode.decode import decode_image, image_size
from orbbec.data.decode.on_device import decode_jpeg, decode_planes
from orbbec.data.device.prefetch import DevicePrefetcher
from orbbec.data.device.sink import sink
from orbbec.data.files import ImageFiles
from orbbec.data.loader.assemble import Decoding
from orbbec.data.loader.buffer import ShuffleBuffer
from orbbec.data.loader.live import live
from orbbec.data.loader.loader import Batch, Loader
from orbbec.data.loader.report import Report
from orbbec.data.order import Order, OrderSampler
from orbbec.data.readers.arrays import Arrays, Hdf5, NpyFile
from orbbec.data.readers.cifar import Cifar
from orbbec.data.readers.coco import Coco
from orbbec.data.readers.detect import open_source
from orbbec.data.readers.folders import FileList, ImageFolder
from orbbec.data.readers.pack import Packed, pack
from orbbec.data.readers.records import Lmdb, TfRecords
from orbbec.data.readers.shards import Shards, ShardStream, index_archives
from orbbec.data.readers.wrap import as_source
from orbbec.data.sample import BadSample, Fault, Sample, Source, SourceError

__all__ = [
    "Arrays",
    "BadSample",
    "Batch",
    "Cache",
    "Cifar",
    "Coco",
    "Decoding",
    "DevicePrefetcher",
    "Fault",
    "FileList",
    "Hdf5",
    "ImageFiles",
    "ImageFolder",
    "Lmdb",
    "Loader",
    "NpyFile",
    "Order",
    "OrderSampler",
    "Packed",
    "Report",
    "Sample",
    "ShardStream",
    "Shards",
    "ShuffleBuffer",
    "Source",
    "SourceError",
    "TfRecords",
    "as_source",
    "collate",
    "decode_image",
    "decode_jpeg",
    "decode_planes",
    "image_size",
    "index_archives",
    "live",
    "open_source",
    "pack",
    "sink",
]
