"""Converts the images of users to operator inputs, and outputs back."""

from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeGuard

import numpy as np
import torch
from torch import Tensor

from orbbec.bridge.forked import check_not_forked
from orbbec.bridge.plain import is_integer, is_real, is_sequence, listed, plain, shown

Array: TypeAlias = np.ndarray[Any, Any]
Matrix: TypeAlias = Tensor | Array
Fill: TypeAlias = float | Sequence[float]

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)

IMAGE_DTYPES = (
    torch.uint8,
    torch.uint16,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)

BYTES = (torch.uint8,)
_FLOATS = (torch.float32, torch.float64)
_END = 2**63  # of int64

# The dtypes that an operator may be asked for, by torch's number of them, which schemas have.
_NUMBERED = {0: torch.uint8, 5: torch.float16, 6: torch.float32, 7: torch.float64, 15: torch.bfloat16}


class RaggedImages(Protocol):
    """Variable-size images in one buffer, such as `orbbec.ImageBatch`."""

    @property
    def buffer(self) -> Tensor: ...
    @property
    def layout(self) -> Tensor: ...
    @property
    def channels(self) -> int: ...


class SizedImages(RaggedImages, Protocol):
    """Variable-size images whose layout is on the CPU, too."""

    @property
    def host_layout(self) -> Tensor: ...
    @property
    def sizes(self) -> Tensor: ...


class StoredPlanes(Protocol):
    """Variable-size YCbCr images, such as `orbbec.YCbCrBatch`."""

    @property
    def buffer(self) -> Tensor: ...
    @property
    def layout(self) -> Tensor: ...
    @property
    def forms(self) -> Tensor: ...
    @property
    def rgb_layout(self) -> Tensor: ...
    @property
    def rgb_bytes(self) -> int: ...
    @property
    def sizes(self) -> Tensor: ...
    def stored_boxes(self, boxes: Array) -> Array:
        """Boxes of upright images in pixels of the stored images."""

    def images(self, storage: Tensor) -> Any:
        """The batch of RGB images whose pixels lie in `storage`."""


Images: TypeAlias = Tensor | Array | RaggedImages

_has_names: dict[tuple[type, tuple[str, ...]], bool] = {}
_OF_RAGGED, _OF_PLANES = ("buffer", "layout", "channels"), ("rgb_layout",)


def is_ragged(images: object) -> TypeGuard[RaggedImages]:
    """Whether these are `RaggedImages`."""
    return _have(images, _OF_RAGGED)


def holds_planes(images: object) -> TypeGuard[StoredPlanes]:
    """Whether these are `StoredPlanes`."""
    return _have(images, _OF_PLANES)


def _have(images: object, names: tuple[str, ...]) -> bool:
    """Whether images have all attributes; looked up once per type, because that reads every property.

    torch.compile cannot trace `isinstance` of a protocol with properties.
    """
    key = type(images), names
    if key not in _has_names:
        _has_names[key] = all(hasattr(images, name) for name in names)
    return _has_names[key]


class OperatorInput(NamedTuple):
    """The input of an operator, and how to convert its output to the kind that the user passed."""

    images: Tensor  # [N, C, H, W], or the flat buffer of variable-size images
    layout: Tensor | None  # [N, 3] of variable-size images: offset, height, width
    channels: int  # of variable-size images
    restore: Callable[[Tensor], Any]


def _same(output: Tensor) -> Tensor:
    return output


def _first(output: Tensor) -> Tensor:
    return output[0]


def _as_array(op: str, dimensions: int, output: Tensor) -> Array:
    """An output as an array `[H, W]`, `[H, W, C]` or `[N, H, W, C]`."""
    if output.dtype == torch.bfloat16:
        raise TypeError(f"{op}: expected a tensor for a result of bfloat16, but got an array, which has none")
    array: Array = output.numpy()
    is_gray = dimensions == 2 and array.shape[1] == 1  # colors of a gray image are [H, W, C]
    array = array[0] if is_gray else array.transpose(0, 2, 3, 1)
    return array if dimensions == 4 else array[0]


