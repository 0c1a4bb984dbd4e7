"""Box blur."""

from typing import Any

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix
from orbbec.bridge.names import Border, border_name
from orbbec.bridge.pointwise import register_fake_like
from orbbec.bridge.spec import EVERY_DTYPE, OpSpec, register
from orbbec.filters.arguments import count_of, filter_images, kernel_sizes
from orbbec.filters.gradients import Pass, axis_passes, register_gradient


def box_blur(
    images: Images, kernel_size: int | tuple[int, int] | Matrix, *, border: Border = "reflect101"
) -> Any:
    """Replace each pixel by the mean of the box around it.

    A box of even size extends one pixel further up and to the left. uint8 and uint16 are rounded as in
    OpenCV, which for some sizes is not to the nearest.

    Args:
        images: see `gaussian_blur`.
        kernel_size: in pixels, at most 16777216 of them: a number, `(height, width)`, or whole numbers `[N]`
            or `[N, 2]` on the CPU, one size per image. May be larger than the image.
        border: "constant" (zeros), "replicate", "reflect", "reflect101" or "wrap".

    Returns:
        See `gaussian_blur`, which also lists the errors.

    Source:
        `cv::blur` of OpenCV 5.0.0 and 4.12.0: identical for uint8 and uint16, including its overflow: in the
        last values of a row the mean of two maximum values is 0.

    Example:
        >>> image = torch.tensor([[[0, 0, 90, 0, 0]]], dtype=torch.uint8)
        >>> box_blur(image, (1, 3)).flatten().tolist()
        [0, 30, 30, 30, 0]
    """
    sizes = kernel_sizes("box_blur", kernel_size, count_of(images))
    border = border_name("box_blur", border)
    return filter_images("box_blur", images, "box_blur", sizes, border)


def _passes(kernel_size: list[int], border: str) -> list[Pass]:
    blur = operators.box_blur
    return axis_passes(kernel_size, lambda images, sizes: blur(images, None, 0, sizes, "constant"))


register_fake_like("box_blur")
register_gradient("box_blur", _passes)

register(
    OpSpec(call=box_blur, dtypes=EVERY_DTYPE, identity=("kernel_size", 1), host_columns=("kernel_size",))
)
