"""Numbers and sequences of NumPy, torch and configuration libraries as arguments of transforms."""

import dataclasses
import decimal
import json
from collections import UserList  # a sequence that is no list, as OmegaConf's ListConfig
from fractions import Fraction

import numpy as np
import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms.base import checks
from orbbec.transforms.tests.test_compose import ALL, MIXING

PADS = [T.Pad(1), T.Pad(2)]


def is_numeric(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equals_of(value):
    """The value in types of other libraries."""
    if isinstance(value, bool):
        return [np.bool_(value), np.array(value), torch.tensor(value)]
    if isinstance(value, int):
        return [np.int64(value), np.int32(value), np.array(value), torch.tensor(value)]
    if isinstance(value, float):
        wide = torch.tensor(value, dtype=torch.float64)
        return [np.float64(value), Fraction(value), np.array(value), wide]
    if isinstance(value, tuple) and value and all(map(is_numeric, value)):
        scalars = tuple(equals_of(entry)[0] for entry in value)
        return [
            list(value),
            UserList(value),
            UserList(scalars),
            np.array(value),
            torch.from_numpy(np.array(value)),
        ]
    if isinstance(value, tuple):
        return [list(value), UserList(value)]
    return []


def arguments():
    return [
        pytest.param(transform, field.name, id=f"{transform.name}-{field.name}")
        for transform in [*ALL, *MIXING]
        for field in dataclasses.fields(transform)
        if equals_of(getattr(transform, field.name))
    ]


@pytest.mark.parametrize(("transform", "name"), arguments())
def test_equal_numbers_of_other_types_give_equal_transforms(transform, name):
    for value in equals_of(getattr(transform, name)):
        other = dataclasses.replace(transform, **{name: value})
        assert other == transform
        assert repr(other) == repr(transform)
        assert json.dumps(other.to_dict()) == json.dumps(transform.to_dict())


@pytest.mark.parametrize("field", dataclasses.fields(T.TargetOptions), ids=lambda field: field.name)
def test_target_options_store_numbers_of_python(field):
    for value in equals_of(field.default):
        options = T.TargetOptions(**{field.name: value})
        assert (options, repr(options)) == (T.TargetOptions(), repr(T.TargetOptions()))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: T.Resize(range(16, 18)), T.Resize((16, 17))),
        (lambda: T.Resize(torch.Size([16, 17])), T.Resize((16, 17))),
        (lambda: T.Resize(np.array([16])), T.Resize(16)),
        (lambda: T.CenterCrop(np.uint8(16)), T.CenterCrop(16)),
        (lambda: T.Pad(np.array([1, 2])), T.Pad((1, 2))),
        (lambda: T.Pad(np.int32(1), fill=np.uint8([1, 2, 3])), T.Pad(1, fill=(1, 2, 3))),
        (lambda: T.RandomAffine(np.float64(3), shear=np.array([1.0, 2.0])), T.RandomAffine(3, shear=(1, 2))),
        (lambda: T.RandomAffine(3, shear=np.float64(2)), T.RandomAffine(3, shear=2)),
        (lambda: T.ColorJitter(np.float64(0.5), UserList([0.5, 1.5])), T.ColorJitter(0.5, (0.5, 1.5))),
        (lambda: T.GaussianBlur(np.int64(3), np.float64(2)), T.GaussianBlur(3, 2.0)),
        (
            lambda: T.RandomChoice([T.Pad(1), T.Pad(2)], np.array([1, 3])),
            T.RandomChoice([T.Pad(1), T.Pad(2)], (1, 3)),
        ),
        (lambda: T.RandomApply(UserList([T.Pad(1)]), np.float64(0.5)), T.RandomApply([T.Pad(1)])),
        (
            lambda: T.Compose(UserList([T.Pad(1)]), np.int64(3), np.bool_(True)),
            T.Compose([T.Pad(1)], 3, True),
        ),
        (lambda: T.RandomShortestSize(np.array([8, 9]), np.int64(20)), T.RandomShortestSize((8, 9), 20)),
        (lambda: T.Resize((8, 9), np.int64(1)), T.Resize((8, 9), "linear")),
        (lambda: T.AlignFaces(8, np.array([[1, 1], [5, 5]])), T.AlignFaces(8, ((1, 1), (5, 5)))),
    ],
)
def test_arguments_of_configurations_are_those_of_python(make, expected):
    assert make() == expected
    assert repr(make()) == repr(expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: T.Resize(np.float32(16)), ValueError, r"but got np.float32\(16.0\), a float32"),
        (lambda: T.Resize(np.bool_(True)), TypeError, r"but got np.True_, a bool"),
        (
            lambda: T.RandomInvert(np.float32(2)),
            ValueError,
            r"but got np.float32\(2.0\), a float32",
        ),
        (lambda: T.RandomInvert(decimal.Decimal("0.5")), TypeError, r"but got Decimal\('0.5'\), a Decimal"),
        (lambda: T.RandomInvert(np.array([0.5])), ValueError, r"but got array\(\[0.5\]\), a ndarray"),
        (lambda: T.RandomInvert(10**400), ValueError, "RandomInvert: expected p as a number from 0 to 1"),
        (lambda: T.RandomInvert(0.5j), TypeError, r"but got 0.5j, a complex"),
        (lambda: T.Normalize("0.5", 1), ValueError, "but got '0.5'"),
        (lambda: T.Normalize(b"ab", 1), TypeError, "but got b'ab', a bytes"),
        (lambda: T.Normalize({0.5}, 1), TypeError, r"but got \{0.5\}, a set"),
        (lambda: T.Normalize(np.zeros((1, 3)), 1), ValueError, "a number or several of them, but got array"),
        (
            lambda: T.ToDtype("uint8", np.int64(1)),
            ValueError,
            r"but got np.int64\(1\), a int64",
        ),
        (
            lambda: T.PadIfNeeded(8, position=np.array(["center"] * 2)),
            ValueError,
            "PadIfNeeded: expected position",
        ),
    ],
)
def test_refused_numbers_are_shown_with_their_type(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("region", [(0.25, 0.5, 0.25, 0.5), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)])
def test_a_region_may_be_a_point_or_a_line(region):
    assert checks.region("RandomShadow", "region", region) == region


@pytest.mark.parametrize("value", [np.int64(3), np.array(3), torch.tensor(3)])
@pytest.mark.parametrize("kind", [T.Pad, T.RandomShift])
def test_a_padding_mode_is_a_number_of_python(kind, value):
    transform = kind(2, padding_mode=value)
    assert transform == kind(2, padding_mode=3)
    pipeline = T.Compose([transform])
    assert T.Compose.from_json(pipeline.to_json()) == pipeline


def test_no_ignored_values_are_a_tuple():
    pipeline = T.Compose([T.CropNonEmptyMaskIfExists(8, ignore_values=[])])
    assert T.Compose.from_json(pipeline.to_json()) == pipeline == T.Compose([T.CropNonEmptyMaskIfExists(8)])
