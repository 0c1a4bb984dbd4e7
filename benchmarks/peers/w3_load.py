"""W3: an epoch from JPEG files to batches of 64: reading, decoding, and W2. Workers are persistent.

An epoch of eight batches reads each file four times, with other crops. An epoch before those that are timed
reads the same files, so that they are in the page cache, and orbbec knows where their rows of blocks begin.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.ops.transforms import SIDE, classification, crops_of
from benchmarks.peers.contest import BOTH, CUDA, Rival, Workload, by_threads
from benchmarks.peers.w2_crop import (
    albumentations_pipeline,
    dali_tail,
    torchvision_v1,
)
from orbbec.batch import ImageBatch
from orbbec.bridge.arguments import Array
from orbbec.cli.bench_data import Files, jpegs_below
from orbbec.data import Decoding, Loader, decode_image, image_size
from tests.support.timing.benchmark import as_array, cv2, share
from tests.support.timing.by_hand import MEAN, STD, buffer, in_place, resized
from tests.support.timing.measure import ROOT

FILES, IMAGES, BATCH = 128, 512, 64
MOST_BYTES = 2**22  # a decoded photograph
Item = tuple[str, list[int], bool]  # path; left, top, right, bottom; flipped


@cache
def photographs(files: int = FILES) -> tuple[tempfile.TemporaryDirectory[str], list[str]]:
    """JPEGs of about 500x375 and 110 KB, in a folder that is deleted when the program ends."""
    folder = tempfile.TemporaryDirectory(prefix="orbbec-peers-")
    script = [sys.executable, str(ROOT / "scripts" / "make_photos.py"), folder.name, str(files)]
    subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
    return folder, jpegs_below(folder.name)


@dataclass(frozen=True)
class Scene:
    """Files, with the crops and flips that orbbec's pipeline draws."""

    device: str
    images: int = IMAGES

    @cached_property
    def paths(self) -> list[str]:
        files = photographs()[1]
        return [files[image % len(files)] for image in range(self.images)]

    @cached_property
    def items(self) -> list[Item]:
        sizes = np.array([image_size(Path(path).read_bytes()) for path in self.paths])
        crops, flipped = crops_of(sizes)
        return list(zip(self.paths, crops.tolist(), flipped.tolist(), strict=True))

    @cached_property
    def expected(self) -> Array:
        """The first batch; the others are made and dropped."""
        images = [decode_image(Path(path).read_bytes()) for path in self.paths]
        return as_array(classification("float32", False)(ImageBatch.from_images(images), epoch=0))[:BATCH]


def first_of(batches: Iterable[Tensor]) -> Tensor:
    """The first batch, after all have been received."""
    kept: list[Tensor] = []
    for batch in batches:
        kept = kept or [batch]
    return kept[0]


def by_orbbec(
    scene: Scene, dtype: str = "float32", shrink: bool = False, as_planes: bool = False
) -> Callable[[], Tensor]:
    def build(threads: int) -> Callable[[], Tensor]:
        pipeline = classification(dtype, antialias=False)
        loader = Loader(
            Files(scene.paths),
            BATCH,
            pipeline,
            scene.device,
            threads=threads,
            shuffle=False,
            decoding=Decoding(shrink=shrink, planes=as_planes),
        )

        def run() -> Tensor:
            loader.set_epoch(0)
            return first_of(batch.images for batch in loader)

        return run

    return by_threads(build)


def by_cv2(path: str) -> Array:
    return np.asarray(cv2.imread(path, cv2.IMREAD_COLOR_RGB))


def by_simplejpeg(path: str) -> Array:
    """Reads into a buffer of this thread."""
    from simplejpeg import decode_jpeg

    return np.asarray(decode_jpeg(Path(path).read_bytes(), buffer=buffer("decoded", (MOST_BYTES,))))


def prepare(decode: Callable[[str], Array], item: Item, out: Array) -> None:
    path, (left, top, right, bottom), flips = item
    in_place(resized(decode(path)[top:bottom, left:right], flips, SIDE), out)


