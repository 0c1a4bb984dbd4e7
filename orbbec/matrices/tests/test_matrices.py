"""Tests without OpenCV: other references, devices, gradients, shapes, errors."""

import os

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from orbbec.matrices import (
    get_affine_matrix,
    get_perspective_matrix,
    get_rotation_matrix,
    get_similarity_matrix,
    invert_affine,
    invert_perspective,
    matrix_to_source,
)

HAS_CUDA = torch.cuda.is_available() or os.environ.get("ORBBEC_REQUIRE_CUDA") == "1"
DEVICES = ["cpu", "cuda"] if HAS_CUDA else ["cpu"]

# The functions with the shapes of their arguments; results are on the device of the arguments.
FUNCTIONS = [
    (get_affine_matrix, ((3, 2), (3, 2))),
    (get_perspective_matrix, ((4, 2), (4, 2))),
    (get_similarity_matrix, ((5, 2), (5, 2))),
    (get_rotation_matrix, ((2,), (), ())),
    (invert_affine, ((2, 3),)),
    (invert_perspective, ((3, 3),)),
    (matrix_to_source, ((2, 3),)),
]
NAMES = [function.__name__ for function, _ in FUNCTIONS]
SHAPES_OUT = [(2, 3), (3, 3), (2, 3), (2, 3), (2, 3), (3, 3), (2, 3)]

# The rotation reads its angle on the host and rounds its center to float32, so it has separate tests.
WITHOUT_ROTATION = [pair for pair in FUNCTIONS if pair[0] is not get_rotation_matrix]
NAMES_WITHOUT_ROTATION = [function.__name__ for function, _ in WITHOUT_ROTATION]

every_function = pytest.mark.parametrize(("function", "shapes"), FUNCTIONS, ids=NAMES)


def random_arguments(shapes, batch, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(rng.uniform(-50, 50, (batch, *shape)).astype(np.float32)) for shape in shapes]


def assert_same_bits(actual, expected):
    assert actual.dtype == expected.dtype == torch.float64
    assert actual.shape == expected.shape
    actual, expected = actual.cpu().contiguous(), expected.cpu().contiguous()
    assert torch.equal(actual.view(torch.int64), expected.view(torch.int64))


def umeyama(src, dst):
    """The closed form for one pair of point sets, by a singular value decomposition without reflection."""
    p, q = src - src.mean(0), dst - dst.mean(0)
    u, sizes, vt = np.linalg.svd(q.T @ p)
    signs = np.array([1.0, np.sign(np.linalg.det(u) * np.linalg.det(vt))])
    linear = (u * signs) @ vt * (sizes * signs).sum() / (p * p).sum()
    return np.concatenate([linear, (dst.mean(0) - linear @ src.mean(0))[:, None]], axis=1)


@every_function
def test_one_entry_is_the_same_bits_alone_and_in_a_batch(function, shapes):
    arguments = random_arguments(shapes, 37)
    batched = function(*arguments)
    alone = torch.stack([function(*(a[i] for a in arguments)) for i in range(37)])
    assert_same_bits(batched, alone)


@pytest.mark.parametrize(
    ("function", "shapes", "shape"),
    [(f, s, o) for (f, s), o in zip(FUNCTIONS, SHAPES_OUT, strict=True)],
    ids=NAMES,
)
def test_arrays_give_arrays_and_tensors_give_tensors(function, shapes, shape):
    for batch in (0, 1, 6):
        tensors = random_arguments(shapes, batch)
        from_tensors = function(*tensors)
        from_arrays = function(*(t.numpy() for t in tensors))
        assert isinstance(from_tensors, torch.Tensor)
        assert isinstance(from_arrays, np.ndarray)
        assert from_arrays.shape == (batch, *shape)
        assert_same_bits(from_tensors, torch.tensor(from_arrays))


