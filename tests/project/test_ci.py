"""Pull requests and commits are checked with the commands of the Makefile."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]


def test_a_pull_request_runs_make_lint_and_the_ci_script():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    assert "pull_request" in workflow[True]  # YAML 1.1 reads the key `on` as True
    commands = {step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step}
    assert commands == {"make lint", ".ci/run"}
    assert "exec make test" in (ROOT / ".ci" / "run").read_text()


def test_pre_commit_runs_every_check_of_make_lint():
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.M)[1]
    recipe = recipe.replace("$(clang_format)", re.search(r"^clang_format = (.*)", makefile, re.M)[1])
    checks = [check.removesuffix(" .") for check in re.findall(r"\$\(py\) (.*?)(?:; \\)?\n", recipe)]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    entries = [hook["entry"].removeprefix(".venv/bin/python ") for hook in hooks]
    assert [entry.replace(" --force-exclude", "") for entry in entries] == checks
