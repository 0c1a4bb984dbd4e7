"""Tensors of the package are made on a named device: torch's default is for the tensors of users."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "orbbec"
# Functions that take torch's default device unless they are told another.
ON_DEFAULT_DEVICE = frozenset(
    [
        "arange",
        "as_tensor",
        "asarray",
        "bartlett_window",
        "blackman_window",
        "empty",
        "empty_permuted",
        "empty_quantized",
        "empty_strided",
        "eye",
        "full",
        "hamming_window",
        "hann_window",
        "kaiser_window",
        "linspace",
        "load",
        "logspace",
        "nested_tensor",
        "normal",
        "ones",
        "rand",
        "randint",
        "randn",
        "randperm",
        "range",
        "scalar_tensor",
        "sparse_bsc_tensor",
        "sparse_bsr_tensor",
        "sparse_compressed_tensor",
        "sparse_coo_tensor",
        "sparse_csc_tensor",
        "sparse_csr_tensor",
        "tensor",
        "tril_indices",
        "triu_indices",
        "zeros",
        "Generator",
    ]
)
# Those of them that take torch's default dtype whatever their arguments are.
OF_DEFAULT_DTYPE = frozenset(
    [
        "empty",
        "empty_strided",
        "eye",
        "linspace",
        "logspace",
        "ones",
        "rand",
        "randn",
        "scalar_tensor",
        "zeros",
    ]
)
TYPES = {"Generator"}  # also named in annotations
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if "tests" not in path.parts]


def incomplete(source, keyword, functions):
    """The lines of references to torch's `functions` that are neither calls nor partials with `keyword`."""
    nodes = list(ast.walk(ast.parse(source)))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    named = {
        id(function)
        for call in calls
        if any(argument.arg == keyword for argument in call.keywords)
        for function in (call.func, *call.args[:1])
    }
    called = {id(call.func) for call in calls}
    imported = {
        alias.name: node.lineno
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "torch"
        for alias in node.names
    }
    lines = [line for name, line in imported.items() if name in functions]
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr not in functions or id(node) in named:
            continue
        is_torch = isinstance(node.value, ast.Name) and node.value.id == "torch"
        if is_torch and (node.attr not in TYPES or id(node) in called):
            lines.append(node.lineno)
    return sorted(lines)


@pytest.mark.parametrize(
    ("keyword", "functions"), [("device", ON_DEFAULT_DEVICE), ("dtype", OF_DEFAULT_DTYPE)]
)
def test_every_factory_call_names_its_device_and_dtype(keyword, functions):
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{line}: expected {keyword}="
        for path in FILES
        for line in incomplete(path.read_text(), keyword, functions)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("torch.empty(3)", [1]),
        ("torch.empty(3, device='cpu')", []),
        ("torch.empty(\n  torch.zeros(2),\n  device='cpu')", [2]),
        ("partial(torch.zeros, dtype=torch.uint8)", [1]),
        ("partial(torch.zeros, device=x.device)", []),
        ("make = torch.arange", [1]),
        ("from torch import Tensor, tensor", [1]),
        ("x: torch.Generator = torch.Generator()", [1]),
        ("x: torch.Generator | None = torch.Generator(device='cpu')", []),
        ("np.empty(3), x.new_empty(3), torch.from_numpy(y), torch.empty_like(x)", []),
    ],
)
def test_a_call_without_a_device_is_found(source, lines):
    assert incomplete(source, "device", ON_DEFAULT_DEVICE) == lines