@every_function
def test_inputs_of_any_layout_and_real_dtype_are_left_alone(function, shapes):
    whole = [a.round() for a in random_arguments(shapes, 4)]
    expected = function(*whole)
    for dtype in (torch.int64, torch.int16, torch.float16, torch.float64):
        assert_same_bits(function(*(a.to(dtype) for a in whole)), expected)
    reversed_arrays = [a.numpy()[::-1] for a in whole]
    for array in reversed_arrays:
        array.setflags(write=False)
    copies = [a.copy() for a in reversed_arrays]
    assert_same_bits(torch.tensor(function(*reversed_arrays)), expected.flip(0))
    assert all(np.array_equal(a, b) for a, b in zip(reversed_arrays, copies, strict=True))


@pytest.mark.parametrize("device_type", DEVICES)
@every_function
def test_a_device_gives_the_bits_of_the_cpu(function, shapes, device_type):
    arguments = random_arguments(shapes, 3000)
    for argument in arguments:
        argument[::7] = argument[::7].round().sign()  # including singular ones
    actual = function(*(a.to(device_type) for a in arguments))
    assert actual.device.type == device_type
    assert_same_bits(actual, function(*arguments))


@every_function
def test_nothing_is_read_back_from_the_device(function, shapes):
    # Reading a value of a meta tensor raises. The angle of a rotation is read, as documented.
    arguments = [a.to("meta") for a in random_arguments(shapes, 4)]
    if function is get_rotation_matrix:
        arguments[1] = 30.0
    assert function(*arguments).device.type == "meta"


@pytest.mark.cuda
@pytest.mark.parametrize(("function", "shapes"), WITHOUT_ROTATION, ids=NAMES_WITHOUT_ROTATION)
def test_a_cuda_graph_replays_the_bits(function, shapes):
    static = [a.cuda() for a in random_arguments(shapes, 8)]
    function(*static)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(*static)
    fresh = random_arguments(shapes, 8, seed=1)
    for argument, value in zip(static, fresh, strict=True):
        argument.copy_(value)
    graph.replay()
    assert_same_bits(result, function(*fresh))


@pytest.mark.parametrize(("function", "shapes"), WITHOUT_ROTATION, ids=NAMES_WITHOUT_ROTATION)
def test_gradients_are_right(function, shapes):
    rng = np.random.default_rng(8)
    arguments = [torch.tensor(rng.normal(size=(3, *shape)), requires_grad=True) for shape in shapes]
    assert gradcheck(function, arguments)
    with torch.no_grad():
        arguments[0].zero_()
    function(*arguments).sum().backward()
    assert all(a.grad.isfinite().all() for a in arguments)


def test_gradients_of_get_rotation_matrix_are_right():
    rng = np.random.default_rng(9)
    center = torch.tensor([[3.0, 4.0], [5.0, -2.0]], dtype=torch.float64, requires_grad=True)
    angle, scale = (torch.tensor(rng.uniform(0.5, 90, 2), requires_grad=True) for _ in range(2))
    assert gradcheck(lambda a, s: get_rotation_matrix(center.detach(), a, s), (angle, scale))
    assert torch.autograd.gradgradcheck(lambda a: get_rotation_matrix(center.detach(), a), (angle,))
    # The result is linear in the center, so a step representable in float32 gives the exact difference.
    assert gradcheck(lambda c: get_rotation_matrix(c, angle.detach()), (center,), eps=2.0**-6)


def test_get_similarity_matrix_is_the_least_squares_solution():
    rng = np.random.default_rng(10)
    for _ in range(2000):
        count = int(rng.integers(2, 70))
        src, dst = rng.uniform(0, 640, (2, count, 2))
        rows = np.concatenate(
            [
                np.stack([src[:, 0], -src[:, 1], 0 * src[:, 0] + 1, 0 * src[:, 0]], axis=-1),
                np.stack([src[:, 1], src[:, 0], 0 * src[:, 0], 0 * src[:, 0] + 1], axis=-1),
            ]
        )
        a, b, x, y = np.linalg.lstsq(rows, dst.T.ravel(), rcond=None)[0]
        expected = np.array([[a, -b, x], [b, a, y]])
        actual = get_similarity_matrix(src, dst)
        scale = max(1.0, np.abs(expected).max())
        # Measured 9e-13, from lstsq, whose system is worse conditioned; and 1.4e-15.
        assert np.abs(actual - expected).max() < 1e-11 * scale
        assert np.abs(actual - umeyama(src, dst)).max() < 1e-14 * scale


