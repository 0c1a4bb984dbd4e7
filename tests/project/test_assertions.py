"""Every test asserts something, itself or by the functions of its file that it calls."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHECKS = {"raises", "warns", "opcheck", "gradcheck", "gradgradcheck"}  # besides those named assert_...


def asserts(function, helpers=frozenset()):
    """Whether a function contains an assertion, or calls one of `helpers`."""
    for node in ast.walk(function):
        if isinstance(node, (ast.Assert, ast.Raise)):
            return True
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name.startswith("assert_") or name in CHECKS | helpers:
                return True
    return False


def without_assertion(source):
    """The names of the tests of a file that assert nothing."""
    functions = {node.name: node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    found, helpers = {name for name, function in functions.items() if asserts(function)}, set()
    while found - helpers:
        helpers |= found
        found = {name for name, function in functions.items() if asserts(function, helpers)}
    return {name for name in functions.keys() - helpers if name.startswith("test_")}


def test_every_test_asserts_something():
    files = [file for folder in ("orbbec", "tests") for file in (ROOT / folder).rglob("test_*.py")]
    silent = {str(file.relative_to(ROOT)): without_assertion(file.read_text()) for file in files}
    assert {file: names for file, names in silent.items() if names} == {}


def test_a_test_that_only_calls_is_found():
    source = """
def test_silent(): run()
def test_own(): assert run()
def test_helped(): compared()
def compared(): equal()
def equal(): assert_same_bytes(1, 2)
"""
    assert without_assertion(source) == {"test_silent"}
