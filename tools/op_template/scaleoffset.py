"""Scale the pixels of images and add an offset."""

import torch
from torch import Tensor

from orbbec._library import operators
from orbbec.bridge.arguments import Images, Matrix, as_tensor, operator_input
from orbbec.bridge.warp import fake_output


def scale_offset(images: Images, scale: Matrix, offset: Matrix) -> Images:
    """Multiply the pixels of each image by its scale and add its offset.

    `pixel * scale[n] + offset[n]` in float32, each operation rounded; uint8 is rounded half to even and
    saturated.

    Args:
        images: uint8 or float32 `[N, C, H, W]` or `[C, H, W]` tensor of any strides, or `[H, W]`,
            `[H, W, C]` or `[N, H, W, C]` array; on the CPU or a CUDA device.
        scale: float32 `[N]`, on the CPU or on the device of `images`.
        offset: float32 `[N]`, in the units of the pixels, on the CPU or on the device of `images`.

    Returns:
        Images of the type, shape and dtype of `images`, on their device; channels last if `images` are.

    Raises:
        TypeError: `images` has an unsupported type.
        ValueError: a shape, dtype or device is invalid.

    Source:
        NumPy: a float32 product, a float32 sum, `round`, `clip`.

    Example:
        >>> image = torch.tensor([[[[0, 100, 200]]]], dtype=torch.uint8)
        >>> scale_offset(image, torch.tensor([1.5]), torch.tensor([10.0])).flatten().tolist()
        [10, 160, 255]
    """
    given = operator_input("scale_offset", "images", images)
    if given.layout is not None:
        raise TypeError("scale_offset: expected images as a tensor or an array, but got an ImageBatch")
    tables = as_tensor("scale_offset", "scale", scale), as_tensor("scale_offset", "offset", offset)
    on_device = (table.to(given.images.device, non_blocking=True) for table in tables)
    result: Images = given.restore(operators.scale_offset(given.images, *on_device))
    return result


@torch.library.register_fake("orbbec::scale_offset")
def _(images: Tensor, scale: Tensor, offset: Tensor) -> Tensor:
    return fake_output(images, None, 0, list(images.shape[-2:]))
