"""Common tests of roi_align, roi_align_rotated and roi_pool: devices, layouts, torch, invalid arguments."""

import inspect

import pytest
import torch

import orbbec
from tests.support import assert_same_bytes
from tests.support.rois import CASES, run_case

OPS = tuple(CASES)
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NUMBERS = {"roi_align": 5, "roi_align_rotated": 6, "roi_pool": 5}


def raw_arguments(op, case):
    options = (list(case.size), case.spatial_scale)
    more = () if op == "roi_pool" else (case.sampling_ratio, case.aligned)
    return (case.input, case.rois, *options, *more)


def overload(op):
    return getattr(torch.ops.orbbec, op).default


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_device_gives_the_bits_of_the_cpu(accelerator, op, dtype):
    for seed in range(60):
        case = CASES[op](seed, dtype)
        case = case.channels_last() if seed % 3 == 0 else case
        expected = run_case(op, case)
        with accelerator.active():
            actual = run_case(op, case.on(accelerator))
        for a, b in zip(actual, expected, strict=True):
            assert_same_bytes(a.cpu(), b)


@pytest.mark.parametrize("op", OPS)
def test_every_device_gives_the_bits_of_the_cpu_for_many_regions(accelerator, op):
    """More regions than a block handles at once, from many images."""
    case = CASES[op](9, channels=20)
    generator = torch.Generator().manual_seed(0)
    pick = torch.randint(0, len(case.rois), (700,), generator=generator)
    rois = case.rois[pick] + torch.rand(700, case.rois.shape[1], generator=generator)
    rois[:, 0] = torch.randint(0, case.input.shape[0], (700,), generator=generator).float()
    gradient = torch.randn(700, 20, *case.size, generator=generator)
    case = type(case)(case.input, rois, case.size, 1.0, 2, True, gradient)
    expected = run_case(op, case)
    with accelerator.active():
        actual = run_case(op, case.on(accelerator))
    for a, b in zip(actual, expected, strict=True):
        assert_same_bytes(a.cpu(), b)


def pooled(op, features, rois):
    options = () if op == "roi_pool" else (2, True)
    result = getattr(torch.ops.orbbec, op)(features, rois, [2, 3], 1.0, *options)
    return result[0] if op == "roi_pool" else result


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("shape", [(2, 65, 1, 0), (2, 65, 0, 4), (2, 3, 0, 0)])
def test_images_without_pixels_give_zeros(device, op, shape):
    rois = torch.tensor([[1.0, 0, 0, 4, 4, 0]])[:, : NUMBERS[op]]
    for memory_format in (torch.contiguous_format, torch.channels_last):
        features = device.put(torch.zeros(shape)).contiguous(memory_format=memory_format)
        assert (pooled(op, features, device.put(rois)) == 0).all()


@pytest.mark.parametrize("op", OPS)
def test_no_index_is_one_of_an_empty_batch(device, op):
    features, rois = torch.zeros(0, 1, 2, 3), torch.full((2, NUMBERS[op]), -0.25)
    if device.name == "cpu":
        with pytest.raises(ValueError, match=f"{op}: expected rois"):
            pooled(op, features, rois)
    else:
        assert pooled(op, device.put(features), device.put(rois)).isnan().all()


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("channels", [1, 3, 16, 64, 70, 128, 130])
def test_layouts_and_threads_do_not_change_a_bit(device, op, channels):
    case = CASES[op](6, channels=channels).on(device)
    expected = run_case(op, case)
    strided = case.input.new_empty((*case.input.shape[:2], 30, 40))[:, :, 3:, ::2]
    strided = strided[:, :, : case.input.shape[2], : case.input.shape[3]]
    strided.copy_(case.input)
    options = case.pool_options() if op == "roi_pool" else case.align_options()
    assert_same_bytes(getattr(orbbec, op)(strided, case.rois, **options), expected[0])
    last = run_case(op, case.channels_last())
    for a, b in zip(last, expected, strict=True):
        assert_same_bytes(a, b)
    if channels > 1 and case.input.shape[3] > 1:
        assert last[0].is_contiguous(memory_format=torch.channels_last)
        assert last[1].is_contiguous(memory_format=torch.channels_last)
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            for a, b in zip(run_case(op, case), expected, strict=True):
                assert_same_bytes(a, b)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("op", OPS)
