"""Numbers and sequences of other libraries as arguments of operators, functions and loaders."""

import json
from collections import UserList  # a sequence that is no list, as OmegaConf's ListConfig
from fractions import Fraction

import numpy as np
import pytest
import torch

import orbbec
from orbbec.data import Loader, Order, Sample
from orbbec.transforms import functional as F
from tests.support import assert_same_bytes, photographs

IMAGES = photographs(2, 3, 12, 15)
FLOATS = IMAGES.float() / 255
SHIFT = torch.tensor([[1.0, 0, 2], [0, 1, 1]])
ROIS = torch.tensor([[0.0, 1, 1, 8, 9]])
ROWS = torch.tensor([[0.0, 0, 8, 8], [1, 1, 9, 9], [20, 20, 30, 30]])
SCORES = torch.tensor([0.5, 0.9, 0.7])
WARP = (IMAGES, SHIFT, (9, 9))
HALF, TWO, THREE = np.float32(0.5), np.int64(2), np.uint8(3)

# The operator, and arguments whose values are those of Python; then the same in types of other libraries.
CALLS = {
    "resize": (orbbec.resize, (IMAGES, (6, 7)), [UserList([6, 7]), np.array([6, 7]), torch.Size([6, 7])]),
    "resize to a side": (orbbec.resize, (IMAGES, 6), [np.int64(6), np.uint8(6)]),
    "resize by a number": (
        orbbec.resize,
        (IMAGES, (6, 7)),
        {"interpolation": (1, [np.int64(1), np.array(1)])},
    ),
    "fill": (
        orbbec.warp_affine,
        WARP,
        {"fill": (1.0, [np.float32(1), Fraction(1), np.array(1)])},
    ),
    "fills": (
        orbbec.warp_affine,
        (IMAGES, SHIFT, (9, 9)),
        {
            "fill": (
                (1, 2, 3),
                [UserList([1, 2, 3]), np.array([1, 2, 3]), torch.tensor([1, 2, 3]), range(1, 4)],
            )
        },
    ),
    "blur": (orbbec.gaussian_blur, (IMAGES, 3, 0.5), [HALF, Fraction(1, 2), np.array(0.5)]),
    "blur of two sides": (orbbec.gaussian_blur, (IMAGES, (3, 5), (0.5, 2.0)), [UserList([HALF, TWO])]),
    "kernel": (orbbec.box_blur, (IMAGES, 3), [THREE, UserList([3, 3]), (THREE, THREE)]),
    "sharpen": (orbbec.sharpen, (IMAGES, 0.5), [HALF, Fraction(1, 2)]),
    "brightness": (orbbec.adjust_brightness, (IMAGES, 0.5), [HALF, Fraction(1, 2), np.array(0.5)]),
    "gamma": (orbbec.adjust_gamma, (IMAGES, 2), [TWO]),
    "posterize": (orbbec.posterize, (IMAGES, 2), [TWO]),
    "jpeg": (orbbec.jpeg_compression, (IMAGES, 50), [np.int64(50)]),
    "clahe": (orbbec.clahe, (IMAGES, 2.0, (2, 3)), [UserList([2, 3]), np.array([2, 3])]),
    "noise": (orbbec.gaussian_noise, (FLOATS, 0.0, 0.5), [HALF]),
    "clip": (orbbec.gaussian_noise, (FLOATS, 0.0, 0.5, True), [np.bool_(True)]),
    "seed": (orbbec.gaussian_noise, (FLOATS,), {"seed": (2, [TWO, np.uint8(2)])}),
    "elastic": (orbbec.elastic_transform, (IMAGES, 8.0, 0.5), [HALF, UserList([HALF, HALF])]),
    "erase": (orbbec.erase, (IMAGES, torch.tensor([1, 1, 5, 6])), {"fill": (0.5, [HALF, Fraction(1, 2)])}),
    "boxes of erase": (orbbec.erase, (IMAGES, [1, 1, 5, 6]), [UserList([1, 1, 5, 6]), (1, 1, 5, 6)]),
    "mixup": (orbbec.mixup, (IMAGES, torch.tensor([1, 0]), 0.5), [HALF, Fraction(1, 2)]),
    "roi_align": (orbbec.roi_align, (FLOATS, ROIS, 2), [TWO, UserList([2, 2]), np.array([2, 2])]),
    "nms": (orbbec.nms, (ROWS, SCORES, 0.5), [HALF, np.array(0.5), Fraction(1, 2)]),
    "max_output": (orbbec.nms, (ROWS, SCORES, 0.5), {"max_output": (2, [TWO])}),
    "pad": (F.pad, (IMAGES, 2), [TWO, np.array([2, 2]), UserList([2])]),
    "crop": (F.crop, (IMAGES, 1, 2, 3, 2), [TWO]),
    "affine": (F.affine, (IMAGES, 9.0, (2, 1), 1.0, 0.5), [HALF]),
    "translate": (
        F.affine,
        (IMAGES, 9.0, [2, 1], 1.0, [0.0]),
        {"center": ([3, 4], [UserList([3, 4]), np.array([3, 4])])},
    ),
    "blur function": (F.gaussian_blur, (IMAGES, 3), [THREE, UserList([3, 3]), np.array([3, 3])]),
    "rotate": (F.rotate, (IMAGES, 9), [np.int64(9), np.float32(9)]),
    "normalize": (F.normalize, (FLOATS, [0.5], [0.5]), [UserList([0.5]), np.float32([0.5])]),
    "erase function": (F.erase, (IMAGES, 1, 1, 2, 2, 7), [np.int64(7)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_equal_numbers_of_other_types_give_equal_results(name):
    call, arguments, others = CALLS[name]
    if isinstance(others, dict):
        ((option, (value, others)),) = others.items()
        results = [call(*arguments, **{option: each}) for each in (value, *others)]
    else:
        results = [call(*arguments[:-1], each) for each in (arguments[-1], *others)]
    for result in results[1:]:
        for one, expected in zip(flat(result), flat(results[0]), strict=True):
            assert_same_bytes(one, expected)


def flat(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: orbbec.warp_affine(IMAGES, SHIFT, (9, 9), fill="12"),
            "warp_affine: expected fill .* got '12'",
        ),
        (lambda: orbbec.warp_affine(*WARP, fill=1j), "expected fill .* got 1j, a complex"),
        (lambda: orbbec.resize(IMAGES, (6.0, 7)), r"resize: expected size as .* got \(6.0, 7\)"),
        (lambda: orbbec.resize(IMAGES, (True, 7)), r"resize: expected size as .* got \(True, 7\)"),
        (lambda: orbbec.resize(IMAGES, np.array([6.0, 7.0])), r"got array\(\[6., 7.\]\), a ndarray"),
        (lambda: orbbec.box_blur(IMAGES, np.float32(3)), "box_blur: expected kernel_size .* a float32"),
        (
            lambda: orbbec.roi_align(FLOATS, ROIS, np.float32(2)),
            "expected output_size .* a float32",
        ),
        (lambda: orbbec.gaussian_noise(FLOATS, seed=np.float64(2)), "expected seed .* a float64"),
        (lambda: orbbec.gaussian_noise(FLOATS, clip=np.int64(1)), "expected clip .* a int64"),
        (lambda: Loader([], np.float32(2)), "Loader: expected batch_size as a whole number .* a float32"),
        (lambda: Order(Fraction(4)), "Order: expected length .* a Fraction"),
    ],
)
def test_refused_numbers_are_shown_with_their_type(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_loaders_take_numbers_of_numpy():
    source = [Sample(np.full((4, 4, 3), n, np.uint8), {"label": n}, n) for n in range(5)]
    options = {
        "seed": np.int64(1),
        "shuffle": np.bool_(True),
        "drop_last": np.bool_(True),
        "threads": np.int64(1),
    }
    with Loader(source, np.int64(2), prefetch=np.uint8(1), **options) as loader:
        batches = [ids.tolist() for _, _, ids in loader]
        assert json.loads(loader.settings())["threads"] == 1
        assert type(json.loads(json.dumps(loader.state_dict()))["epoch"]) is int
    with Loader(source, 2, seed=1, drop_last=True) as loader:
        assert [ids.tolist() for _, _, ids in loader] == batches
    assert len(batches) == 2


def test_orders_store_numbers_of_python():
    order = Order(np.int64(5), seed=np.uint8(1), rank=np.int32(1), world_size=np.int64(2))
    assert repr(order) == repr(Order(5, seed=1, rank=1, world_size=2))
    assert json.dumps(order.state_dict(0, np.int64(1))) == json.dumps(
        Order(5, 1, True, 1, 2).state_dict(0, 1)
    )


BIG = {"float32": ">f4", "float64": ">f8", "uint16": ">u2"}


@pytest.mark.parametrize("name", BIG)
def test_arrays_of_another_byte_order_have_the_same_values(name):
    image = photographs(1, 3, 9, 11)[0].permute(1, 2, 0).numpy().astype(name)
    foreign = image.astype(BIG[name])
    assert not foreign.dtype.isnative
    assert_same_bytes(orbbec.resize(foreign, (5, 4)), orbbec.resize(image, (5, 4)))
    if name != "float64":
        flip = orbbec.transforms.RandomHorizontalFlip(1.0)
        assert_same_bytes(flip(foreign), flip(image))
        assert_same_bytes(flip([foreign, foreign])[0], flip([image, image])[0])
    with pytest.raises(ValueError, match="resize: expected out as a writable array of native byte order"):
        orbbec.resize(image, (5, 4), out=np.empty((5, 4, 3), BIG[name]))


def test_tables_of_another_byte_order_have_the_same_values():
    boxes, scores = ROWS.numpy(), SCORES.numpy()
    foreign = boxes.astype(">f4"), scores.astype(">f4")
    assert_same_bytes(orbbec.nms(*foreign, 0.5), orbbec.nms(boxes, scores, 0.5))
    samples = [{"x": np.float32([1, 2]).astype(">f4")}] * 2
    assert orbbec.data.collate(samples)["x"].tolist() == [[1, 2], [1, 2]]
    kernel = orbbec.gaussian_blur(IMAGES, np.array([3, 5], ">i4"), np.array([0.5, 2], ">f8"))
    assert_same_bytes(kernel, orbbec.gaussian_blur(IMAGES, np.array([3, 5]), np.array([0.5, 2])))
    crop, target = orbbec.transforms.CenterCrop(4), {"boxes": boxes, "labels": np.arange(3)}
    of_foreign = {"boxes": foreign[0], "labels": np.arange(3).astype(">i8")}
    for key, value in crop(IMAGES[0], of_foreign)[1].items():
        assert value.tolist() == crop(IMAGES[0], target)[1][key].tolist()


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64"])
def test_pipelines_list_the_dtypes_that_they_take(dtype):
    text = "of uint8, uint16, float16, bfloat16 or float32, but got " + dtype
    for images in (np.zeros((4, 5, 3), dtype), torch.zeros(3, 4, 5, dtype=getattr(torch, dtype))):
        for call in (images, [images]):
            with pytest.raises(TypeError, match=text):
                orbbec.transforms.Pad(1)(call)
