"""Gradients of linear and nearest warps: correct, and the same bits in every run."""

import numpy as np
import pytest
import torch

from orbbec import warp_affine
from orbbec.bridge.gradients.warp import matrix_gradient
from orbbec.matrices import matrix_to_source
from tests.support import assert_same_bytes, photographs
from tests.support.warps import BORDERS, WARPS, random_warps, raw_arguments, warp

SOURCE, TARGET = (6, 7), (5, 8)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("border", BORDERS[:5])
@pytest.mark.parametrize("shared", [False, True])
def test_gradcheck_of_a_linear_warp(device, op, border, shared):
    images = device.put(photographs(2, 2, *SOURCE, torch.float64) / 100).requires_grad_()
    maps = random_warps(op, SOURCE, TARGET, None if shared else 2, seed=3)
    maps = device.put(maps).requires_grad_()

    def call(images, maps):
        return warp(op, images, maps, TARGET, border=border, fill=0.5)

    torch.autograd.gradcheck(call, (images, maps), eps=1e-7, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("op", ["warp_affine", "warp_perspective"])
def test_gradcheck_of_a_matrix_from_output_to_source(device, op):
    images = device.put(photographs(2, 2, *SOURCE, torch.float64) / 100)
    maps = device.put(random_warps(op, TARGET, SOURCE, 2)).requires_grad_()

    def call(maps):
        return warp(op, images, maps, TARGET, inverse=True)

    torch.autograd.gradcheck(call, (maps,), eps=1e-7, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("op", WARPS)
def test_gradcheck_of_a_nearest_warp_for_its_images(device, op):
    images = device.put(photographs(2, 2, *SOURCE, torch.float64) / 100).requires_grad_()
    maps = random_warps(op, SOURCE, TARGET, 2)

    def call(images):
        return warp(op, images, maps, TARGET, interpolation="nearest", border="replicate")

    torch.autograd.gradcheck(call, (images,), eps=1e-4, atol=1e-6)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_a_gradient_has_the_dtype_and_the_shape_of_what_it_is_for(device, op, dtype):
    images = device.put(photographs(2, 3, *SOURCE, dtype)).requires_grad_()
    maps = device.put(random_warps(op, SOURCE, TARGET).float()).requires_grad_()
    warp(op, images, maps, TARGET).sum().backward()
    for tensor in (images, maps):
        assert (tensor.grad.shape, tensor.grad.dtype) == (tensor.shape, tensor.dtype)
        assert torch.isfinite(tensor.grad).all()
        assert tensor.grad.any()


def test_a_gradient_worked_by_hand(device):
    # Outputs read 0.5 and 1.5: both read half of the middle pixel.
    images = device.put(torch.tensor([[[[1.0, 2.0, 4.0]]]])).requires_grad_()
    matrix = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]], requires_grad=True)
    warped = warp("warp_affine", images, matrix, (1, 2), inverse=True)
    (warped * device.put(torch.tensor([1.0, 10.0]))).sum().backward()
    assert images.grad.flatten().tolist() == [0.5, 5.5, 5.0]
    # The slopes are 1 at x = 0 and 2 at x = 1.
    assert matrix.grad[0].tolist() == [10 * 2 * 1, 0, 1 * 1 + 10 * 2]


