"""Plans hold what they held when draws.npz was recorded (record_draws.py)."""

from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from orbbec.plan.tests.draw_arguments import ARGUMENTS
from orbbec.plan.tests.draw_cases import IDS, all_cases
from orbbec.plan.tests.record_draws import PATH, Drawn, label_checksum, plans_of
from orbbec.transforms.tests.examples import our_transforms

COUNTS = {
    "argument pipelines": 1458,
    "refused argument pipelines": 0,
    "container pipelines": 120,
    "refused container pipelines": 0,
    "random pipelines": 310,
    "refused random pipelines": 104,
    "custom pipelines": 12,
    "refused custom pipelines": 0,
    "target pipelines": 12,
    "refused target pipelines": 2,
    "common pipelines": 50,
    "refused common pipelines": 1,
    "small pipelines": 264,
    "refused small pipelines": 0,
    "plans": 7297,
    "passes": 16868,
    "arrays": 164061,
    "float64 numbers": 2017240,
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
        if close.tobytes() != expected.tobytes():
            text = number_difference(entry, expected.reshape(entry.values.shape))
            if text:
                return text
    return ""


def number_difference(entry, expected):
    """The largest difference of float64 numbers; empty if all are within the tolerance."""
    actual, tolerance = entry.values, entry.tolerance(expected)
    apart = np.abs(actual - expected)
    wrong = ~((actual == expected) | (np.isnan(actual) & np.isnan(expected)) | (apart <= tolerance))
    if not wrong.any():
        return ""
    at = np.unravel_index(np.where(wrong, apart, -1).argmax(), actual.shape)
    return f"{entry.name}{list(map(int, at))}: expected {expected[at]!r}, but got {actual[at]!r}"


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
    assert (len(ARGUMENTS), sum(map(len, ARGUMENTS.values())), len(set(IDS))) == (132, 729, 12)


def changed(entry, rng):
    """The array with the least change of one number that is a difference."""
    values = entry.values.copy()
    at = np.unravel_index(rng.integers(values.size), values.shape)
    if values.dtype == np.float64:
        tolerance = entry.tolerance(values)[at]
        values[at] += max(1.5 * tolerance, np.spacing(np.abs(values[at])))
    elif values.dtype == np.float32:
        values[at] = np.nextafter(values[at], np.float32(np.inf))
    else:
        values[at] = ~values[at] if values.dtype == bool else values[at] + 1
    return values


def first_changes(drawn, rng):
    """Copies of a plan with one number or one letter changed, with the name of the pass or column."""
    for index, entry in enumerate(drawn.entries):
        if entry.values.size:
            entries = list(drawn.entries)
            entries[index] = entry._replace(values=changed(entry, rng))
            yield entry.name, drawn._replace(entries=entries)
    for index, text in enumerate(drawn.texts):
        at = int(rng.integers(len(text)))
        texts = list(drawn.texts)
        texts[index] = text[:at] + "#" + text[at + 1 :]
        yield "", drawn._replace(texts=texts)


def test_a_change_of_one_number_is_found(record):
    rng, count = np.random.default_rng(0), 0
    cases = [case for several in all_cases().values() for case in several][::29]
    for case in cases:
        label, drawn = next(plans_of(case))
        recorded = record[label_checksum(label)]
        for name, other in first_changes(drawn, rng):
            text = difference(other, recorded)
            assert text
            assert text.startswith(name)
            count += 1
    assert count == 2801
