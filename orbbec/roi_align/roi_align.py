"""RoIAlign with torchvision's numbers, and a gradient whose sums have a fixed order."""

import torch
from torch import Tensor

from orbbec.binding.dispatch import call_operator
from orbbec.binding.rois import (
    OutputSize,
    Rois,
    as_rois,
    check_input,
    output_size_values,
    register_roi_align,
)


def roi_align(
    input: Tensor,
    rois: Rois,
    output_size: OutputSize,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Tensor:
    """Average each bin of each region of a feature map over samples between the pixels.

    A region is divided into `output_size` bins. A bin is the mean of its evenly spaced samples, each
    interpolated linearly between four pixels. A sample less than a pixel outside reads the edge; one further
    out counts as 0. A reversed region is sampled backwards, or gives zeros where sampling is adaptive;
    without `aligned`, a side shorter than a pixel counts as one. A region that is not finite, or reaches
    further than 2^30 pixels of the feature map, gives zeros.

    Float16 and bfloat16 are computed in float32 and rounded once. Gradients flow to `input`; every sum of
    theirs has a fixed order, so they are the same bits in every run, for any number of threads and on every
    device. `rois` get none.

    Args:
        input: `[N, C, H, W]` float16, bfloat16, float32 or float64, of any strides (channels last is read as
            it lies), on the CPU or a CUDA device. Sides of at most 2^24.
        rois: `[K, 5]`: index of the image, x1, y1, x2, y2; or `[L, 4]` tensors, one an image. Any of the
            float types, on the device of `input`; rounded to the type that is computed in.
        output_size: bins as `(height, width)`, or one number for both; each at most 4096.
        spatial_scale: what the coordinates of `rois` are multiplied by to become pixels of `input`.
        sampling_ratio: samples of a bin along each axis, at most 4096. 0 or less: as many as the bin is wide
            in pixels, rounded up, and at most 4096.
        aligned: whether pixel centres are whole numbers after a shift by half a pixel. False is the rule
            before detectron2: no shift.

    Returns:
        `[K, C, *output_size]` of the dtype and on the device of `input`; channels last if `input` is.

    Raises:
        TypeError: a dtype or type does not fit.
        ValueError: a shape or number does not fit, or on the CPU an index of an image is not below N. On CUDA
            such a region gives NaN and no gradient.

    Source:
        torchvision 0.25 on the CPU: float32 and float64 are the same bits, values and gradients, for finite
        features and regions of at most 4096 samples a bin and axis. For NaN regions torchvision reads out of
        bounds; it samples a large region without limit.

    Example:
        >>> features = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> rois = torch.tensor([[0, 0, 0, 4, 4]])
        >>> roi_align(features, rois.float(), 2).flatten().tolist()
        [2.5, 4.5, 10.5, 12.5]
    """
    check_input("roi_align", input)
    result: Tensor = call_operator(
        torch.ops.orbbec.roi_align.default,
        input,
        as_rois("roi_align", rois, 5),
        output_size_values("roi_align", output_size),
        spatial_scale,
        sampling_ratio,
        aligned,
    )
    return result


class RoIAlign(torch.nn.Module):
    """`roi_align` as a module.

    Args:
        out_size: bins as `(height, width)`, or one number for both.
        spatial_scale: what the coordinates of regions are multiplied by to become pixels of the features.
        sample_num: samples of a bin along each axis; 0 or less: adaptive.
        use_torchvision: accepted for the sake of old calls and without effect: the numbers are torchvision's
            either way.
        aligned: whether to shift by half a pixel.

    Example:
        >>> RoIAlign(7, 1 / 16, 2)(torch.zeros(2, 3, 20, 20), torch.zeros(4, 5)).shape
        torch.Size([4, 3, 7, 7])
    """

    def __init__(
        self,
        out_size: OutputSize,
        spatial_scale: float,
        sample_num: int = 0,
        use_torchvision: bool = False,
        aligned: bool = True,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        self.spatial_scale = float(spatial_scale)
        self.sample_num = int(sample_num)
        self.use_torchvision = use_torchvision
        self.aligned = aligned

    def forward(self, features: Tensor, rois: Rois) -> Tensor:
        """Pool `rois` of `features`, as `roi_align` does."""
        return roi_align(features, rois, self.out_size, self.spatial_scale, self.sample_num, self.aligned)

    def extra_repr(self) -> str:
        return (
            f"out_size={self.out_size}, spatial_scale={self.spatial_scale}, "
            f"sample_num={self.sample_num}, aligned={self.aligned}"
        )


register_roi_align("roi_align")
