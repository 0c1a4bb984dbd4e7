"""Plans hold what they held when draws.npz was recorded (record_draws.py)."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from orbbec.plan.tests.draw_arguments import ARGUMENTS
from orbbec.plan.tests.draw_cases import IDS, all_cases
from orbbec.plan.tests.record_draws import PATH, Drawn, label_checksum, plans_of
from orbbec.transforms.tests.examples import our_transforms

ULPS = 4  # of float64 numbers
COUNTS = {
    "argument pipelines": 748,
    "refused argument pipelines": 2,
    "container pipelines": 120,
    "refused container pipelines": 0,
    "random pipelines": 310,
    "refused random pipelines": 106,
    "custom pipelines": 12,
    "refused custom pipelines": 0,
    "target pipelines": 12,
    "refused target pipelines": 2,
    "plans": 4128,
    "passes": 13437,
    "arrays": 131714,
    "float64 numbers": 1728192,
}


class Recorded(NamedTuple):
    """The record of a plan."""

    texts: list
    checksums: np.ndarray
    close: np.ndarray


@pytest.fixture(scope="module")
def record():
    """The recorded plans by the checksum of their label."""
    arrays = dict(np.load(PATH))
    pool = arrays["pool"].tobytes().decode().split("\n")
    ends = arrays["lengths"].cumsum(0, dtype=np.int64)
    plans = {}
    for label, begin, end in zip(arrays["labels"].tolist(), ends - arrays["lengths"], ends, strict=True):
        texts, checksums, close = (slice(*pair) for pair in zip(begin, end, strict=True))
        texts = [pool[index] for index in arrays["texts"][texts]]
        plans[label] = Recorded(texts, arrays["checksums"][checksums], arrays["close"][close])
    assert len(plans) == len(ends)
    return plans


def text_difference(actual, expected):
    """The first difference of two lists of texts."""
    for one, other in zip(actual, expected, strict=False):
        if one != other:
            pairs = zip(one, other, strict=False)
            at = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
            begin, end = max(0, at - 40), at + 80
            return f"{one[:40]}: expected ...{other[begin:end]!r}, but got ...{one[begin:end]!r}"
    return f"expected {len(expected)} texts, but got {len(actual)}"


def difference(drawn: Drawn, recorded: Recorded) -> str:
    """The first difference of a plan from its record; empty if there is none."""
    if drawn.texts != recorded.texts:
        return text_difference(drawn.texts, recorded.texts)
    if len(drawn.entries) != len(recorded.checksums):
        return f"expected {len(recorded.checksums)} arrays, but got {len(drawn.entries)}"
    begin = 0
    for entry, checksum in zip(drawn.entries, recorded.checksums, strict=True):
        close = entry.close
        expected, begin = recorded.close[begin : begin + len(close)], begin + len(close)
        if entry.checksum != checksum:
            return f"{entry.name}: its {entry.values.dtype} {list(entry.values.shape)} differs"
        if len(close) != len(expected):
            return f"{entry.name}: expected {len(expected)} numbers, but got {len(close)}"
        apart = ulps_apart(close, expected)
        if (apart > ULPS).any():
            n = int(apart.argmax())
            shape = entry.values.shape
            return (
                f"{entry.name}{[int(i) for i in np.unravel_index(n, shape)]}: expected {expected[n]!r}, "
                f"but got {close[n]!r}, {apart[n]:.0f} ulps apart"
            )
    return ""


def ulps_apart(actual, expected):
    """The difference in units of the last place of the larger number."""
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    unit = np.spacing(np.maximum(np.abs(actual), np.abs(expected)))
    return np.where(same, 0.0, np.abs(actual - expected) / unit)


def test_plans_hold_what_was_recorded(record):
    counts, found = Counter(), []
    rest = dict(record)
    for kind, cases in all_cases().items():
        counts[f"{kind} pipelines"] = len(cases)
        for case in cases:
            drawn = None
            for label, drawn in plans_of(case):
                recorded = rest.pop(label_checksum(label), None)
                text = "not in the record" if recorded is None else difference(drawn, recorded)
                found += [f"{label}: {text}"] if text else []
                counts["plans"] += bool(drawn.entries)
                counts["passes"] += len(drawn.texts) // 2
                counts["arrays"] += len(drawn.entries)
                counts["float64 numbers"] += sum(len(entry.close) for entry in drawn.entries)
            counts[f"refused {kind} pipelines"] += not drawn.entries
    first = "\n".join(found[:5])
    assert not found, f"{len(found)} plans differ from the record; the first ones:\n{first}"
    assert not rest, f"{len(rest)} plans of the record were not drawn"
    assert dict(counts) == COUNTS


def test_the_record_has_every_transform():
    assert set(ARGUMENTS) == set(our_transforms())
    assert (len(ARGUMENTS), sum(map(len, ARGUMENTS.values())), len(set(IDS))) == (64, 374, 12)