def in_pool(scene: Scene, decode: Callable[[str], Array]) -> Callable[[], Tensor]:
    """Batches alternate between two buffers, as if one were used for training while the next is made.

    The first, which is compared, has another.
    """
    first, *others = [np.empty((BATCH, 3, SIDE, SIDE), np.float32) for _ in range(3)]

    def batches() -> Iterator[Tensor]:
        items = iter(scene.items)
        for number in count():
            rows = list(islice(items, BATCH))
            if not rows:
                return
            batch = (others[number % 2] if number else first)[: len(rows)]
            share(partial(prepare, decode), rows, batch)
            yield torch.from_numpy(batch)

    return lambda: first_of(batches())


class Prepared(torch.utils.data.Dataset[Tensor]):
    """Items prepared one by one in the processes of a DataLoader."""

    def __init__(self, items: list[Item], prepare: Callable[[Item], Tensor]) -> None:
        self.items, self.prepare = items, prepare

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Tensor:
        return self.prepare(self.items[index])


def in_processes(scene: Scene, prepare: Callable[[Item], Tensor]) -> Callable[[], Tensor]:
    """No workers with one thread, else as many persistent workers as threads."""
    dataset = Prepared(scene.items, prepare)

    def build(threads: int) -> Callable[[], Tensor]:
        workers = threads if threads > 1 else 0
        loader = torch.utils.data.DataLoader(
            dataset,
            BATCH,
            num_workers=workers,
            worker_init_fn=alone,
            persistent_workers=workers > 0,
        )
        return lambda: first_of(loader)

    return by_threads(build)


def alone(worker: int) -> None:
    """OpenCV's threads do not survive a fork."""
    if cv2 is not None:
        cv2.setNumThreads(0)


def item_by_cv2(item: Item) -> Tensor:
    out = np.empty((3, SIDE, SIDE), np.float32)
    prepare(by_cv2, item, out)
    return torch.from_numpy(out)


def item_by_torchvision_v1(item: Item) -> Tensor:
    from PIL import Image

    path, crop, flips = item
    with Image.open(path) as picture:
        return torchvision_v1(picture.convert("RGB"), crop, flips)


def item_by_torchvision(item: Item) -> Tensor:
    from torchvision.io import decode_jpeg, read_file
    from torchvision.transforms.v2 import functional

    path, (left, top, right, bottom), flips = item
    image = decode_jpeg(read_file(path))
    box = (top, left, bottom - top, right - left)
    result = functional.resized_crop(image, *box, [SIDE, SIDE], antialias=False)
    result = functional.horizontal_flip(result) if flips else result
    return torch.as_tensor(
        functional.normalize(functional.to_dtype(result, torch.float32, scale=True), MEAN, STD)
    )


def item_by_albumentations(item: Item) -> Tensor:
    path, crop, flips = item
    return torch.as_tensor(albumentations_pipeline(crop, flips)(image=by_cv2(path))["image"])


def by_dali(scene: Scene) -> Callable[[], Any]:
    """Decodes only the crop. Each epoch builds a pipeline, and nothing is computed before it."""
    from nvidia.dali import fn, pipeline_def

    drawn = [(np.array(box[:2]), np.array(box[2:]) - box[:2], flips) for _, box, flips in scene.items]
    columns = [np.array(column, np.int32) for column in zip(*drawn, strict=True)]
    encoded = partial(np.fromfile, dtype=np.uint8)

    def source(batch: int) -> list[Any]:
        if batch * BATCH >= scene.images:
            raise StopIteration
        at = slice(batch * BATCH, (batch + 1) * BATCH)
        return [list(map(encoded, scene.paths[at])), *(list(column[at]) for column in columns)]

    on_gpu = scene.device == "cuda"

    def build(threads: int) -> Callable[[], Any]:
        @pipeline_def(batch_size=BATCH, num_threads=threads, device_id=0 if on_gpu else None)
        def pipeline() -> Any:
            files, start, shape, mirror = fn.external_source(source=source, num_outputs=4)
            where = "mixed" if on_gpu else "cpu"
            pixels = fn.decoders.image_slice(files, start, shape, axes=(1, 0), device=where)
            return dali_tail(pixels, mirror, antialias=False)

        built = pipeline()
        built.build()
        first = torch.empty(BATCH, 3, SIDE, SIDE, device=scene.device)

        def batches() -> Iterator[Tensor]:
            with suppress(StopIteration):
                for number in count():
                    (batch,) = built.run()
                    images = torch.from_dlpack(batch.as_tensor())
                    yield first.copy_(images) if number == 0 else images  # the next run writes there
            built.reset()

        return lambda: first_of(batches())

    return by_threads(build)


