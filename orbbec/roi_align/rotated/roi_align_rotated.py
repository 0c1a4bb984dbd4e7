"""RoIAlign of rotated regions, with deterministic gradients."""

import torch
from torch import Tensor

from orbbec.bridge.arguments import flag_value, number_value, whole_value
from orbbec.roi_align.rois import OutputSize, Rois, pool_rois, register_roi_align


def roi_align_rotated(
    input: Tensor,
    rois: Rois,
    output_size: OutputSize,
    spatial_scale: float = 1.0,
    sampling_ratio: int = 0,
    aligned: bool = True,
) -> Tensor:
    """Pool rotated regions of feature maps by averaging bilinear samples.

    Samples, dtypes and gradients follow `roi_align`, but the bins are those of a rectangle rotated about its
    center. Angles are in degrees, counter-clockwise on screen, as in detectron2. mmcv uses radians, and the
    opposite sign with `clockwise`. A negative side reverses the bins, or gives zeros with adaptive sampling.

    Args:
        input: see `roi_align`.
        rois: `[K, 6]`: index of the image, center x, center y, width, height, degrees; or `[L, 5]` tensors,
            one per image. Any of the float types, on the device of `input`; converted to the dtype of the
            computation.
        output_size: see `roi_align`.
        spatial_scale: factor from centers and sides of `rois` to pixels of `input`.
        sampling_ratio: samples per bin and axis, at most 128. 0 or less: the width of the bin in pixels,
            rounded up, at most 128.
        aligned: shift centers by half a pixel, as in detectron2. False: no shift, and sides shorter than a
            pixel are extended to one pixel.

    Returns:
        See `roi_align`, which also lists the errors.

    Source:
        ROIAlignRotated of detectron2 and mmcv; compared with a float64 NumPy oracle.

    Example:
        >>> features = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> roi = torch.tensor([[0.0, 2, 2, 4, 4, 90]])
        >>> roi_align_rotated(features, roi, 2).flatten().tolist()
        [10.5, 2.5, 12.5, 4.5]
    """
    options = spatial_scale, sampling_ratio, aligned
    return pool_rois("roi_align_rotated", input, rois, 6, output_size, *options)


class RoIAlignRotated(torch.nn.Module):
    """`roi_align_rotated` as a module.

    Args:
        output_size: bins as `(height, width)`, or one number for both.
        spatial_scale: factor from centers and sides to pixels of the features.
        sampling_ratio: samples per bin and axis; 0 or less: adaptive.
        aligned: whether to shift by half a pixel.

    Example:
        >>> RoIAlignRotated(7, 1 / 16, 2)(torch.zeros(2, 3, 20, 20), torch.zeros(4, 6)).shape
        torch.Size([4, 3, 7, 7])
    """

    def __init__(
        self, output_size: OutputSize, spatial_scale: float, sampling_ratio: int = 0, aligned: bool = True
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.spatial_scale = number_value("RoIAlignRotated", "spatial_scale", spatial_scale)
        self.sampling_ratio = whole_value("RoIAlignRotated", "sampling_ratio", sampling_ratio)
        self.aligned = flag_value("RoIAlignRotated", "aligned", aligned)

    def forward(self, features: Tensor, rois: Rois) -> Tensor:
        """Pool `rois` of `features` with `roi_align_rotated`."""
        return roi_align_rotated(
            features, rois, self.output_size, self.spatial_scale, self.sampling_ratio, self.aligned
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, spatial_scale={self.spatial_scale}, "
            f"sampling_ratio={self.sampling_ratio}, aligned={self.aligned}"
        )


register_roi_align("roi_align_rotated")
