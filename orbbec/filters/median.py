"""Median blur."""

from typing import Any

from orbbec.bridge.arguments import Images, Matrix
from orbbec.bridge.dispatch import refuse_gradient
from orbbec.bridge.pointwise import register_fake_like
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.filters.arguments import count_of, filter_images, kernel_sizes


def median_blur(images: Images, kernel_size: int | tuple[int, int] | Matrix) -> Any:
    """Replace each pixel by the median of its window.

    The border is always "replicate", as in OpenCV. NaN is treated as greater than infinity. There is no
    gradient.

    Args:
        images: see `gaussian_blur`.
        kernel_size: odd, in pixels: a number, `(height, width)`, or whole numbers `[N]` or `[N, 2]` on the
            CPU, one size per image. May be larger than the image.

    Returns:
        See `gaussian_blur`, which also lists the errors.

    Source:
        `cv::medianBlur` of OpenCV 5.0.0 and 4.12.0: identical. OpenCV supports sizes above 5 for uint8 only.

    Example:
        >>> image = torch.tensor([[[7, 0, 9, 8]]], dtype=torch.uint8)
        >>> median_blur(image, (1, 3)).flatten().tolist()
        [7, 7, 8, 8]
    """
    sizes = kernel_sizes("median_blur", kernel_size, count_of(images))
    return filter_images("median_blur", images, "median_blur", sizes)


register_fake_like("median_blur")
refuse_gradient("median_blur", "median_blur")


register(
    OpSpec(call=median_blur, dtypes=EVERY_DTYPE, identity=("kernel_size", 1), host_columns=("kernel_size",))
)