def by_spdl(scene: Scene) -> Callable[[], Tensor]:
    """FFmpeg decodes, crops and scales; NumPy normalizes."""
    from spdl import io
    from spdl.pipeline import PipelineBuilder

    def decoded(item: Item) -> Array:
        path, (left, top, right, bottom), flips = item
        parts = f"crop={right - left}:{bottom - top}:{left}:{top}:exact=1"
        scaled = f"{parts},scale={SIDE}:{SIDE}:flags=bilinear{',hflip' * flips},format=pix_fmts=rgb24"
        frames = io.decode_packets(io.demux_image(path), filter_desc=scaled)
        out = np.empty((3, SIDE, SIDE), np.float32)
        in_place(io.to_numpy(io.convert_frames(frames)), out)
        return out

    io.demux_image(scene.paths[0])  # raises if FFmpeg's libraries are missing

    def run() -> Tensor:
        threads = torch.get_num_threads()
        builder = PipelineBuilder().add_source(scene.items)
        builder = builder.pipe(decoded, concurrency=threads, output_order="input").aggregate(BATCH)
        pipeline = builder.add_sink(2).build(num_threads=threads)
        with pipeline.auto_stop():
            return first_of(torch.from_numpy(np.stack(batch)) for batch in pipeline)

    return run


def processes(prepare: Callable[[Item], Tensor]) -> Callable[[Scene], Callable[[], Tensor]]:
    return partial(in_processes, prepare=prepare)


# Measured: at least 53 dB; 43 decoded smaller; 33 with PIL, which antialiases; 31 with FFmpeg.
CONTENDERS = [
    Rival("orbbec", "orbbec", by_orbbec, devices=BOTH),
    Rival("orbbec, decodes smaller", "orbbec", partial(by_orbbec, shrink=True), 35, BOTH),
    Rival("orbbec, float16", "orbbec", partial(by_orbbec, dtype="float16"), 60, BOTH),
    Rival("orbbec, planes to the device", "orbbec", partial(by_orbbec, as_planes=True), devices=CUDA),
    Rival("threads, cv2 and NumPy", "cv2", partial(in_pool, decode=by_cv2), 45),
    Rival("threads, simplejpeg, cv2 and NumPy", "simplejpeg", partial(in_pool, decode=by_simplejpeg), 45),
    Rival("DataLoader, cv2 and NumPy", "cv2", processes(item_by_cv2), 45),
    Rival("DataLoader, AlbumentationsX", "albumentations", processes(item_by_albumentations), 45),
    Rival("DataLoader, torchvision v1, PIL", "torchvision", processes(item_by_torchvision_v1), 27),
    Rival("DataLoader, torchvision v2", "torchvision", processes(item_by_torchvision), 45),
    Rival("DALI, decodes the part", "nvidia.dali", by_dali, 45, BOTH),
    Rival("SPDL", "spdl.io", by_spdl, 25),
]
LEFT_OUT = {
    "FFCV": "draws the parts itself, so its output cannot be compared; and pip cannot build it without the "
    "headers of OpenCV and libturbojpeg",
}
WORKLOADS = [Workload("W3 JPEG files to batches", Scene, CONTENDERS, left_out=LEFT_OUT)]
