import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from orbbec import RoIPool, roi_pool
from tests.support import assert_same_bytes
from tests.support.roi_oracle import oracle_pool
from tests.support.rois import roi_case, run_case

# Written by roi_align/tests/record_torchvision.py.
RECORDED = np.load(Path(__file__).parents[2] / "tests" / "torchvision.npz")
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def digest(tensor):
    return hashlib.sha256(tensor.contiguous().cpu().numpy().tobytes()).digest()


@pytest.mark.parametrize("seed", range(12))
def test_roi_pool_matches_torchvision(device, seed):
    output, gradient = run_case("roi_pool", roi_case(seed).on(device))
    assert_same_bytes(output.cpu(), torch.from_numpy(RECORDED[f"roi_pool_output_{seed}"]))
    assert_same_bytes(gradient.cpu(), torch.from_numpy(RECORDED[f"roi_pool_gradient_{seed}"]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_roi_pool_matches_the_digests_of_240_results_of_torchvision(device, dtype):
    for seed, (of_output, of_gradient) in enumerate(RECORDED[f"roi_pool_{dtype}"]):
        if seed % 4 and device.name not in ("cpu", "cuda"):  # one in four on the emulated device
            continue
        output, gradient = run_case("roi_pool", roi_case(seed, DTYPES[dtype]).on(device))
        assert digest(output) == of_output.tobytes(), f"output of case {seed}"
        assert digest(gradient) == of_gradient.tobytes(), f"gradient of case {seed}"


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_roi_pool_gives_the_same_bits_with_any_vectors(monkeypatch, level, dtype):
    """Many large regions are pooled with vectors, a single one is not."""
    case = roi_case(7, dtype, channels=70)
    size = torch.tensor(case.input.shape[:1:-1])
    rois = torch.cat([torch.zeros(30, 1), torch.rand(30, 2) * 2, size - torch.rand(30, 2) * 2], 1).to(dtype)
    rois[3, 2] = float("nan")
    alone = torch.cat([roi_pool(case.input, roi[None], 2, 0.9) for roi in rois])
    monkeypatch.setenv("ORBBEC_SIMD", level)
    assert_same_bytes(roi_pool(case.input, rois, 2, 0.9), alone)
    last = roi_pool(case.channels_last().input, rois, 2, 0.9)
    assert_same_bytes(last, alone)


def test_roi_pool_matches_the_oracle(device):
    for seed in range(40):
        case = replace(roi_case(seed, torch.float64, channels=2), size=(2, 4))  # exact quotients
        actual = roi_pool(device.put(case.input), device.put(case.rois), **case.pool_options())
        expected = oracle_pool(case.input.numpy(), case.rois.numpy(), **case.pool_options())
        np.testing.assert_array_equal(actual.cpu().numpy(), expected)


def test_roi_pool_by_hand(device):
    image = device.put(torch.arange(12.0).reshape(1, 1, 3, 4))
    roi = device.put(torch.tensor([[0.0, 0.5, -0.4, 2.6, 1.4]]))  # columns 1 to 3, rows 0 and 1
    assert roi_pool(image, roi, 1).item() == 7.0
    assert roi_pool(image, roi, (2, 1)).flatten().tolist() == [3.0, 7.0]
    assert roi_pool(image, roi, (1, 2)).flatten().tolist() == [6.0, 7.0]  # both contain column 2
    outside = device.put(torch.tensor([[0.0, 9, 9, 12, 12]]))
    assert roi_pool(image, outside, 1).item() == 0.0


def test_roi_pool_gradient_goes_to_the_first_largest(device):
    image = device.put(torch.tensor([[[[1.0, 5, 5, 2]]]])).requires_grad_()
    roi_pool(image, device.put(torch.tensor([[0.0, 0, 0, 3, 0]] * 2)), 1).sum().backward()
    assert image.grad.flatten().tolist() == [0.0, 2.0, 0.0, 0.0]


def test_roi_pool_passes_over_nan(device):
    image = device.put(torch.tensor([[[[float("nan"), -2.0, float("nan")]]]]))
    assert roi_pool(image, device.put(torch.tensor([[0.0, 0, 0, 2, 0]])), 1).item() == -2.0
    nothing = roi_pool(image, device.put(torch.tensor([[0.0, 0, 0, 0, 0]])), 1).item()
    assert nothing == torch.finfo(torch.float32).min


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 2e9, -2e9, 3e38])
@pytest.mark.parametrize("column", [1, 2, 3, 4])
def test_roi_pool_of_rois_that_are_not_finite_or_too_far_is_zero(device, value, column):
    rois = torch.tensor([[0.0, 1, 1, 3, 3], [0, 1, 1, 3, 3]])
    rois[0, column] = value
    features = device.put(torch.ones(1, 2, 5, 6)).requires_grad_()
    output = roi_pool(features, device.put(rois), 2)
    assert output[0].abs().max() == 0
    assert output[1].min() == 1
    output[0].sum().backward()
    assert features.grad.abs().sum() == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_roi_pool_of_half_types_is_float32_rounded_once(device, dtype):
    for seed in range(12):
        case = roi_case(seed, dtype)
        for actual, expected in zip(
            run_case("roi_pool", case.on(device)),
            run_case("roi_pool", case.to(torch.float32).on(device)),
            strict=True,
        ):
            assert_same_bytes(actual, expected.to(dtype))


def test_roi_pool_refuses_images_outside_of_the_batch_on_the_cpu():
    with pytest.raises(
        ValueError, match="roi_pool: expected rois with batch indices below 2, but roi 0 has 2"
    ):
        roi_pool(torch.ones(2, 3, 4, 5), torch.tensor([[2.0, 0, 0, 1, 1]]), 2)


def test_roi_pool_of_images_outside_of_the_batch_is_nan_on_an_accelerator(accelerator):
    rois = torch.tensor([[0.0, 0, 0, 2, 2], [2, 0, 0, 2, 2], [float("nan"), 0, 0, 2, 2]])
    with accelerator.active():
        features = accelerator.put(torch.ones(2, 3, 4, 5)).requires_grad_()
        output = roi_pool(features, accelerator.put(rois), 2)
        assert output[1:].isnan().all()
        output.sum().backward()
        assert features.grad.sum().item() == 12.0


def test_roi_pool_ignores_indices_that_no_forward_pass_gives(device):
    argmax = device.put(torch.tensor([[[[-7, 2**31 - 1]]]], dtype=torch.int32))
    gradient, rois = device.put(torch.ones(1, 1, 1, 2)), device.put(torch.zeros(1, 5))
    result = torch.ops.orbbec.roi_pool_backward(gradient, argmax, rois, [1, 1, 2, 3], False, 1.0)
    assert result.abs().sum() == 0


def test_roi_pool_module_is_the_function(device):
    case = roi_case(2).on(device)
    expected = roi_pool(case.input, case.rois, (7, 7), 0.25)
    assert_same_bytes(RoIPool(7, 0.25)(case.input, case.rois), expected)