def test_get_similarity_matrix_does_not_reflect():
    face = np.array([[38.3, 51.7], [73.5, 51.5], [56.0, 71.7], [41.5, 92.4], [70.7, 92.2]])
    mirrored = face * [-1, 1] + [112, 0]
    actual = get_similarity_matrix(face, mirrored)
    assert np.linalg.det(actual[:, :2]) > 0
    assert np.abs(actual - umeyama(face, mirrored)).max() < 1e-12


def test_get_similarity_matrix_maps_two_points_exactly():
    rng = np.random.default_rng(11)
    src, dst = rng.uniform(0, 640, (2, 5000, 2, 2))
    matrix = get_similarity_matrix(src, dst)
    mapped = np.einsum("nij,nkj->nki", matrix[:, :, :2], src) + matrix[:, None, :, 2]
    size = np.abs(matrix[:, :, :2]).max((1, 2)) * 640 + np.abs(matrix[:, :, 2]).max(1)
    # Measured 2.8e-16 of the largest term.
    assert (np.abs(mapped - dst).max((1, 2)) / size).max() < 1e-15
    quarter_turn = get_similarity_matrix(np.array([[0, 0], [2, 0]]), np.array([[1, 1], [1, 5]]))
    assert quarter_turn.tolist() == [[0, -2, 1], [2, 0, 1]]


def test_get_similarity_matrix_of_one_point_is_a_shift():
    src = np.full((7, 2), 0.1)
    dst = np.arange(14.0).reshape(7, 2)
    assert get_similarity_matrix(src, dst) == pytest.approx(np.array([[1, 0, 5.9], [0, 1, 6.9]]), abs=1e-14)


def test_a_template_without_a_batch_serves_every_entry():
    faces = random_arguments(((5, 2),), 6)[0]
    template = torch.arange(10.0).reshape(5, 2)
    for function, count in ((get_similarity_matrix, 5), (get_affine_matrix, 3), (get_perspective_matrix, 4)):
        src, dst = faces[:, :count], template[:count] ** 2
        repeated = dst.expand_as(src)
        assert_same_bits(function(src, dst), function(src, repeated))
        assert_same_bits(function(dst, src), function(repeated, src))


@pytest.mark.parametrize("dynamic", [False, True])
@every_function
def test_matrices_compile_as_one_graph(function, shapes, dynamic):
    arguments = random_arguments(shapes, 3)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    assert_same_bits(compiled(*arguments), function(*arguments))


