"""The page lists every class of Albumentations, and whether it is converted."""

import inspect
import re
from operator import attrgetter
from pathlib import Path

import pytest

import orbbec
from orbbec import transforms as T
from orbbec.transforms.convert.albumentations import CONTAINERS
from orbbec.transforms.convert.albumentations_steps import MAKERS, NEAREST
from orbbec.transforms.convert.torchvision import _NEAREST

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "moving" / "albumentations.md"
CONVERTED = MAKERS.keys() | CONTAINERS.keys()
BASES = {
    *("BaseCompose", "BasicTransform", "DualTransform"),
    *("ImageOnlyTransform", "Transform3D", "VolumeOnlyTransform"),
}


def test_no_class_has_two_fates():
    assert not CONVERTED & NEAREST.keys()


def test_what_is_named_as_nearest_exists():
    for text in (*NEAREST.values(), *_NEAREST.values()):
        names = re.findall(r"functional\.\w+|orbbec\.\w+|(?<!=)\b[A-Z]\w+", text)
        assert names
        for name in names:
            assert attrgetter(name.removeprefix("orbbec."))(orbbec if name.startswith("orbbec") else T)


@pytest.mark.skipif(not PAGE.exists(), reason="the page is part of the repository")
def test_the_page_has_every_class_and_how_many_there_are():
    theirs = pytest.importorskip("albumentations")
    kinds = (theirs.BasicTransform, theirs.BaseCompose)
    known = {
        name for name, kind in vars(theirs).items() if inspect.isclass(kind) and issubclass(kind, kinds)
    } - BASES
    listed = (
        PAGE.read_text("utf-8").partition("## Every class")[2].partition("Of those that are converted")[0]
    )
    converted, refused, others = re.split(r"\n\d+ and \d+ are refused|\nThe others are refused", listed)
    refused = "".join(line.split("|")[1] for line in refused.splitlines() if line.startswith("|"))
    written = [set(re.findall(r"`(\w+)`", part)) & known for part in (converted, refused, others)]
    assert written == [known & CONVERTED, known & NEAREST.keys(), known - CONVERTED - NEAREST.keys()]
    assert f"{len(written[0])} of the {len(known)}" in converted
    index = int(hasattr(theirs, "LetterBox"))
    assert int(re.search(r"\n(\d+) and (\d+) are refused", listed)[1 + index]) == len(written[1])