@pytest.mark.parametrize("op", WARPS)
def test_gradients_are_the_same_bits_in_every_run_and_by_any_number_of_threads(device, op):
    images, maps = (
        photographs(2, 3, 64, 80, torch.float32),
        random_warps(op, (64, 80), (90, 70), 2).float(),
    )
    weights = device.put(photographs(2, 3, 90, 70, torch.float32, seed=4))
    found = []
    threads = torch.get_num_threads()
    try:
        for number in (1, 2, 2):
            torch.set_num_threads(number)
            given = [device.put(tensor.clone()).requires_grad_() for tensor in (images, maps)]
            (warp(op, *given, (90, 70), border="reflect101") * weights).sum().backward()
            found.append([tensor.grad for tensor in given])
    finally:
        torch.set_num_threads(threads)
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            assert_same_bytes(one, same)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("border", BORDERS[:5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_every_device_gives_the_gradients_of_the_cpu(accelerator, op, border, dtype):
    images, maps = photographs(2, 3, 33, 40, dtype), random_warps(op, (33, 40), (45, 35), 2)
    weights = photographs(2, 3, 45, 35, dtype, seed=4)

    def gradients(put):
        given = [put(tensor.clone()).requires_grad_() for tensor in (images, maps)]
        (warp(op, *given, (45, 35), border=border) * put(weights)).sum().backward()
        return [tensor.grad for tensor in given]

    expected = gradients(lambda tensor: tensor)
    with accelerator.active():
        actual = gradients(accelerator.put)
    for one, other in zip(actual, expected, strict=True):
        assert_same_bytes(one, other)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize(("source", "target"), [((70, 150), (45, 60)), ((20, 9), (75, 90))])
def test_every_device_gives_the_gradients_of_the_cpu_over_many_tiles(accelerator, op, source, target):
    images, maps = photographs(2, 5, *source, torch.float32), random_warps(op, source, target, 2).float()
    weights = photographs(2, 5, *target, torch.float32, seed=4)
    weights[1, 3, 2, 1] = torch.nan  # the gradient of an image becomes NaN, that of the others not

    def gradients(put):
        given = [put(tensor.clone()).requires_grad_() for tensor in (images, maps)]
        warp(op, *given, target, border="wrap").backward(put(weights))
        return [tensor.grad for tensor in given]

    expected = gradients(lambda tensor: tensor)
    assert expected[0][0].isfinite().all()
    assert expected[0][1].isnan().all()
    with accelerator.active():
        actual = gradients(accelerator.put)
    for one, other in zip(actual, expected, strict=True):
        assert_same_bytes(one, other)


def test_the_gradients_are_those_of_grid_sample(device):
    height, width = 70, 150
    images = photographs(2, 5, height, width, torch.float64)
    matrices = random_warps("warp_affine", (height, width), (45, 60), 2)
    weights = photographs(2, 5, 45, 60, torch.float64, seed=4)

    ours = [device.put(tensor.clone()).requires_grad_() for tensor in (images, matrices)]
    warp_affine(*ours, (45, 60), inverse=True).backward(device.put(weights))

    theirs = [tensor.clone().requires_grad_() for tensor in (images, matrices)]
    y, x = torch.meshgrid(torch.arange(45.0), torch.arange(60.0), indexing="ij")
    positions = torch.stack([x, y, torch.ones_like(x)], dim=-1).double()
    read = (positions @ theirs[1][:, None].mT) * 2 / torch.tensor([width - 1, height - 1]) - 1
    torch.nn.functional.grid_sample(theirs[0], read, align_corners=True).backward(weights)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-9, atol=1e-7)


def test_each_product_in_the_gradient_of_a_matrix_is_rounded():
    matrix = random_warps("warp_perspective", SOURCE, TARGET)
    of_map = torch.randn(3, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    turned = matrix_to_source(matrix).mT.numpy()

    def product(a, b):
        return np.array(
            [[a[i, 0] * b[0, j] + a[i, 1] * b[1, j] + a[i, 2] * b[2, j] for j in range(3)] for i in range(3)]
        )

    one, two, three = (-product(product(turned, given), turned) for given in of_map.numpy())
    assert_same_bytes(matrix_gradient(matrix, of_map, False), torch.from_numpy((one + three) + two))


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", ["cubic", "lanczos4"])
def test_an_interpolation_without_a_gradient_says_so(op, interpolation):
    images = photographs(1, 1, *SOURCE, torch.float32).requires_grad_()
    warped = warp(op, images, random_warps(op, SOURCE, TARGET), TARGET, interpolation=interpolation)
    message = f"{op}: no gradient for interpolation '{interpolation}'"
    with pytest.raises(NotImplementedError, match=message):
        warped.sum().backward()


@pytest.mark.parametrize("op", WARPS)
def test_opcheck_finds_nothing_where_a_gradient_is_needed(device, op):
    images = device.put(photographs(2, 3, *SOURCE, torch.float32)).requires_grad_()
    maps = device.put(random_warps(op, SOURCE, TARGET, 2)).requires_grad_()
    torch.library.opcheck(getattr(torch.ops.orbbec, op).default, raw_arguments(op, images, maps, TARGET))


@pytest.mark.parametrize("op", WARPS)
def test_a_training_step_compiles_as_one_graph(device, op):
    maps = random_warps(op, SOURCE, TARGET, 2)

    def step(images):
        return (warp(op, images, maps, TARGET) ** 2).sum()

    images = device.put(photographs(2, 3, *SOURCE, torch.float32))
    eager, compiled = images.clone().requires_grad_(), images.clone().requires_grad_()
    step(eager).backward()
    torch.compile(step, fullgraph=True, backend="aot_eager")(compiled).backward()
    assert_same_bytes(compiled.grad, eager.grad)
    torch._dynamo.reset()


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("border", BORDERS[:5])
@pytest.mark.parametrize("interpolation", ["nearest", "linear"])
def test_second_derivatives_for_the_images(device, op, border, interpolation):
    images = device.put(photographs(2, 2, *SOURCE, torch.float64) / 100).requires_grad_()
    maps = random_warps(op, SOURCE, TARGET, 2, seed=3)

    def call(images):
        return warp(op, images, maps, TARGET, interpolation=interpolation, border=border, fill=0.5) ** 2

    assert torch.autograd.gradgradcheck(call, (images,), eps=1e-5, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("shared", [False, True])
def test_a_penalty_on_the_gradient_of_the_images_reaches_the_matrix_and_the_maps(device, op, shared):
    images = device.put(photographs(2, 2, *SOURCE, torch.float64) / 100).requires_grad_()
    weights = device.put(photographs(2, 2, *TARGET, torch.float64, seed=4) / 100)
    maps = random_warps(op, SOURCE, TARGET, None if shared else 2, seed=3).double().requires_grad_()

    def penalty(maps):
        loss = (warp(op, images, maps, TARGET, border="replicate", fill=0.5) * weights).sum()
        (gradient,) = torch.autograd.grad(loss, images, create_graph=True)
        return gradient.pow(2).sum()

    assert torch.autograd.gradcheck(penalty, (maps,), eps=1e-6, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("op", WARPS)
def test_a_second_derivative_of_the_transform_is_refused_by_name(device, op):
    images = device.put(photographs(2, 2, *SOURCE, torch.float32) / 100)
    maps = random_warps(op, SOURCE, TARGET, 2).float().requires_grad_()
    (gradient,) = torch.autograd.grad(warp(op, images, maps, TARGET).pow(2).sum(), maps, create_graph=True)
    with pytest.raises(NotImplementedError, match=f"{op}: no second derivative of a matrix or of maps"):
        gradient.sum().backward()
