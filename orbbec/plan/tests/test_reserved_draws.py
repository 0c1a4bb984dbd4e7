"""Each rule has the random numbers that rules.h says it draws, and no other rule has any of them."""

import pytest

from orbbec import transforms as T
from orbbec.plan.build import Build
from orbbec.plan.external import NeedsBatch
from orbbec.transforms.tests.examples import EXAMPLES

MORE = {
    "PadIfNeeded at random": T.PadIfNeeded(40, position="random"),
    "GridDropout at random": T.GridDropout(holes_number_xy=(2, 2), random_offset=True, p=1.0),
    "RandomErasing of random colors": T.RandomErasing(1.0, value="random"),
    "RandomResizedCrop, antialiased": T.RandomResizedCrop(9, antialias=True),
    "RandomResizedCrop": T.RandomResizedCrop(9, antialias=False),
    "MixUp": T.MixUp(alpha=2.0),
}
CASES = {name: example for name, (example, *_) in EXAMPLES.items()} | MORE
COUNTS = {
    **dict.fromkeys(("uniform", "whole", "chance", "choice"), lambda *operands: 1),
    **dict.fromkeys(("cut", "normal", "crop_random"), lambda *operands: 2),
    **dict.fromkeys(("area", "resize_area"), lambda *operands: 40),
    **{"cell": lambda *operands: 2, "pad_to": lambda *operands: 2 * operands[-1]},
    **{"hole": lambda *operands: 4, "perspective": lambda *operands: 8},
    **{"permutation": lambda count: count, "order": lambda count, *operands: count},
    **{"beta": lambda alpha: 98 if alpha < 1 else 96},
    **{"dirichlet": lambda count, alpha: count * (49 if alpha < 1 else 48)},
}


@pytest.mark.parametrize("name", CASES)
def test_rules_have_the_draws_that_they_take(name):
    build = Build(3, "float32" if name == "Normalize" else "uint8", batch=None)
    try:
        build.transform(CASES[name])
    except NeedsBatch:
        pytest.skip("Python draws it")
    spans = {
        (rule.stream, rule.first, COUNTS[rule.name](*rule.operands))
        for rule in build.rules
        if rule.name in COUNTS
    }
    ends = {}
    for stream, first, count in sorted(spans):
        assert first == ends.get(stream, 0)
        ends[stream] = first + count
