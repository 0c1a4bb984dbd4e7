"""Shared by the benchmarks of roi_align, roi_align_rotated and roi_pool: features, regions, contenders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, grid_sample

from tests.support.timing.benchmark import Contender, Work, as_array


@dataclass(frozen=True)
class RoiShape:
    """Feature maps and regions of a benchmark; the defaults are a stage with a stride of 16 pixels."""

    count: int = 2
    channels: int = 256
    height: int = 50
    width: int = 68
    regions: int = 512
    bins: int = 7
    spatial_scale: float = 1 / 16
    sampling_ratio: int = 2
    dtype: torch.dtype = torch.float32
    channels_last: bool = False

    def features(self, device: str) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        values = torch.randn(self.count, self.channels, self.height, self.width, generator=generator)
        return self.laid_out(values, device)

    def gradient(self, device: str) -> Tensor:
        generator = torch.Generator().manual_seed(1)
        values = torch.randn(self.regions, self.channels, self.bins, self.bins, generator=generator)
        return self.laid_out(values, device)

    def laid_out(self, values: Tensor, device: str) -> Tensor:
        layout = torch.channels_last if self.channels_last else torch.contiguous_format
        return values.to(device=device, dtype=self.dtype).contiguous(memory_format=layout)

    def rois(self, device: str) -> Tensor:
        """Random corners within the image, in its pixels."""
        generator = torch.Generator().manual_seed(2)
        image = torch.tensor([self.width, self.height]) / self.spatial_scale
        corners = torch.rand(self.regions, 2, 2, generator=generator).sort(dim=1).values * image
        index = torch.randint(0, self.count, (self.regions, 1), generator=generator)
        # torchvision requires the dtype of the features.
        return torch.cat([index, corners.flatten(1)], dim=1).to(device=device, dtype=self.dtype)

    def input_size(self) -> list[int]:
        return [self.count, self.channels, self.height, self.width]

    def moved_bytes(self) -> int:
        element = torch.empty(0, dtype=self.dtype).element_size()
        pixels, bins = self.count * self.height * self.width, self.regions * self.bins**2
        return element * self.channels * (pixels + bins)


def work(
    shape: RoiShape, device: str, rivals: Sequence[Contender], run: Callable[[str], Callable[[], Any]]
) -> Work:
    """Rivals and orbbec; the unit is one region. `run(device)` returns orbbec's work on a device."""
    expected = as_array(run("cpu")())
    contenders = [*rivals, Contender("orbbec", run(device))]
    return Work(contenders, expected, images=shape.regions, moved_bytes=shape.moved_bytes())


def by_grid_sample(shape: RoiShape, device: str) -> Contender:
    """`roi_align` with two samples per bin, composed of `grid_sample` and `avg_pool2d`, image by image."""
    features, rois = shape.features(device), shape.rois(device)
    steps = (torch.arange(2 * shape.bins, device=device, dtype=rois.dtype) + 0.5) / (2 * shape.bins)
    size = torch.tensor([shape.width, shape.height], device=device, dtype=rois.dtype)

    def run() -> Tensor:
        result = features.new_empty((shape.regions, shape.channels, shape.bins, shape.bins))
        for n in range(shape.count):
            own = (rois[:, 0] == n).nonzero()[:, 0]
            corners = rois[own, 1:].reshape(-1, 2, 2) * shape.spatial_scale - 0.5
            at = corners[:, :1] + (corners[:, 1:] - corners[:, :1]) * steps[:, None]
            at = 2 * at / (size - 1) - 1
            x, y = (at[..., axis] for axis in (0, 1))
            over = (len(own), 2 * shape.bins, 2 * shape.bins)
            grid = torch.stack((x[:, None, :].expand(over), y[:, :, None].expand(over)), dim=-1)
            grid = grid.flatten(0, 1)
            sampled = grid_sample(features[n : n + 1], grid[None], padding_mode="border", align_corners=True)
            pooled = avg_pool2d(sampled, 2)[0].reshape(shape.channels, len(own), shape.bins, shape.bins)
            result[own] = pooled.transpose(0, 1)
        return result

    return Contender("torch grid_sample", run, exact=False)
