import numpy as np
import pytest
import torch

from orbbec import RoIAlignRotated, roi_align, roi_align_rotated
from tests.support import assert_same_bytes
from tests.support.roi_oracle import oracle_align
from tests.support.rois import roi_case, rotated_case, run_case


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    # Seen: 1.1e-14 and 6.2e-06, for values up to 4.
    [(torch.float64, 1e-12), (torch.float32, 5e-5)],
)
def test_roi_align_rotated_matches_the_oracle(device, dtype, tolerance):
    worst = 0.0
    for seed in range(60):
        case = rotated_case(seed, dtype, channels=3)
        if case.sampling_ratio == 0:
            # An oracle in float64 may use another number of samples if a side is an integer.
            case.rois[:, 3:5] += 0.01
        expected = oracle_align(case.input.numpy(), case.rois.numpy(), **case.align_options())
        actual = roi_align_rotated(device.put(case.input), device.put(case.rois), **case.align_options())
        worst = max(worst, float(np.abs(actual.cpu().numpy() - expected).max()))
    assert worst < tolerance


def test_roi_align_rotated_by_no_angle_is_roi_align(device):
    """A difference of 3.6e-15 was seen in float64, since the corner is computed from the center."""
    for seed in range(20):
        case = roi_case(4 * seed + 1, torch.float64).on(device)
        image, x1, y1, x2, y2 = case.rois.unbind(1)
        rois = torch.stack([image, (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, 0 * image], 1)
        options = {**case.align_options(), "aligned": True}
        difference = roi_align_rotated(case.input, rois, **options) - roi_align(
            case.input, case.rois, **options
        )
        assert difference.abs().max() < 1e-12


@pytest.mark.parametrize(("degrees", "turns"), [(90, 1), (180, 2), (270, 3), (-90, 3), (360, 0)])
def test_roi_align_rotated_by_quarter_turns_turns_the_bins(device, degrees, turns):
    """A region rotated counter-clockwise on screen shows the image rotated clockwise."""
    image = device.put(torch.arange(36.0).reshape(1, 1, 6, 6))
    roi = torch.tensor([[0.0, 3, 3, 4, 4, 0]])
    upright = roi_align_rotated(image, device.put(roi), 4, sampling_ratio=1)
    roi[0, 5] = degrees
    turned = roi_align_rotated(image, device.put(roi), 4, sampling_ratio=1)
    assert_same_bytes(turned, torch.rot90(upright, -turns, (2, 3)))


def test_roi_align_rotated_by_hand(device):
    image = device.put(torch.tensor([[[[0.0, 1], [2, 3]]]]))
    # Two bins per pixel around the center (0.5, 0.5); after a rotation by 90 degrees, the right one is above.
    roi = device.put(torch.tensor([[0.0, 1, 1, 1, 1, 90]]))
    assert roi_align_rotated(image, roi, (1, 2), sampling_ratio=1).flatten().tolist() == [2.0, 1.0]


def test_roi_align_rotated_gradient_is_that_of_the_linear_map(device):
    """As matrices, gradient and operator are each other's transpose. A difference of 5e-15 was seen."""
    for seed in range(0, 40, 3):
        case = rotated_case(seed, torch.float64).on(device)
        output, gradient = run_case("roi_align_rotated", case)
        there, back = (output * case.gradient).sum(), (gradient * case.input).sum()
        assert abs(there - back) < 1e-11 * (1 + output.abs().sum())


@pytest.mark.sanitized
@pytest.mark.parametrize("level", ["scalar", "avx2", "avx512"])
@pytest.mark.parametrize("last", [False, True])
def test_roi_align_rotated_gives_the_same_bits_with_any_vectors(monkeypatch, level, last):
    for seed in (3, 7, 11):
        case = rotated_case(seed)
        expected = run_case("roi_align_rotated", case)
        monkeypatch.setenv("ORBBEC_SIMD", level)
        actual = run_case("roi_align_rotated", case.channels_last() if last else case)
        monkeypatch.delenv("ORBBEC_SIMD")
        for a, b in zip(actual, expected, strict=True):
            assert_same_bytes(a, b)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e17, 3e38])
@pytest.mark.parametrize("column", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("sampling_ratio", [0, 2])
def test_roi_align_rotated_of_rois_that_are_not_finite_or_too_far_is_zero(
    device, value, column, sampling_ratio
):
    rois = torch.tensor([[0.0, 2, 2, 2, 2, 30], [0, 2, 2, 2, 2, 30]])
    rois[0, column] = value
    for channels in (2, 70):
        features = device.put(torch.ones(1, channels, 5, 6)).requires_grad_()
        output = roi_align_rotated(features, device.put(rois), 2, sampling_ratio=sampling_ratio)
        assert output[0].abs().max() == 0
        assert output[1].min() > 0.999
        output[0].sum().backward()
        assert features.grad.abs().sum() == 0


def test_roi_align_rotated_takes_a_list_of_boxes_an_image(device):
    case = rotated_case(1, channels=2).on(device)
    rois = case.rois[case.rois[:, 0].argsort(stable=True)]
    boxes = [rois[rois[:, 0] == n, 1:] for n in range(case.input.shape[0])]
    expected = roi_align_rotated(case.input, rois, 3)
    assert_same_bytes(roi_align_rotated(case.input, boxes, 3), expected)
    assert_same_bytes(RoIAlignRotated(3, 1.0)(case.input, rois), expected)


def test_roi_align_rotated_of_no_rois(device):
    features = device.put(torch.ones(2, 3, 5, 6)).requires_grad_()
    output = roi_align_rotated(features, device.put(torch.zeros(0, 6)), (2, 3))
    assert output.shape == (0, 3, 2, 3)
    output.sum().backward()
    assert features.grad.abs().sum() == 0