def test_gradients_of_any_strides(device, op):
    case = CASES[op](2, channels=33).on(device)
    features = case.input.clone().requires_grad_()
    options = case.pool_options() if op == "roi_pool" else case.align_options()
    one = case.gradient[:1, :1, :1, :1].expand_as(case.gradient)
    output = getattr(orbbec, op)(features, case.rois, **options)
    (actual,) = torch.autograd.grad(output, features, one, retain_graph=True)
    (expected,) = torch.autograd.grad(output, features, one.contiguous())
    assert_same_bytes(actual, expected)


@pytest.mark.parametrize("op", OPS)
def test_the_order_of_regions_is_that_of_the_results(device, op):
    case = CASES[op](10, channels=20).on(device)
    order = torch.arange(len(case.rois) - 1, -1, -1, device=case.rois.device)
    options = case.pool_options() if op == "roi_pool" else case.align_options()
    call = getattr(orbbec, op)
    assert_same_bytes(
        call(case.input, case.rois[order], **options), call(case.input, case.rois, **options)[order]
    )


@pytest.mark.parametrize("op", OPS)
def test_gradcheck(device, op):
    for seed in (0, 1, 2, 9):
        case = CASES[op](seed, torch.float64, channels=2).on(device)
        if op == "roi_pool":  # far enough apart that finite differences do not change the maximum
            shuffled = torch.randperm(case.input.numel(), generator=torch.Generator().manual_seed(seed))
            features = device.put(shuffled.double().reshape(case.input.shape))
        else:
            features = case.input
        options = case.pool_options() if op == "roi_pool" else case.align_options()
        features = features.clone().requires_grad_()

        def call(x, case=case, options=options):
            return getattr(orbbec, op)(x, case.rois, **options)

        torch.autograd.gradcheck(call, (features,), fast_mode=seed != 0)
        torch.autograd.gradgradcheck(call, (features,), fast_mode=True)


@pytest.mark.parametrize("op", OPS)
def test_opcheck(device, op):
    for seed, last in ((2, False), (5, True)):
        case = CASES[op](seed, channels=3).on(device)
        case = case.channels_last() if last else case
        features = case.input.requires_grad_()
        arguments = (features, *raw_arguments(op, case)[1:])
        torch.library.opcheck(getattr(torch.ops.orbbec, op).default, arguments)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiles_as_one_graph_used_twice(device, op, dynamic):
    case = CASES[op](6, channels=3).on(device)
    options = case.pool_options() if op == "roi_pool" else case.align_options()

    def twice(x, rois):
        first = getattr(orbbec, op)(x, rois, **options)
        return first + 2 * getattr(orbbec, op)(x * 0.5, rois.flip(0), **options)

    compiled = torch.compile(twice, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    results = []
    for function in (twice, compiled):
        features = case.input.clone().requires_grad_()
        output = function(features, case.rois)
        (gradient,) = torch.autograd.grad(output, features, case.gradient)
        results.append((output, gradient))
    for actual, expected in zip(*results, strict=True):
        assert_same_bytes(actual, expected)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"input": torch.zeros(3, 4, 5)}, ValueError, r"input of shape \[N, C, H, W\], but got \[3, 4, 5\]"),
        ({"input": torch.zeros(1, 3, 4, 5).int()}, TypeError, "expected input of float16, .* but got int32"),
        ({"input": [1, 2]}, TypeError, "expected input as a tensor, but got list"),
        ({"rois": torch.zeros(3, 4)}, ValueError, r"expected rois of shape \[K, .\], but got \[3, 4\]"),
        ({"rois": torch.zeros(5)}, ValueError, r"expected rois of shape \[K, .\], but got \[5\]"),
        ({"rois": torch.zeros(1, 5).long()}, TypeError, "expected rois of float16, .* but got int64"),
        ({"rois": None}, TypeError, "expected rois as a tensor, but got NoneType"),
        ({"rois": []}, ValueError, "one tensor per image, but got an empty list"),
        (
            {"rois": [torch.zeros(2, 7)]},
            ValueError,
            r"expected rois\[0\] of shape \[L, .\], but got \[2, 7\]",
        ),
        ({"rois": [[1, 2]]}, TypeError, r"expected rois\[0\] as a tensor, but got list"),
        ({"output_size": 0}, ValueError, r"each from 1 to 4096, but got \[0, 0\]"),
        ({"output_size": (2, 4097)}, ValueError, r"each from 1 to 4096, but got \[2, 4097\]"),
        (
            {"output_size": (2, 3, 4)},
            TypeError,
            r"expected output_size as a number or .* but got \(2, 3, 4\)",
        ),
        ({"output_size": (2.0, 3)}, TypeError, r"or \(height, width\), but got \(2.0, 3\)"),
        ({"output_size": None}, TypeError, "expected output_size as a number or .* but got None"),
    ],
)
def test_names_the_bad_argument(op, arguments, error, message):
    good = {"input": torch.zeros(1, 3, 4, 5), "rois": torch.zeros(2, NUMBERS[op]), "output_size": 2}
    with pytest.raises(error, match=f"^{op}: .*{message}"):
        getattr(orbbec, op)(**{**good, **arguments})