def operator_input(
    op: str, name: str, images: Any, dtypes: Sequence[torch.dtype] = IMAGE_DTYPES
) -> OperatorInput:
    """Describe images for an operator, without a copy if possible.

    Args:
        op: the operator's name, for messages.
        name: the argument's name, for messages.
        images: `[N, C, H, W]` or `[C, H, W]` tensor; `[H, W]`, `[H, W, C]` or `[N, H, W, C]` array;
            ImageBatch. Arrays of another byte order are copied.
        dtypes: those that are accepted.

    Returns:
        The operator's input.

    Raises:
        TypeError: another type or dtype.
        ValueError: another number of dimensions.
    """
    if isinstance(images, Tensor):
        check_dtype(op, name, images, dtypes)
        check_device(op, images)
        if images.dim() == 4:
            return OperatorInput(images, None, 0, _same)
        if images.dim() == 3:
            return OperatorInput(images.unsqueeze(0), None, 0, _first)
        raise ValueError(
            f"{op}: expected {name} of shape [N, C, H, W] or [C, H, W], but got {list(images.shape)}"
        )
    if isinstance(images, np.ndarray):
        return _array_input(op, name, images, dtypes)
    if is_ragged(images):
        pixels = images.buffer
        check_dtype(op, name, pixels, dtypes)
        check_device(op, pixels)
        return OperatorInput(pixels, images.layout, images.channels, _same)
    raise TypeError(
        f"{op}: expected {name} as a tensor, an array or an ImageBatch, but got {type(images).__name__}"
    )


def check_device(op: str, tensor: Tensor) -> None:
    """Refuse a CUDA tensor in a forked process."""
    if tensor.is_cuda and not torch.compiler.is_compiling():
        check_not_forked(op)


def dtype_name(dtype: object) -> str:
    """The name of a dtype of torch or NumPy, such as "uint8"."""
    return str(dtype).removeprefix("torch.")


def check_dtype(op: str, name: str, tensor: Tensor, dtypes: Sequence[torch.dtype]) -> None:
    """Refuse a tensor of another dtype."""
    if tensor.dtype not in dtypes:
        *others, last = map(dtype_name, dtypes)
        known = f"{', '.join(others)} or {last}" if others else last
        raise TypeError(f"{op}: expected {name} of {known}, but got {dtype_name(tensor.dtype)}")


def float_tensor(op: str, name: str, array: Any) -> Tensor:
    """A tensor over the memory of an array, see `as_tensor`, of float32 or float64."""
    tensor = as_tensor(op, name, array)
    if tensor.dtype not in _FLOATS:
        check_dtype(op, name, tensor, _FLOATS)
    return tensor


def real_numbers(op: str, name: str, value: Any) -> Tensor:
    """A tensor over the memory of an array, see `as_tensor`, of real numbers."""
    tensor = as_tensor(op, name, value)
    if tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{op}: expected {name} of real numbers, but got {dtype_name(tensor.dtype)}")
    return tensor


def constant_numbers(op: str, name: str, value: Any) -> Tensor:
    """`real_numbers` of a parameter that has no gradient, detached; see `check_constant`."""
    numbers = real_numbers(op, name, value)
    check_constant(op, name, numbers)
    return numbers.detach() if numbers.requires_grad else numbers


def check_constant(op: str, name: str, value: Any) -> None:
    """Refuse a tensor that requires a gradient where there is none.

    Raises:
        ValueError: a gradient is required; torch would leave it at None.
    """
    if isinstance(value, Tensor) and value.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{op}: there is no gradient for {name}; detach it")


def array_of(value: Any) -> Any:
    """A sequence of real numbers as an array; anything else is unchanged."""
    if isinstance(value, (Tensor, np.ndarray)) or not is_sequence(value):
        return value
    several = list(map(plain, value))
    return np.array(several) if several and all(map(is_real, several)) else value


def as_tensor(op: str, name: str, array: Any) -> Tensor:
    """A tensor over the memory of an array; a copy of arrays that torch cannot share.

    These are read-only, have negative strides or another byte order.
    """
    if isinstance(array, Tensor):
        return array
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{op}: expected {name} as a tensor or an array, but got {type(array).__name__}")
    if not _is_shareable(array):
        array = _copied(array)
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise TypeError(f"{op}: expected {name} of another dtype than {array.dtype}") from error


def tensor_of(value: Any) -> Tensor:
    """A tensor as it is; numbers, sequences and arrays on the CPU, Python's floats as float32.

    Example:
        >>> tensor_of([0.5, 1]), tensor_of(3)
        (tensor([0.5000, 1.0000]), tensor(3))
    """
    if isinstance(value, Tensor):
        return value
    tensor = torch.as_tensor(value, device="cpu")
    if isinstance(value, (np.ndarray, np.generic)) or not tensor.is_floating_point():
        return tensor
    return torch.as_tensor(value, dtype=torch.float32, device="cpu")


