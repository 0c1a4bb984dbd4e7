"""`pytest --sampled` tests each value of each parameter every day."""

from itertools import product
from types import SimpleNamespace

import conftest


class Case:
    """What the selection needs of a `pytest.Item`."""

    def __init__(self, test, marker=None, **params):
        self.nodeid = f"{test}[{'-'.join(map(str, params.values()))}]" if params else test
        self.marker = marker
        if params:
            self.callspec = SimpleNamespace(params=params)

    def get_closest_marker(self, name):
        return name if name == self.marker else None


GRID = [Case("test_x", a=a, b=b, c=c) for a, b, c in product("pqrs", ("u", "v", "w"), (False, True))]


def kept(items, day="2026-01-01"):
    left_out = conftest.outside_of_samples(items, day)
    return [item for item in items if item not in left_out]


def test_every_value_of_every_parameter_is_kept():
    for name in ("a", "b", "c"):
        values = {item.callspec.params[name] for item in GRID}
        assert {item.callspec.params[name] for item in kept(GRID)} == values
    assert 4 <= len(kept(GRID)) < len(GRID) / 2


def test_a_day_repeats_its_sample_and_another_day_has_another():
    assert kept(GRID) == kept(GRID)
    assert len({tuple(item.nodeid for item in kept(GRID, str(day))) for day in range(5)}) == 5


def test_cases_of_one_parameter_and_tests_without_any_are_kept():
    single = [Case("test_y", n=n) for n in range(9)]
    unparametrized = [Case("test_z")]
    assert kept([*single, *unparametrized]) == [*single, *unparametrized]


def test_one_case_a_day_is_kept_where_the_marker_says_so():
    pages = [Case("test_page", marker="one_a_day", page=page) for page in range(9)]
    assert len(kept(pages)) == 1
    assert len({kept(pages, str(day))[0].nodeid for day in range(20)}) > 3


def test_a_share_is_one_in_so_many():
    left_out = conftest.outside_of_share(GRID, 4, "2026-01-01")
    assert len(left_out) == 18
    assert left_out != conftest.outside_of_share(GRID, 4, "2026-01-02")
    assert conftest.outside_of_share(GRID, 1, "2026-01-01") == []
