"""Which calls orbbec runs and which fall through, with stand-ins for torchvision's functions."""

import pytest
import torch
from torch.autograd import forward_ad

from orbbec.backends.torchvision.calls import Report, routed
from orbbec.backends.torchvision.functions import Function
from orbbec.color import adjust_hue


def theirs(image, hue_factor):
    return "torchvision"


@pytest.fixture
def report():
    return Report()


FUNCTION = Function("v2", "tensor", "hue", adjust_hue, frozenset({"uint8"}), frozenset({"float32"}))


def switched(report, exact=True):
    return routed(FUNCTION, theirs, exact, report)


IMAGE = torch.tensor([10, 200, 30], dtype=torch.uint8).reshape(3, 1, 1)


def test_a_covered_call_is_ours_and_counted(device, report):
    given = device.put(IMAGE)
    result = switched(report)(given, hue_factor=0.5)
    assert torch.equal(result.cpu(), adjust_hue(IMAGE, 0.5))
    assert str(report) == "v2 hue: 1 by orbbec"


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (IMAGE / 255, "float32, which differs slightly"),
        (IMAGE.double(), "float64, which is not covered"),
        (IMAGE.repeat(2, 1, 1), "uint8 of shape [6, 1, 1]"),
        (IMAGE.reshape(1, 1, 3, 1, 1), "uint8 of shape [1, 1, 3, 1, 1]"),
        (IMAGE[:, :0], "uint8 of shape [3, 0, 1]"),
        ((IMAGE / 255).requires_grad_(), "needs a gradient"),
        (IMAGE.to("meta"), "on meta"),
        (IMAGE.numpy(), "ndarray"),
    ],
)
def test_another_image_goes_on_with_the_reason(report, image, reason):
    assert switched(report)(image, 0.1) == "torchvision"
    assert report.others == {("v2 hue", reason): 1}
    assert not report.ours


def test_arguments_that_orbbec_refuses_go_on(report):
    assert switched(report)(IMAGE, 0.7) == "torchvision"
    ((_, reason),) = report.others
    assert "hue_factor from -0.5 to 0.5" in reason


def test_what_differs_slightly_is_taken_where_that_is_allowed(report):
    assert switched(report, exact=False)(IMAGE / 255, 0.1).shape == (3, 1, 1)
    assert report.ours == {"v2 hue": 1}


def test_a_call_without_an_image_in_front_is_left_alone(report):
    assert switched(report)(image=IMAGE, hue_factor=0.1) == "torchvision"
    assert str(report) == "no calls"


def refuses(image, hue_factor):
    raise RuntimeError("no kernel")


def test_an_error_of_torch_goes_on(report):
    function = Function("v2", "tensor", "hue", refuses, frozenset({"uint8"}))
    assert routed(function, theirs, True, report)(IMAGE, 0.1) == "torchvision"
    assert report.others == {("v2 hue", "no kernel"): 1}


def test_bytes_that_torchvision_would_multiply_in_another_dtype_go_on(report, monkeypatch):
    with torch.autocast("cpu", torch.bfloat16):
        assert switched(report)(IMAGE, 0.1) == "torchvision"
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)
    assert switched(report)(IMAGE, 0.1) == "torchvision"
    assert report.others == {("v2 hue", "uint8 under another dtype"): 2}


def test_a_forward_gradient_goes_on(report):
    with forward_ad.dual_level():
        image = forward_ad.make_dual(IMAGE / 255, torch.ones(3, 1, 1))
        assert switched(report, exact=False)(image, 0.1) == "torchvision"
    assert report.others == {("v2 hue", "needs a gradient"): 1}


def test_a_call_that_is_traced_is_left_alone(report):
    by_torch = routed(FUNCTION, lambda image, factor: image + 1, True, report)
    graph = torch.jit.trace(lambda image: by_torch(image, 0.1), IMAGE, check_trace=False).graph
    assert "aten::add" in str(graph)
    assert str(report) == "no calls"


def test_a_float_without_a_gradient_under_no_grad_is_taken(report):
    with torch.no_grad():
        switched(report, exact=False)((IMAGE / 255).requires_grad_(), 0.1)
    assert report.ours == {"v2 hue": 1}
