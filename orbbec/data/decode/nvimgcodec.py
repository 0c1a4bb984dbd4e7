"""Decode whole batches of JPEGs on a device with nvImageCodec, directly into an ImageBatch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from orbbec.data.decode.decode import check_whole, usable_header
from orbbec.data.decode.jpeg_header import JpegHeader, ends_whole, jpeg_header
from orbbec.data.decode.orientation import reversed_axes, swaps_axes, upright_size
from orbbec.data.locks import Locked
from orbbec.transforms.base.checks import choice
from orbbec.transforms.base.optional import optional

MODES = ("RGB", "L")


class BatchDecoder(Locked):
    """Decodes batches of JPEGs; one thread at a time.

    nvImageCodec writes each image into its output buffer. An image that it allocated elsewhere is copied on
    the device and counted in `copies`.

    Args:
        device: a CUDA device, or the CPU, for which nvImageCodec uses its CPU codecs.
        mode: "RGB" or "L" (luma).
        apply_exif_orientation: see `decode_image`. The header's reader decides, not nvImageCodec.

    Raises:
        ImportError: nvImageCodec is not installed.
        ValueError: `mode` is unknown.
    """

    def __init__(self, device: torch.device, mode: str = "RGB", apply_exif_orientation: bool = True) -> None:
        super().__init__()
        choice("BatchDecoder", "mode", mode, MODES)
        package = "'nvidia-nvimgcodec-cu13[nvjpeg]'"
        codec = optional("BatchDecoder", "nvidia.nvimgcodec", package, "nvimgcodec")
        self.device, self.mode, self.copies = device, mode, 0
        self.apply_exif_orientation = apply_exif_orientation
        self._codec = codec
        if device.type == "cuda":
            index = torch.cuda.current_device() if device.index is None else device.index
            self._decoder = codec.Decoder(device_id=index)
        else:
            on_cpu = [codec.Backend(codec.BackendKind.CPU_ONLY)]
            self._decoder = codec.Decoder(device_id=codec.NVIMGCODEC_DEVICE_CPU_ONLY, backends=on_cpu)
        color, samples = {
            "RGB": (codec.ColorSpec.SRGB, codec.SampleFormat.I_RGB),
            "L": (codec.ColorSpec.GRAY, codec.SampleFormat.I_Y),
        }[mode]
        self._params = codec.DecodeParams(
            apply_exif_orientation=False, color_spec=color, sample_format=samples
        )

    def header(self, data: bytes, max_pixels: int, on_damage: str = "raise") -> JpegHeader | None:
        """The header of a JPEG that `decode_into` supports; None for other files. ValueError for damage.

        nvImageCodec does not report damage: with "raise", the host checks, in 3/4 of the decoding time.
        """
        if not ends_whole(data):
            return None
        header = usable_header(data, self.mode, max_pixels, on_damage, self.apply_exif_orientation)
        if header is not None and on_damage == "raise":
            check_whole(data)
        return header

    def empty_bytes(self, nbytes: int) -> Tensor:
        """Device memory for an ImageBatch."""
        return torch.empty(nbytes, dtype=torch.uint8, device=self.device)

    def decode_into(self, encoded: Sequence[tuple[bytes, Tensor]]) -> list[bool]:
        """Decode JPEGs and apply their EXIF orientation if requested, in the order of the current stream.

        Args:
            encoded: files that have a `header`, each with its output buffer: uint8 `[H, W, C]` on the device,
                contiguous, of the header's size.

        Returns:
            Whether each file could be decoded.
        """
        files = [self._codec.CodeStream(data) for data, _ in encoded]
        orientations = [self._orientation(data) for data, _ in encoded]
        buffers = [_as_stored(at, way) for (_, at), way in zip(encoded, orientations, strict=True)]
        on_cuda = self.device.type == "cuda"
        stream = 0
        if on_cuda:
            current = torch.cuda.current_stream(self.device)
            # The decoder's own streams do not wait for this one, which may still use the buffers' memory.
            current.record_event().synchronize()
            stream = current.cuda_stream
        decode = partial(self._decoder.decode, files, params=self._params, cuda_stream=stream)
        with self.lock:
            outputs = self._codec.as_images(buffers if on_cuda else [at.numpy() for at in buffers], stream)
            try:
                found = decode(images=outputs)
            except ValueError:  # an image is larger than its buffer
                found = decode()
            done = [self._settle(image, buffer) for image, buffer in zip(found, buffers, strict=True)]
        for (_, buffer), stored, way in zip(encoded, buffers, orientations, strict=True):
            if stored is not buffer:
                flipped = stored.flip(reversed_axes(way))
                buffer.copy_(flipped.transpose(0, 1) if swaps_axes(way) else flipped)
        return done

    def _orientation(self, data: bytes) -> int:
        header = jpeg_header(data) if self.apply_exif_orientation else None
        return 1 if header is None else header.orientation

    def _settle(self, image: Any, buffer: Tensor) -> bool:
        """Make sure that the decoded image is in its output buffer."""
        if image is None or tuple(image.shape) != tuple(buffer.shape):
            return False
        on_cuda = self.device.type == "cuda"
        found = torch.as_tensor(image if on_cuda else np.asarray(image), device=buffer.device)  # no copy
        if found.data_ptr() != buffer.data_ptr():
            buffer.copy_(found)
            self.copies += 1
        return True


def _as_stored(buffer: Tensor, orientation: int) -> Tensor:
    """Memory for an image as stored: its output buffer unless it must be rotated or flipped."""
    if orientation == 1:
        return buffer
    height, width, channels = buffer.shape
    return buffer.new_empty((*upright_size(height, width, orientation), channels))
