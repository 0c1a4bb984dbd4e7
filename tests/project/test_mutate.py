"""Mutations are small, local, and named by the contents of the line; survivors are distinguished."""

import json
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mutate
from mutations import Mutation, compiles, mutations_of

SOURCE = '''
def clamp(value, low, high, *, strict=True):
    """At most 9."""
    if value < low and strict:
        raise ValueError(f"{low + 1}")
    with lock:
        counts["used"] += 1
    check(value, high)
    ratio = np.rint(value[:, 0] / value.max(1))
    return min(high, value - 2, zip(low, high, strict=True))
'''
MUTATIONS = {(each.old, each.new): each for each in mutations_of("clamp.py", SOURCE)}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value < low", "(value <= low)"),
        ("value < low", "(value > low)"),
        ("value < low and strict", "((value < low) or (strict))"),
        ("value < low and strict", "False"),
        ("True", "False"),
        ("with lock:\n        ", "if True:\n        "),
        ('counts["used"] += 1', "pass"),
        ("check(value, high)", "pass"),
        ("check(value, high)", "check(high, value)"),
        ("min", "max"),
        ("value - 2", "((value) + (2))"),
        ("np.rint", "np.floor"),
        ("value[:, 0] / value.max(1)", "((value.max(1)) / (value[:, 0]))"),
        ("value[:, 0]", "value[:1, 0]"),
        ("value.max(1)", "value.max()"),
        ("2", "3"),
        ("2", "1"),
    ],
)
def test_each_kind_of_fault_is_made(old, new):
    changed = MUTATIONS[old, new].applied(SOURCE.encode())
    assert compiles(changed)
    assert changed.decode() == SOURCE.replace(old, new, 1)


def test_what_is_left_out_on_cuda_needs_a_gpu():
    source = "if image.is_cuda:\n    torch.cuda.synchronize()\n    image = kernel(image, cuda=False)\n"
    assert [m.new for m in mutations_of("m.py", source) if m.needs_cuda] == ["False", "pass"]
    assert not any(m.needs_cuda for m in mutations_of("m.py", "if not torch.cuda.is_available(): return"))


def test_messages_and_docstrings_are_left_alone():
    assert not {old for old, _ in MUTATIONS} & {"9", "low + 1"}
    assert ("zip(low, high, strict=True)", "zip(low, high)") not in MUTATIONS
    assert [each.line for each in MUTATIONS.values() if each.line in (3, 5)] == []


def test_arguments_of_which_none_is_the_first_are_not_swapped():
    for source in (
        *("x = np.maximum(a, b)", "x = max(a, b)", "x = np.union1d(a, b)", "register(a, b)"),
        *("with suppress(a, b): x", "T = TypeVar('T', B)"),
    ):
        assert not [each for each in mutations_of("m.py", source) if "b, a" in each.new]
    assert [each.new for each in mutations_of("m.py", "x = zip(a, b)")] == ["zip(b, a)"]


def test_how_long_a_program_waits_is_no_fault():
    source = "sleep(2 * PAUSE)\ntime.sleep(0.5)\nhere = there.to(device, non_blocking=True)\n"
    assert not mutations_of("wait.py", source)
    assert [each.new for each in mutations_of("wait.py", "x = perf_counter() - a < b")][:1] == [
        "(perf_counter() - a > b)"
    ]


def test_the_side_that_reshape_infers_is_left_alone():
    assert {each.old for each in mutations_of("m.py", "x = y.reshape(-1, 4)[-1]")} & {"-1", "4"} == {
        "-1",
        "4",
    }
    assert [each.old for each in mutations_of("m.py", "x = y.reshape(-1)")] == []


def test_arrays_without_entries_are_no_ones():
    for source in ("x = np.zeros((0, 4), bool)", "x = torch.zeros(0)"):
        assert not [each for each in mutations_of("m.py", source) if "ones" in each.new]
    assert [each.new for each in mutations_of("m.py", "x = np.zeros((n, 4))")][:1] == ["np.ones"]


def test_tests_that_read_all_files_are_tried_on_every_mutation():
    names = ["a/b/tests/t.py::t", *(f"{path}::t" for path in mutate.OF_SOURCES)]
    coverage = mutate.Coverage(names, dict.fromkeys(names, 0.1), set(), {"a/b/m.py": {7: [0]}})
    mutation = Mutation("a/b/m.py", 7, 7, 0, 1, "x", "y", "x", True)
    assert coverage.tests_of(mutation) == (names[:1], names[1:])


