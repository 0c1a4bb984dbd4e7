"""The pages of parity match their data and the libraries that the tests need."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts" / "parity"))
from summary import write_report

PEERS = json.loads((ROOT / "docs" / "parity" / "peers.json").read_text())


@pytest.mark.parametrize("page", ["parity.md", "parity_cells.md"])
def test_a_page_is_written_from_its_data(page, tmp_path):
    shutil.copytree(ROOT / "docs" / "parity", tmp_path / "parity")
    write_report(tmp_path)
    assert (tmp_path / "project" / page).read_text() == (ROOT / "docs" / "project" / page).read_text()


@pytest.mark.parametrize("name", ["Albumentations", "AlbumentationsX", "Ray"])
def test_the_versions_of_the_page_are_those_that_the_tests_ask_for(name):
    """`make parity` records them again."""
    pinned = (ROOT / "requirements" / f"{name.lower()}.txt").read_text()
    assert PEERS[name]["version"] == re.search(r"^\w+(?:\[\w+\])?==(\S+)$", pinned, re.MULTILINE)[1]


def test_torchvision_of_the_page_is_one_that_the_switch_was_tested_with():
    source = (ROOT / "orbbec" / "backends" / "torchvision" / "switch.py").read_text()
    tested = re.search(r"^TESTED = \((.*)\)", source, re.MULTILINE)[1]
    assert f'"{PEERS["torchvision"]["version"].rsplit(".", 1)[0]}"' in tested
