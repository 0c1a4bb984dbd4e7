"""Decoding: how a Loader decodes images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orbbec.data.decode.decode import MAX_PIXELS, decode_image
from orbbec.data.decode.modes import CHANNELS, Pixels, with_channels
from orbbec.data.decode.nvimgcodec import MODES, BatchDecoder
from orbbec.transforms.base.checks import choice

DEVICES = ("cpu", "cuda", "auto")


@dataclass(frozen=True)
class Decoding:
    """How images are decoded.

    Args:
        mode: "RGB", "L" or "RGBA".
        roi: decode only the region of a JPEG that the plan reads, with the same bytes as in the whole image.
            Works for baseline JPEGs, and for all JPEGs if libjpeg-turbo was built in.
        shrink: with `roi` and libjpeg-turbo, decode JPEGs at a lower resolution if the plan shrinks them to
            half or less. This changes the pixels: the result is smoother.
        max_pixels: larger images are bad samples.
        on_damage: see `decode_image`: "raise" makes damaged JPEGs bad samples, "keep" keeps them.
        on_device: decode whole JPEGs on the device, one batch at a time, with nvImageCodec
            (`nvidia-nvimgcodec-cu13`); unsupported files are decoded on the host. On a GPU the last bits of
            its pixels differ from the host's. For "RGB" and "L"; ignores `roi` and `shrink`.
        planes: decode whole JPEGs to planes, half the bytes of RGB for 4:2:0, and convert them to RGB on the
            device, with the same bytes as on the host. For "RGB", if libjpeg-turbo was built in; ignores
            `roi` and `shrink`.
        apply_exif_orientation: see `decode_image`. False for targets in pixels of the stored image, such as
            those of many COCO files.
        device: "cuda": kernels on the Loader's device decode whole JPEGs to planes, with the bytes of
            `planes`; the host decodes all other files. On the CPU the same operator runs, which is slower
            than "cpu". "auto": as "cuda", but on the host as long as no GPU has shown that it is faster.
            Both imply `planes`. "cpu": the host decodes.

    Raises:
        ValueError: an argument is unknown, or `on_device` is set together with `planes` or `device`.
    """

    mode: str = "RGB"
    roi: bool = True
    shrink: bool = False
    max_pixels: int = MAX_PIXELS
    on_device: bool = False
    planes: bool = False
    on_damage: str = "raise"
    apply_exif_orientation: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        choice("Decoding", "device", self.device, DEVICES)
        if self.on_device and self.makes_planes:
            other = "planes" if self.planes else f"device={self.device!r}"
            raise ValueError(f"Decoding: expected on_device or {other}, but got both")
        modes = MODES if self.on_device else ("RGB",) if self.makes_planes else tuple(CHANNELS)
        choice("Decoding", "mode", self.mode, modes)
        choice("Decoding", "on_damage", self.on_damage, ("raise", "keep"))

    @property
    def makes_planes(self) -> bool:
        """Whether JPEGs become planes."""
        return self.planes or self.device != "cpu"

    @property
    def by_kernels(self) -> bool:
        """Whether planes are decoded on the Loader's device."""
        return self.device == "cuda"

    def decoder_on(self, device: torch.device) -> BatchDecoder | None:
        """The decoder of whole batches on a device; None without `on_device`."""
        return BatchDecoder(device, self.mode, self.apply_exif_orientation) if self.on_device else None

    def whole(self, data: bytes | Pixels | Tensor) -> Pixels:
        """The pixels of a file, or of an image `[H, W]` or `[H, W, C]`."""
        if not isinstance(data, bytes):
            return with_channels(data.numpy() if isinstance(data, Tensor) else data, self.mode)
        return decode_image(
            data,
            mode=self.mode,
            max_pixels=self.max_pixels,
            on_damage=self.on_damage,
            apply_exif_orientation=self.apply_exif_orientation,
        )
