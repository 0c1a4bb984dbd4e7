"""From files to batches on the device of the model.

Begin with loader/loader.py, `Loader`, which joins everything else: `readers` find samples in folders, shards
and tables, order.py shuffles them over ranks and epochs, `sampling` repeats, weights and mixes them, `decode`
reads images or the regions that a plan needs, `cache` keeps samples that were read, `loader` assembles
batches in threads, `device` copies them ahead of the model.
"""

from orbbec.batch import collate
from orbbec.data.cache import Cache
from orbbec.data.decode.decode import decode_image, image_size
from orbbec.data.decode.decoding import Decoding
from orbbec.data.decode.on_device import decode_jpeg, decode_planes
from orbbec.data.device.prefetch import DevicePrefetcher
from orbbec.data.device.sink import sink
from orbbec.data.files import ImageFiles
from orbbec.data.loader.buffer import ShuffleBuffer
from orbbec.data.loader.live import live
from orbbec.data.loader.loader import Batch, Loader
from orbbec.data.loader.report import Report
from orbbec.data.order import Order, OrderSampler
from orbbec.data.readers.annotations.mask_folder import MaskFolder
from orbbec.data.readers.annotations.voc import Voc
from orbbec.data.readers.annotations.yolo import Yolo
from orbbec.data.readers.arrays import Arrays, Hdf5, NpyFile
from orbbec.data.readers.cameras.camera_folders import CameraFolders
from orbbec.data.readers.cameras.depth_folder import DepthFolder
from orbbec.data.readers.cameras.several import SeveralImages
from orbbec.data.readers.cifar import Cifar
from orbbec.data.readers.coco import Coco
from orbbec.data.readers.detect import open_source
from orbbec.data.readers.folders import FileList, ImageFolder
from orbbec.data.readers.frames import FrameFolders, TemporalSample
from orbbec.data.readers.hugging_face import HuggingFace
from orbbec.data.readers.pack import Packed, pack
from orbbec.data.readers.parquet import Parquet
from orbbec.data.readers.record_io import RecordIo
from orbbec.data.readers.records import Lmdb, TfRecords
from orbbec.data.readers.shards import Shards, ShardStream, index_archives
from orbbec.data.readers.videos import VideoClips
from orbbec.data.readers.wrap import as_source
from orbbec.data.sample import BadSample, Fault, Sample, Source, SourceError
from orbbec.data.sampling.copies import Copies, original_ids
from orbbec.data.sampling.multi_scale import MultiScale
from orbbec.data.sampling.sampling import Buckets, Mixture, Repeats, Weights, aspect_buckets

__all__ = [
    "Arrays",
    "BadSample",
    "Batch",
    "Buckets",
    "Cache",
    "CameraFolders",
    "Cifar",
    "Coco",
    "Copies",
    "Decoding",
    "DepthFolder",
    "DevicePrefetcher",
    "Fault",
    "FileList",
    "FrameFolders",
    "Hdf5",
    "HuggingFace",
    "ImageFiles",
    "ImageFolder",
    "Lmdb",
    "Loader",
    "MaskFolder",
    "Mixture",
    "MultiScale",
    "NpyFile",
    "Order",
    "OrderSampler",
    "Packed",
    "Parquet",
    "RecordIo",
    "Repeats",
    "Report",
    "Sample",
    "SeveralImages",
    "ShardStream",
    "Shards",
    "ShuffleBuffer",
    "Source",
    "SourceError",
    "TemporalSample",
    "TfRecords",
    "VideoClips",
    "Voc",
    "Weights",
    "Yolo",
    "as_source",
    "aspect_buckets",
    "collate",
    "decode_image",
    "decode_jpeg",
    "decode_planes",
    "image_size",
    "index_archives",
    "live",
    "open_source",
    "original_ids",
    "pack",
    "sink",
]
