"""Decoding: how a Loader decodes images."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from orbbec.data.decode.decode import MAX_PIXELS, decode_image
from orbbec.data.decode.modes import CHANNELS, Pixels, with_channels
from orbbec.data.decode.nvimgcodec import MODES, BatchDecoder
from orbbec.data.decode.unchanged import checked_pixels, decode_unchanged
from orbbec.transforms.base.checks import choice, flag, whole

UNCHANGED = "UNCHANGED"
DEVICES = ("cpu", "cuda", "auto", "nvimgcodec")


@dataclass(frozen=True)
class Decoding:
    """How images are decoded.

    Args:
        mode: "RGB", "L" or "RGBA". Or "UNCHANGED": the dtype and channels of the file, such as 16-bit PNG
            and TIFF, `.npy` and `.npz` files of one array, and arrays of NumPy and HDF5: uint8, uint16,
            float16 or float32, with any number of channels that the transforms take. Python threads decode
            such images whole, 16-bit PNG of colors by OpenCV, and TIFF of 16-bit colors or many channels by
            tifffile; batches without transforms are lists of tensors `[C, H, W]`. An image whose dtype or
            channels are not those of the first of its batch is a bad sample.
        roi: decode only the region of a JPEG that the plan reads, with the same bytes as in the whole image.
            Works for baseline JPEGs, and for all JPEGs if libjpeg-turbo was built in.
        shrink: with `roi` and libjpeg-turbo, decode JPEGs at a lower resolution if the plan shrinks them to
            half or less. This changes the pixels: the result is smoother.
        max_pixels: larger images are bad samples.
        on_damage: see `decode_image`: "raise" makes damaged JPEGs bad samples, "keep" keeps them.
        planes: decode whole JPEGs to planes, half the bytes of RGB for 4:2:0, and convert them to RGB on the
            device, with the same bytes as on the host. For "RGB", if libjpeg-turbo was built in; ignores
            `roi`.
        apply_exif_orientation: see `decode_image`. False for targets in pixels of the stored image, such as
            those of many COCO files.
        device: "cuda": kernels on the Loader's device decode whole JPEGs to planes, with the bytes of
            `planes`; the host decodes all other files. On the CPU the same operator runs, which is slower
            than "cpu". "auto": as "cuda", but on the host, since training was faster so on the GPUs measured.
            Both imply `planes`. "nvimgcodec": nvImageCodec (`nvidia-nvimgcodec-cu13`) decodes whole JPEGs on
            the device, one batch at a time; the host decodes what it refuses. On a GPU the last bits of its
            pixels differ from the host's. For "RGB" and "L"; ignores `roi`. "cpu": the host
            decodes.

    Raises:
        TypeError: an argument has another type.
        ValueError: an argument is unknown or out of range, or has no effect with another: `planes` with
            "nvimgcodec", `shrink` where no regions are decoded, `on_damage` "keep" with "UNCHANGED".
    """

    mode: str = "RGB"
    roi: bool = True
    shrink: bool = False
    max_pixels: int = MAX_PIXELS
    planes: bool = False
    on_damage: str = "raise"
    apply_exif_orientation: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        choice("Decoding", "device", self.device, DEVICES)
        for name in ("roi", "shrink", "planes", "apply_exif_orientation"):
            flag("Decoding", name, getattr(self, name))
        if self.by_nvimgcodec and self.planes:
            raise ValueError('Decoding: expected planes or device="nvimgcodec", but got both')
        modes = MODES if self.by_nvimgcodec else ("RGB",) if self.makes_planes else (*CHANNELS, UNCHANGED)
        choice("Decoding", "mode", self.mode, modes)
        choice("Decoding", "on_damage", self.on_damage, ("raise", "keep"))
        whole("Decoding", "max_pixels", self.max_pixels, 1)
        if self.shrink and not self._reads_regions:
            raise ValueError(
                "Decoding: expected shrink only with roi, and where the host decodes to RGB, L or RGBA"
            )
        if self.on_damage == "keep" and self.is_unchanged:
            raise ValueError(
                'Decoding: expected on_damage="raise" for mode UNCHANGED, which keeps no damaged files'
            )

    @property
    def _reads_regions(self) -> bool:
        return self.roi and not (self.makes_planes or self.by_nvimgcodec or self.is_unchanged)

    @property
    def makes_planes(self) -> bool:
        """Whether JPEGs become planes."""
        return self.planes or self.device in ("cuda", "auto")

    @property
    def by_kernels(self) -> bool:
        """Whether planes are decoded on the Loader's device."""
        return self.device == "cuda"

    @property
    def is_unchanged(self) -> bool:
        """Whether images keep the dtype and channels of their files."""
        return self.mode == UNCHANGED

    @property
    def by_nvimgcodec(self) -> bool:
        """Whether nvImageCodec decodes whole batches."""
        return self.device == "nvimgcodec"

    def decoder_on(self, device: torch.device) -> BatchDecoder | None:
        """A decoder of whole batches on a device by nvImageCodec; None for other ways."""
        return BatchDecoder(device, self.mode, self.apply_exif_orientation) if self.by_nvimgcodec else None

    def whole(self, data: bytes | Pixels | Tensor) -> Pixels:
        """The pixels of a file, or of an image `[H, W]` or `[H, W, C]`."""
        if self.is_unchanged:
            if isinstance(data, bytes):
                return decode_unchanged(data, self.max_pixels, self.apply_exif_orientation)
            return checked_pixels(data.numpy() if isinstance(data, Tensor) else data)
        if not isinstance(data, bytes):
            return with_channels(data.numpy() if isinstance(data, Tensor) else data, self.mode)
        return decode_image(
            data,
            mode=self.mode,
            max_pixels=self.max_pixels,
            on_damage=self.on_damage,
            apply_exif_orientation=self.apply_exif_orientation,
        )