def test_get_rotation_matrix_of_numbers_compiles_with_its_gradient():
    def spread(angle):
        return (get_rotation_matrix((3.0, 4.0), angle, 1.5) ** 2).sum()

    angle = torch.tensor([20.0, 200.0]).requires_grad_()
    compiled = torch.compile(spread, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(
        torch.autograd.grad(compiled(angle), angle), torch.autograd.grad(spread(angle), angle)
    )
    torch.library.opcheck(torch.ops.orbbec.host_cosine_sine.default, (angle.double(),))


def test_get_rotation_matrix_broadcasts_its_arguments():
    both = get_rotation_matrix((3.0, 4.0), torch.tensor([10.0, 20.0]), 2.0)
    one_by_one = [get_rotation_matrix(torch.tensor([3.0, 4.0]), angle, 2.0) for angle in (10.0, 20.0)]
    assert_same_bits(both, torch.stack(one_by_one))
    scales = get_rotation_matrix((3.0, 4.0), 10.0, np.array([2.0, 3.0]))
    assert isinstance(scales, np.ndarray)
    assert scales.shape == (2, 2, 3)
    assert_same_bits(torch.tensor(scales[0]), both[0])


def test_get_rotation_matrix_turns_counter_clockwise_on_screen():
    quarter_turn = get_rotation_matrix((1.0, 1.0), 90.0)
    # A point right of the center moves above it; y points down.
    assert quarter_turn @ [2.0, 1.0, 1.0] == pytest.approx([1.0, 0.0])


def test_get_perspective_matrix_finds_maps_that_send_the_origin_to_infinity():
    trapezoid = np.float32([[320, 512], [960, 512], [0, 1024], [1280, 1024]])
    rectangle = np.float32([[0, 0], [1280, 0], [0, 1024], [1280, 1024]])
    centered = trapezoid - np.float32([640, 0])
    for src in (trapezoid, centered):
        matrix = get_perspective_matrix(src, rectangle)
        x, y, w = matrix @ np.concatenate([src, np.ones((4, 1))], axis=1).T
        assert np.stack([x / w, y / w], axis=-1) == pytest.approx(rectangle, abs=1e-9)
    assert abs(matrix[2, 2]) < 1e-15
    assert w[0] > 0
    assert np.linalg.norm(matrix) == pytest.approx(1)


def test_get_perspective_matrix_keeps_the_products_of_float64_points():
    rng = np.random.default_rng(12)
    src, dst = rng.uniform(0, 640, (2, 200, 4, 2))
    matrix = get_perspective_matrix(src, dst)
    mapped = np.concatenate([src, np.ones((200, 4, 1))], axis=-1) @ matrix.transpose(0, 2, 1)
    error = np.abs(mapped[..., :2] / mapped[..., 2:] - dst).max((1, 2))
    # Measured 1.6e-12 pixels; points rounded to float32 miss by 3e-4.
    assert np.median(error) < 1e-11


def test_degenerate_points_give_zeros():
    line = np.arange(8.0).reshape(4, 2)
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert not get_affine_matrix(line[:3], square[:3]).any()
    assert not get_perspective_matrix(line, square).any()
    assert not get_perspective_matrix(np.zeros((4, 2)), square).any()


def test_singular_matrices_have_zeros_for_inverses():
    rank_one = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])
    assert not invert_affine(rank_one[:2]).any()
    assert not matrix_to_source(rank_one[:2]).any()
    assert not invert_perspective(rank_one).any()
    assert not matrix_to_source(rank_one).any()


@every_function
def test_nan_and_infinity_spoil_only_their_own_entry(function, shapes):
    arguments = random_arguments(shapes, 5)
    expected = function(*arguments)
    for value in (float("nan"), float("inf")):
        for argument in arguments:
            spoilt = [a.clone() for a in arguments]
            spoilt[[a is argument for a in arguments].index(True)][2].fill_(value)
            actual = function(*spoilt)
            assert actual[2].isnan().any()
            keep = [0, 1, 3, 4]
            assert_same_bits(actual[keep], expected[keep])


@pytest.mark.parametrize("function", [get_affine_matrix, get_perspective_matrix, get_similarity_matrix])
def test_points_that_are_not_finite_give_nan(function):
    count = 4 if function is get_perspective_matrix else 3
    points = torch.tensor([[0.0, 0.0], [5.0, 1.0], [2.0, 7.0], [9.0, 9.0]])[:count]
    spoilt = points.clone()
    spoilt[1, 1] = float("inf")
    assert function(spoilt, points).isnan().all()
    assert function(points, spoilt).isnan().all()