def _is_shareable(array: Array) -> bool:
    return array.flags.writeable and min(array.strides, default=0) >= 0 and array.dtype.isnative


def _copied(array: Array) -> Array:
    """A copy that torch can share, of BGR as RGB (`[..., ::-1]`) by channel: in a third of NumPy's time."""
    dtype = array.dtype.newbyteorder("=")
    sides = zip(array.shape, array.strides, strict=True)
    channels = next((axis for axis, (side, stride) in enumerate(sides) if stride < 0 and side <= 4), None)
    if channels is None or array.ndim < 3:
        return array.astype(dtype, "K")
    copy = np.empty_like(array, dtype)
    for to, of in zip(np.moveaxis(copy, channels, 0), np.moveaxis(array, channels, 0), strict=True):
        to[...] = of
    return copy


def _array_input(op: str, name: str, array: Array, dtypes: Sequence[torch.dtype]) -> OperatorInput:
    if array.ndim not in (2, 3, 4):
        raise ValueError(
            f"{op}: expected {name} of shape [H, W], [H, W, C] or [N, H, W, C], but got {list(array.shape)}"
        )
    # NumPy creates a view in a third of torch's time.
    planes = array if array.ndim == 4 else array[None]
    planes = planes[None] if array.ndim == 2 else planes.transpose(0, 3, 1, 2)
    images = as_tensor(op, name, planes)
    check_dtype(op, name, images, dtypes)
    return OperatorInput(images, None, 0, partial(_as_array, op, array.ndim))


def operator_output(op: str, out: Any) -> OperatorInput:
    """Describe a tensor, or an array that can share its memory, as an operator's [N, C, H, W] output."""
    if isinstance(out, np.ndarray) and not _is_shareable(out):
        raise ValueError(
            f"{op}: expected out as a writable array of native byte order without negative strides"
        )
    described = operator_input(op, "out", out)
    if described.layout is not None:
        raise TypeError(f"{op}: expected out as a tensor or an array, but got {type(out).__name__}")
    return described


def copied_to(device: torch.device, tensor: Tensor) -> Tensor:
    """A tensor on a device; a copy may still be in flight.

    It leaves from pinned memory: for a copy from other memory the host waits until the device has done what
    was queued before.
    """
    if tensor.device.type == "cpu" and device.type == "cuda" and not torch.compiler.is_compiling():
        tensor = tensor if tensor.requires_grad else pinned(tensor)
    return tensor.to(device, non_blocking=True)


def pinned(tensor: Tensor) -> Tensor:
    """A tensor of the host in page-locked memory."""
    # torch refuses to pin an expanded tensor.
    return (tensor.contiguous() if 0 in tensor.stride() else tensor).pin_memory()


def on_device_of(images: Tensor, table: Tensor, dtype: torch.dtype) -> Tensor:
    """A table as contiguous `dtype` on the device of `images`; a copy may still be in flight."""
    if table.dtype == dtype and table.device == images.device and table.is_contiguous():
        return table  # sooner than torch finds out
    return copied_to(images.device, table.to(dtype)).contiguous()


def is_channels_last(images: Tensor, layout: Tensor | None) -> bool:
    """Whether the results of an operator that keeps the memory format are channels-last."""
    return layout is None and images.shape[-3] > 1 and images.stride(-3) == 1 and images.stride(-1) != 1


def new_images(
    like: Tensor, shape: Sequence[int], channels_last: bool, dtype: torch.dtype | None = None
) -> Tensor:
    """Uninitialized images `[N, C, H, W]` on the device of `like`, and of its dtype if none is given."""
    memory_format = torch.channels_last if channels_last else torch.contiguous_format
    dtype = like.dtype if dtype is None else dtype
    return torch.empty(tuple(shape), dtype=dtype, device=like.device, memory_format=memory_format)


def channel_values(op: str, name: str, value: Any) -> list[float]:
    """One number for all channels or one per channel."""
    if type(value) is float:
        return [value]
    check_constant(op, name, value)
    several = listed(value)
    values = [plain(value)] if several is None else several
    text = f"{op}: expected {name} as a number or one per channel, but got "
    if not all(map(is_real, values)):
        raise TypeError(text + shown(value))
    if not values:
        raise ValueError(text + shown(value))
    return [float(each) for each in values]