def test_a_key_holds_where_lines_move():
    moved = {each.key for each in mutations_of("clamp.py", "import os\n" + SOURCE)}
    assert moved == {each.key for each in mutations_of("clamp.py", SOURCE)}


def test_tests_near_to_a_mutation_come_first_and_of_each_function_the_fastest(monkeypatch):
    seconds = {
        "a/b/tests/t.py::x[1]": 0.5,
        "a/b/tests/t.py::x[2]": 0.1,
        "a/b/tests/t.py::y": 0.2,
        "a/b/c/t.py::z": 0.01,
        "d/t.py::z": 0.01,
        "d/t.py::broken": 0.0,
    }
    names = list(seconds)
    coverage = mutate.Coverage(names, seconds, {names[-1]}, {"a/b/c/m.py": {7: [*range(6)]}})
    mutation = Mutation("a/b/c/m.py", 7, 7, 0, 1, "x", "y", "x", True)
    assert coverage.tests_of(mutation) == ([names[3], names[1], names[2], names[0]], [names[4]])
    monkeypatch.setattr(mutate, "SECONDS_OF_TESTS", 0.35)
    assert coverage.tests_of(mutation) == ([names[3], names[1], names[2]], [names[4]])


def test_what_a_test_reaches_stays_known_after_a_fork(tmp_path):
    pytest.importorskip("coverage")
    source = tmp_path / "a/half.py"
    source.parent.mkdir()
    source.write_text("def half(x):\n    return x // 2\n")
    recorder = mutate.Recorder(tmp_path, ["a"])
    recorder.result.seconds = {"one": 0.1}
    recorder.coverage.start()
    recorder.coverage.switch_context("one")
    scope = {}
    exec(compile(source.read_text(), source, "exec"), scope)
    assert scope["half"](9) == 4
    recorder.coverage.switch_context("other")
    if (child := os.fork()) == 0:
        recorder.coverage.save()
        os._exit(0)
    os.waitpid(child, 0)
    recorder.coverage.stop()
    assert recorder.finish().lines["a/half.py"][2] == [0]


def test_a_line_that_only_imports_run_is_tried_on_the_tests_of_its_file_and_its_folder():
    names = ["a/b/tests/t.py::near", "b/tests/t.py::reaches", "b/tests/t.py::far"]
    coverage = mutate.Coverage(names, dict.fromkeys(names, 0.1), set(), {"a/b/m.py": {7: [1]}})
    mutation = Mutation("a/b/m.py", 3, 3, 0, 1, "x", "y", "x", False)
    assert coverage.tests_of(mutation) == (names[:1], names[1:2])


def test_a_mutation_is_killed_by_a_test_of_its_folder_or_elsewhere_and_another_survives(tmp_path):
    source = tmp_path / "a/b/half.py"
    source.parent.mkdir(parents=True)
    source.write_text("def half(x):\n    return x // 2 + 0 * x\n")
    found = {each.new: each for each in mutations_of("a/b/half.py", source.read_text())}

    def outcome(folder, change):
        test = tmp_path / folder / "test_half.py"
        test.parent.mkdir(exist_ok=True)
        test.write_text("from a.b.half import half\n\ndef test(): assert half(9) == 4\n")
        name = f"{folder}/test_half.py::test"
        coverage = mutate.Coverage([name], {name: 0.1}, set(), {"a/b/half.py": {2: [0]}})
        return mutate.outcome(tmp_path, found[change], coverage)

    assert outcome("a/b", "((x) * (2))") == ("killed", 1)
    assert outcome("c", "((x) * (2))") == ("elsewhere", 1)
    assert outcome("c", "((x // 2) - (0 * x))") == ("survived", 1)
    assert source.read_text() == "def half(x):\n    return x // 2 + 0 * x\n"


def test_every_reason_names_a_mutation_that_there_is():
    for file, line, change in mutate.reasons():
        keys = {each.key for each in mutations_of(file, (ROOT / file).read_text())}
        assert (file, line, change) in keys | {(*key[:2], "*") for key in keys}
    entries = json.loads(mutate.REASONS.read_text())
    assert all(len(entry["reason"]) > 20 for entry in entries)