POINTS = torch.zeros(8, 3, 2)
NUMBERS = np.zeros(3)
ERRORS = [
    (
        get_affine_matrix,
        (POINTS, POINTS[:, :2]),
        ValueError,
        "get_affine_matrix: expected dst_points of shape [N, 3, 2] or [3, 2], but got [8, 2, 2]",
    ),
    (
        get_affine_matrix,
        (POINTS, POINTS[:4]),
        ValueError,
        "get_affine_matrix: expected dst_points of shape [8, 3, 2], but got [4, 3, 2]",
    ),
    (
        get_affine_matrix,
        (POINTS.bool(), POINTS),
        TypeError,
        "get_affine_matrix: expected src_points of real numbers, but got torch.bool",
    ),
    (
        get_affine_matrix,
        (POINTS, POINTS.numpy()),
        TypeError,
        "get_affine_matrix: expected dst_points to be a torch.Tensor as src_points is, but got ndarray",
    ),
    (
        get_affine_matrix,
        (POINTS, POINTS.to("meta")),
        ValueError,
        "get_affine_matrix: expected dst_points on cpu, but got meta",
    ),
    (
        get_affine_matrix,
        (POINTS.tolist(), POINTS),
        TypeError,
        "get_affine_matrix: expected src_points to be a torch.Tensor or numpy.ndarray, but got list",
    ),
    (
        get_perspective_matrix,
        (POINTS, POINTS),
        ValueError,
        "get_perspective_matrix: expected src_points of shape [N, 4, 2] or [4, 2], but got [8, 3, 2]",
    ),
    (
        get_perspective_matrix,
        (NUMBERS, NUMBERS),
        ValueError,
        "get_perspective_matrix: expected src_points of shape [N, 4, 2] or [4, 2], but got [3]",
    ),
    (
        get_similarity_matrix,
        (POINTS[:, :1], POINTS),
        ValueError,
        "get_similarity_matrix: expected src_points of shape [N, K, 2] or [K, 2] with K >= 2, "
        "but got [8, 1, 2]",
    ),
    (
        get_similarity_matrix,
        (POINTS, POINTS[0, :2]),
        ValueError,
        "get_similarity_matrix: expected dst_points of shape [8, 3, 2], but got [2, 2]",
    ),
    (
        get_similarity_matrix,
        (POINTS.numpy().astype(complex), POINTS.numpy()),
        TypeError,
        "get_similarity_matrix: expected src_points of real numbers, but got complex128",
    ),
    (
        get_rotation_matrix,
        (NUMBERS, 0.0),
        ValueError,
        "get_rotation_matrix: expected center of shape [N, 2] or [2], but got [3]",
    ),
    (
        get_rotation_matrix,
        (0.0, 0.0),
        ValueError,
        "get_rotation_matrix: expected center of shape [N, 2] or [2], but got []",
    ),
    (
        get_rotation_matrix,
        ((0, 0), POINTS),
        ValueError,
        "get_rotation_matrix: expected angle of shape [N] or [], but got [8, 3, 2]",
    ),
    (
        get_rotation_matrix,
        ((0, 0), NUMBERS, np.zeros(4)),
        ValueError,
        "get_rotation_matrix: expected scale of shape [3], but got [4]",
    ),
    (
        get_rotation_matrix,
        ((0, 0), "north"),
        TypeError,
        "get_rotation_matrix: expected angle of real numbers, but got <U5",
    ),
    (
        get_rotation_matrix,
        (torch.zeros(2), 0.0, torch.ones((), device="meta")),
        ValueError,
        "get_rotation_matrix: expected scale on cpu, but got meta",
    ),
    (
        invert_affine,
        (torch.zeros(3, 3),),
        ValueError,
        "invert_affine: expected matrix of shape [N, 2, 3] or [2, 3], but got [3, 3]",
    ),
    (
        invert_perspective,
        (torch.zeros(2, 2, 3, 3),),
        ValueError,
        "invert_perspective: expected matrix of shape [N, 3, 3] or [3, 3], but got [2, 2, 3, 3]",
    ),
    (
        matrix_to_source,
        (torch.zeros(2, 2),),
        ValueError,
        "matrix_to_source: expected matrix of shape [N, 2, 3] or [2, 3] or [N, 3, 3] or [3, 3], "
        "but got [2, 2]",
    ),
    (
        matrix_to_source,
        (None,),
        TypeError,
        "matrix_to_source: expected matrix to be a torch.Tensor or numpy.ndarray, but got NoneType",
    ),
]


@pytest.mark.parametrize(
    ("function", "arguments", "kind", "message"), ERRORS, ids=[str(i) for i in range(len(ERRORS))]
)
def test_an_error_names_the_function_and_the_argument(function, arguments, kind, message):
    with pytest.raises(kind) as error:
        function(*arguments)
    assert str(error.value) == message