def is_whole(value: object) -> bool:
    """Whether a value is an integer, traced by a compiler or not."""
    return is_integer(value) or (isinstance(value, Tensor) and value.dtype in INTEGERS and value.numel() == 1)


def _is_int64(value: Any) -> bool:
    """Whether operators can take a whole number; those that a compiler traces they can."""
    return not isinstance(value, int) or -_END <= value < _END


def sides_of(size: Any) -> tuple[Any, Any]:
    """The height and the width of a size.

    Raises:
        TypeError: it is a set or a dict, whose order is not that of a size, or has no entries.
        ValueError: it has not two entries.
    """
    if isinstance(size, Set | Mapping):
        raise TypeError(f"{type(size).__name__} has no order")
    height, width = size
    return height, width


def size_values(op: str, size: Any, expected: str = "size as (height, width)") -> list[int]:
    """`size` as [height, width]."""
    try:
        height, width = sides_of(size)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{op}: expected {expected}, but got {shown(size)}") from error
    if type(height) is int and type(width) is int and -_END <= height < _END and -_END <= width < _END:
        return [height, width]
    if not (is_whole(height) and is_whole(width)):
        raise TypeError(f"{op}: expected {expected}, but got {shown(size)}")
    sides = [int(side) if isinstance(side, np.integer) else side for side in (height, width)]
    if not all(map(_is_int64, sides)):
        raise ValueError(f"{op}: expected {expected}, each of 64 bits, but got {shown(size)}")
    return sides


def name_value(op: str, argument: str, value: Any) -> str:
    """The name of an option."""
    if not isinstance(value, str):
        raise TypeError(f"{op}: expected {argument} as a name, but got {shown(value)}")
    return value


def number_value(op: str, argument: str, value: Any) -> float:
    """The number of an option."""
    number = plain(value)
    if not is_real(number):
        raise TypeError(f"{op}: expected {argument} as a number, but got {shown(value)}")
    return float(number)


def whole_value(op: str, argument: str, value: Any) -> Any:
    """The whole number of an option; one that a compiler traces as it is."""
    if not is_whole(value):
        raise TypeError(f"{op}: expected {argument} as a whole number, but got {shown(value)}")
    number = value if isinstance(value, torch.SymInt) else int(value)
    if not _is_int64(number):
        raise ValueError(f"{op}: expected {argument} as a whole number of 64 bits, but got {value}")
    return number


def flag_value(op: str, argument: str, value: Any) -> bool:
    """The truth value of an option; text such as "false" has none."""
    if type(value) is bool:
        return value
    flag = plain(value)
    if not isinstance(flag, bool):
        raise TypeError(f"{op}: expected {argument} as True or False, but got {shown(value)}")
    return flag


def constant_buffer(op: str, out: Any) -> Tensor:
    """The tensor of an output buffer, which may not require a gradient."""
    buffer = operator_output(op, out).images
    check_no_gradient(op, buffer)
    return buffer


def check_no_gradient(op: str, *tensors: Tensor) -> None:
    """Refuse `out=` if a gradient is required: the graph could not be recorded."""
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        raise ValueError(
            f"{op}: out= cannot be used where a gradient is needed; leave it out or use torch.no_grad()"
        )


def dtype_numbered(op: str, number: int, known: Sequence[torch.dtype]) -> torch.dtype:
    """The output dtype of a fake kernel.

    Raises:
        ValueError: it is not one of those `known`.
    """
    dtype = _NUMBERED.get(number)
    if dtype is None or dtype not in known:
        names = ", ".join(map(dtype_name, known))
        raise ValueError(f"{op}: expected dtype of {names}, but got torch's dtype number {number}")
    return dtype


def size_text(sizes: Array) -> str:
    """Sizes `[N, 2]` as text: height x width, each a number or a range.

    Example:
        >>> size_text(np.array([[4, 5], [4, 5]])), size_text(np.array([[4, 3], [2, 5]]))
        ('4x5', '2..4 x 3..5')
    """
    if len(sizes) == 0:
        return "nothing"
    ends = zip(sizes.min(0).tolist(), sizes.max(0).tolist(), strict=True)
    height, width = (str(low) if low == high else f"{low}..{high}" for low, high in ends)
    return f"{height} x {width}" if ".." in height + width else f"{height}x{width}"
