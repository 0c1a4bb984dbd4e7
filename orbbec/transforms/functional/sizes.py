"""Sizes of images and videos, and the canvas sizes of boxes, masks and points."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from orbbec.transforms.base.tv_tensors import images_like, is_target, is_tv_tensor, is_video, plain
from orbbec.transforms.functional.calls import canvas_of, readable


def get_size(inpt: Any) -> list[int]:
    """Height and width of an image in pixels."""
    if isinstance(inpt, Tensor) and (is_target(inpt) or inpt.ndim > 1):
        return list(canvas_of(inpt))
    height, width = readable("get_size", inpt).sizes[0].tolist()
    return [height, width]


def get_image_size(inpt: Any) -> list[int]:
    """Width and height of an image in pixels."""
    return get_size(inpt)[::-1]


def get_dimensions(inpt: Any) -> list[int]:
    """Channels, height and width of an image."""
    return [readable("get_dimensions", inpt).channels, *get_size(inpt)]


def get_num_channels(inpt: Any) -> int:
    """The number of channels of an image."""
    return readable("get_num_channels", inpt).channels


def get_num_frames(inpt: Any) -> int:
    """The number of frames of a video `[..., T, C, H, W]`."""
    return int(_frames("get_num_frames", inpt).shape[-4])


def uniform_temporal_subsample(inpt: Any, num_samples: int) -> Any:
    """Select `num_samples` evenly spaced frames of a video `[..., T, C, H, W]`, including first and last."""
    video = _frames("uniform_temporal_subsample", inpt)
    end, device = video.shape[-4] - 1, video.device
    positions = torch.linspace(0, end, num_samples, dtype=torch.float32, device=device)
    return images_like(video.index_select(-4, positions.long()), inpt)


def _frames(op: str, inpt: Any) -> Tensor:
    if not isinstance(inpt, Tensor) or (is_tv_tensor(inpt) and not is_video(inpt)):
        raise TypeError(f"{op}: expected a video, but got {type(inpt)}")
    if inpt.ndim < 4:
        raise ValueError(f"{op}: expected a video [..., T, C, H, W], but got {list(inpt.shape)}")
    video: Tensor = plain(inpt)
    return video


get_image_num_channels = get_num_channels