def test_names_too_large_a_sampling_ratio():
    for op, most in (("roi_align", 4096), ("roi_align_rotated", 128)):
        with pytest.raises(ValueError, match=f"{op}: expected sampling_ratio of at most {most}"):
            getattr(orbbec, op)(
                torch.zeros(1, 3, 4, 5), torch.zeros(2, NUMBERS[op]), 2, sampling_ratio=most + 1
            )


@pytest.mark.parametrize("op", ["roi_align", "roi_align_rotated"])
def test_the_raw_gradient_checks_what_it_is_given(op):
    backward = getattr(torch.ops.orbbec, f"{op}_backward")
    gradient, rois, rest = torch.zeros(2, 3, 4, 4), torch.zeros(2, NUMBERS[op]), (False, 1.0, 2, True)
    with pytest.raises(ValueError, match=r"expected input_size as \[N, C, H, W\], but got \[1, 3, 4\]"):
        backward(gradient, rois, [1, 3, 4], *rest)
    with pytest.raises(ValueError, match=r"expected gradient of shape \[2, 5, PH, PW\]"):
        backward(gradient, rois, [1, 5, 4, 4], *rest)
    with pytest.raises(ValueError, match="batch indices below 0"):
        backward(gradient, rois, [0, 3, 4, 4], *rest)
    with pytest.raises(ValueError, match="too large"):
        backward(gradient, rois, [2**40, 3, 2**20, 2**20], *rest)


def test_a_list_counts_images_that_half_types_cannot():
    boxes = [torch.tensor([[0.0, 0, 1, 1]]).half() for _ in range(2051)]
    features = torch.arange(2051.0).reshape(-1, 1, 1, 1)
    assert orbbec.roi_align(features, boxes, 1).flatten().equal(features.flatten())
    assert orbbec.roi_pool(features, boxes, 1).flatten().equal(features.flatten())


@pytest.mark.cuda
@pytest.mark.parametrize("op", OPS)
def test_a_cuda_graph_replays_with_new_features(op):
    case = CASES[op](3, torch.float32)
    features, rois, *rest = raw_arguments(op, case)
    call = overload(op)
    on_cuda = features.cuda(), rois.cuda()
    call(*on_cuda, *rest)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        pooled = call(*on_cuda, *rest)
    fresh = features.flip(0) + 1
    on_cuda[0].copy_(fresh)
    graph.replay()
    pooled, expected = (
        out if isinstance(out, tuple) else (out,) for out in (pooled, call(fresh, rois, *rest))
    )
    for actual, of_cpu in zip(pooled, expected, strict=True):
        assert_same_bytes(actual, of_cpu)


@pytest.mark.parametrize("module", [orbbec.RoIAlign, orbbec.RoIAlignRotated, orbbec.RoIPool])
def test_options_of_a_module_are_checked_when_it_is_made(module):
    wrong = {"spatial_scale": "1", "sampling_ratio": 1.5, "sample_num": "2", "aligned": "false"}
    names = wrong.keys() & inspect.signature(module).parameters.keys()
    assert "spatial_scale" in names
    for name in names:
        with pytest.raises(TypeError, match=f"^{module.__name__}: expected {name} as "):
            module(7, **{"spatial_scale": 1.0, name: wrong[name]})
