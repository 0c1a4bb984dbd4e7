"""From files to the model: readers, decoding, sample order, and the loader that feeds a device."""

from orbbec.batch import collate
from orbbec.data.arrays import Arrays, Hdf5, NpyFile
from orbbec.data.assemble import Decoding
from orbbec.data.buffer import ShuffleBuffer
from orbbec.data.cifar import Cifar
from orbbec.data.coco import Coco
from orbbec.data.decode import decode_image, image_size
from orbbec.data.detect import open_source
from orbbec.data.folders import FileList, ImageFolder
from orbbec.data.live import live
from orbbec.data.loader import Batch, Loader
from orbbec.data.order import Order, OrderSampler
from orbbec.data.pack import Packed, pack
from orbbec.data.planes import decode_planes
from orbbec.data.prefetch import DevicePrefetcher
from orbbec.data.records import Lmdb, TfRecords
from orbbec.data.report import Report
from orbbec.data.sample import BadSample, Fault, Sample, Source, SourceError
from orbbec.data.shards import Shards, ShardStream, index_archives
from orbbec.data.sink import sink
from orbbec.data.wrap import as_source

__all__ = [
    "Arrays",
    "BadSample",
    "Batch",
    "Cifar",
    "Coco",
    "Decoding",
    "DevicePrefetcher",
    "Fault",
    "FileList",
    "Hdf5",
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
    "decode_planes",
    "image_size",
    "index_archives",
    "live",
    "open_source",
    "pack",
    "sink",
]
