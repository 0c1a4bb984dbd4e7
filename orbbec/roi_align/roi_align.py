"""RoIAlign with torchvision's results and deterministic gradients."""

import torch
from torch import Tensor

from orbbec.bridge.arguments import flag_value, number_value, whole_value
from orbbec.roi_align.rois import OutputSize, Rois, pool_rois, register_roi_align


def roi_align(
    input: Tensor,
    rois: Rois,
    output_size: OutputSize,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Tensor:
    """Pool regions of feature maps by averaging bilinear samples.

    A region is divided into `output_size` bins. A bin is the mean of evenly spaced samples, each interpolated
    bilinearly. Samples up to one pixel outside read the edge; samples further outside are 0. A reversed
    region is sampled backwards, or gives zeros with adaptive sampling; without `aligned`, sides shorter than
    a pixel are extended to one pixel. A region that is non-finite or extends beyond 2^30 pixels gives zeros.

    float16 and bfloat16 are computed in float32 and rounded once. Gradients of `input` are summed in a fixed
    order: they are identical in every run, for any number of threads and on every device. `rois` have no
    gradient.

    Args:
        input: `[N, C, H, W]` float16, bfloat16, float32 or float64, of any strides (channels last is read as
            is), on the CPU or a CUDA device. Sides of at most 2^24.
        rois: `[K, 5]`: index of the image, x1, y1, x2, y2; or `[L, 4]` tensors, one per image. Any of the
            float types, on the device of `input`; converted to the dtype of the computation.
        output_size: bins as `(height, width)`, or one number for both; each at most 4096.
        spatial_scale: factor from coordinates of `rois` to pixels of `input`.
        sampling_ratio: samples per bin and axis, at most 4096. 0 or less: the width of the bin in pixels,
            rounded up, at most 4096.
        aligned: shift coordinates by half a pixel, so that pixel centers are whole numbers. False: no shift,
            as before detectron2.

    Returns:
        `[K, C, *output_size]` of the dtype and on the device of `input`; channels last if `input` is.

    Raises:
        TypeError: a type or dtype is not supported.
        ValueError: a shape or number is invalid, or, on the CPU, an image index is not below N. On CUDA, such
            a region gives NaN and no gradient.

    Source:
        torchvision 0.25 on the CPU: identical values and gradients for float32 and float64, with finite
        features and regions of at most 4096 samples per bin and axis. For NaN regions torchvision reads out
        of bounds; it samples large regions without limit.

    Example:
        >>> features = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> rois = torch.tensor([[0, 0, 0, 4, 4]])
        >>> roi_align(features, rois.float(), 2).flatten().tolist()
        [2.5, 4.5, 10.5, 12.5]
    """
    return pool_rois("roi_align", input, rois, 5, output_size, spatial_scale, sampling_ratio, aligned)


class RoIAlign(torch.nn.Module):
    """`roi_align` as a module.

    Args:
        out_size: bins as `(height, width)`, or one number for both.
        spatial_scale: factor from coordinates of regions to pixels of the features.
        sample_num: samples per bin and axis; 0 or less: adaptive.
        use_torchvision: ignored; accepted for compatibility.
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
        self.spatial_scale = number_value("RoIAlign", "spatial_scale", spatial_scale)
        self.sample_num = whole_value("RoIAlign", "sample_num", sample_num)
        self.use_torchvision = use_torchvision
        self.aligned = flag_value("RoIAlign", "aligned", aligned)

    def forward(self, features: Tensor, rois: Rois) -> Tensor:
        """Pool `rois` of `features` with `roi_align`."""
        return roi_align(features, rois, self.out_size, self.spatial_scale, self.sample_num, self.aligned)

    def extra_repr(self) -> str:
        return (
            f"out_size={self.out_size}, spatial_scale={self.spatial_scale}, "
            f"sample_num={self.sample_num}, aligned={self.aligned}"
        )


register_roi_align("roi_align")
