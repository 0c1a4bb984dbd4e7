"""RoIAlign of rotated regions, and a gradient whose sums have a fixed order."""

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


def roi_align_rotated(
    input: Tensor,
    rois: Rois,
    output_size: OutputSize,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Tensor:
    """Average each bin of each rotated region of a feature map over samples between the pixels.

    As `roi_align`, whose rules for samples, dtypes, gradients and their order hold here, but the bins are
    those of a rectangle turned about its center. Angles are degrees, counter-clockwise on screen: those of
    detectron2. mmcv takes the same angles in radians; with its `clockwise`, the negative ones. A negative
    side gives bins in reversed order, or zeros where sampling is adaptive.

    Args:
        input: `[N, C, H, W]` float16, bfloat16, float32 or float64, of any strides (channels last is read as
            it lies), on the CPU or a CUDA device. Sides of at most 2^24.
        rois: `[K, 6]`: index of the image, center x, center y, width, height, degrees; or `[L, 5]` tensors,
            one an image. Any of the float types, on the device of `input`; rounded to the type that is
            computed in.
        output_size: bins as `(height, width)`, or one number for both; each at most 4096.
        spatial_scale: what centers and sides of `rois` are multiplied by to become pixels of `input`.
        sampling_ratio: samples of a bin along each axis, at most 128. 0 or less: as many as the bin is wide
            in pixels, rounded up, and at most 128.
        aligned: whether centers are shifted by half a pixel, as in detectron2. Without, a side shorter than a
            pixel counts as one.

    Returns:
        `[K, C, *output_size]` of the dtype and on the device of `input`; channels last if `input` is.

    Raises:
        TypeError: a dtype or type does not fit.
        ValueError: a shape or number does not fit, or on the CPU an index of an image is not below N. On CUDA
            such a region gives NaN and no gradient.

    Source:
        The rule of ROIAlignRotated in detectron2 and mmcv; compared with a float64 NumPy oracle.

    Example:
        >>> features = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi = torch.tensor([[0.0, 2, 2, 4, 4, 90]])
        >>> roi_align_rotated(features, roi, 2).flatten().tolist()
        [10.5, 2.5, 12.5, 4.5]
    """
    check_input("roi_align_rotated", input)
    result: Tensor = call_operator(
        torch.ops.orbbec.roi_align_rotated.default,
        input,
        as_rois("roi_align_rotated", rois, 6),
        output_size_values("roi_align_rotated", output_size),
        spatial_scale,
        sampling_ratio,
        aligned,
    )
    return result


class RoIAlignRotated(torch.nn.Module):
    """`roi_align_rotated` as a module.

    Args:
        output_size: bins as `(height, width)`, or one number for both.
        spatial_scale: what centers and sides are multiplied by to become pixels of the features.
        sampling_ratio: samples of a bin along each axis; 0 or less: adaptive.
        aligned: whether to shift by half a pixel.

    Example:
        >>> RoIAlignRotated(7, 1 / 16, 2)(torch.zeros(2, 3, 20, 20), torch.zeros(4, 6)).shape
        torch.Size([4, 3, 7, 7])
    """

    def __init__(
        self,
        output_size: OutputSize,
        spatial_scale: float,
        sampling_ratio: int = 0,
        aligned: bool = True,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = float(spatial_scale)
        self.sampling_ratio = int(sampling_ratio)
        self.aligned = aligned

    def forward(self, features: Tensor, rois: Rois) -> Tensor:
        """Pool `rois` of `features`, as `roi_align_rotated` does."""
        return roi_align_rotated(
            features, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned}"
        )


register_roi_align("roi_align_rotated")
