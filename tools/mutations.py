"""Small faults in Python source: a flipped comparison, a changed constant, a missing check or lock.

`tools/mutate.py` tries them on the tests. A mutation replaces the text of one node.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS = {
    **{ast.Lt: ("<=", ">"), ast.LtE: ("<", ">"), ast.Gt: (">=", "<"), ast.GtE: (">", "<")},
    **{ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",)},
    **{ast.In: ("not in",), ast.NotIn: ("in",)},
}
ARITHMETIC = {
    **{ast.Add: ("-",), ast.Sub: ("+",), ast.Mult: ("/",), ast.Div: ("*",), ast.FloorDiv: ("*",)},
    **{ast.Mod: ("//",), ast.BitAnd: ("|",), ast.BitOr: ("&",), ast.LShift: (">>",), ast.RShift: ("<<",)},
}
OPPOSITES = {
    **{"min": "max", "max": "min", "any": "all", "all": "any"},
    **{"floor": "ceil", "ceil": "floor", "minimum": "maximum", "maximum": "minimum"},
    **{"cumsum": "cumprod", "argmin": "argmax", "argmax": "argmin", "append": "count", "zeros": "ones"},
    **{"rint": "floor", "trunc": "floor", "round": "int"},
}
SYMMETRIC = ("min", "max", "minimum", "maximum", "array_equal", "union1d", "suppress", "register")
REDUCTIONS = ("min", "max", "any", "all", "sum", "prod", "mean")
# Keywords that repeat defaults, select the line that a warning names, let the host not wait, or lay out text.
NO_FAULTS = ("strict", "stacklevel", "non_blocking", "indent")
# Their contents do not run, or are text for people.
SKIPPED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign, ast.Delete)


@dataclass(frozen=True)
class Mutation:
    """A change of one file, from byte `start` to byte `end`."""

    file: str
    line: int
    last_line: int
    start: int
    end: int
    old: str
    new: str
    source_line: str
    in_function: bool

    @property
    def key(self) -> tuple[str, str, str]:
        """A name that does not depend on the position in the file."""
        return self.file, self.source_line, f"{' '.join(self.old.split())} -> {self.new}"

    @property
    def needs_cuda(self) -> bool:
        """Whether only a GPU shows it: what is done on CUDA is left out."""
        is_left_out = self.new in ("False", "pass") or self.new.startswith("if True:")
        return is_left_out and "cuda" in self.old and "is_available" not in self.old

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


class Finder:
    """Lists the mutations of a file."""

    def __init__(self, file: str, source: str) -> None:
        self.file = file
        self.bytes = source.encode()
        self.lines = source.splitlines()
        self.starts = [0]
        for line in self.bytes.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutation] = []
        self._visit(ast.parse(source), in_function=False)

    def _offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def _add(self, node: ast.AST, new: str, in_function: bool, until: ast.AST | None = None) -> None:
        """Replace a node, or the source from it up to `until`."""
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        if until is not None:
            end = self._offset(until.lineno, until.col_offset)
        old = self.bytes[start:end].decode()
        if old.split() != new.split():
            self.found.append(
                Mutation(
                    *(self.file, node.lineno, node.end_lineno if until is None else node.lineno),
                    *(start, end, old, new, self.lines[node.lineno - 1].strip(), in_function),
                )
            )

    def _visit(self, node: ast.AST, in_function: bool) -> None:
        if isinstance(node, SKIPPED) or _is_for_types(node) or _is_no_fault(node):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is not None:
            method(node, in_function)
        for child in _children(node):
            self._visit(child, in_function or isinstance(node, (ast.FunctionDef, ast.Lambda)))

    def _of_compare(self, node: ast.Compare, within: bool) -> None:
        if len(node.ops) == 1:
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            reads_clock = "perf_counter()" in left  # which never shows the bound itself
            for op in COMPARISONS[type(node.ops[0])][reads_clock:]:
                self._add(node, f"({left} {op} {right})", within)

    def _of_binop(self, node: ast.BinOp, within: bool) -> None:
        if isinstance(node.left, (ast.JoinedStr, ast.Constant)) and isinstance(node.op, ast.Mod):
            return
        for op in ARITHMETIC.get(type(node.op), ()):
            self._add(node, f"(({ast.unparse(node.left)}) {op} ({ast.unparse(node.right)}))", within)
        if isinstance(node.op, ast.Div):
            self._add(node, f"(({ast.unparse(node.right)}) / ({ast.unparse(node.left)}))", within)

    def _of_boolop(self, node: ast.BoolOp, within: bool) -> None:
        op = " or " if isinstance(node.op, ast.And) else " and "
        self._add(node, f"({op.join(f'({ast.unparse(value)})' for value in node.values)})", within)

    def _of_unaryop(self, node: ast.UnaryOp, within: bool) -> None:
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            self._add(node, f"({ast.unparse(node.operand)})", within)

    def _of_constant(self, node: ast.Constant, within: bool) -> None:
        if isinstance(node.value, bool):
            self._add(node, str(not node.value), within)
        elif isinstance(node.value, int):
            self._add(node, str(node.value + 1), within)
            if node.value > 0:
                self._add(node, str(node.value - 1), within)
        elif isinstance(node.value, float):
            self._add(node, repr(node.value * 2 or 1.0), within)

    def _of_subscript(self, node: ast.Subscript, within: bool) -> None:
        """Read the first row alone, whose values serve all where they are broadcast."""
        text, whole = ast.unparse(node), f"{ast.unparse(node.value)}[:"
        if isinstance(node.ctx, ast.Load) and text.startswith((f"{whole},", f"{whole}]")):
            self._add(node, f"{whole}1{text.removeprefix(whole)}", within)

    def _of_call(self, node: ast.Call, within: bool) -> None:
        name = node.func
        if isinstance(name, ast.Attribute) and name.attr in REDUCTIONS and len(node.args) == 1:
            self._add(node, f"{ast.unparse(name)}()", within)
        if isinstance(name, ast.Name) and name.id in OPPOSITES:
            self._add(name, OPPOSITES[name.id], within)
        if isinstance(name, ast.Attribute) and name.attr in OPPOSITES and not _has_no_entries(node):
            self._add(name, f"{ast.unparse(name.value)}.{OPPOSITES[name.attr]}", within)
        plain = not any(isinstance(each, ast.Starred) for each in node.args)
        called = ast.unparse(name).rpartition(".")[2]
        if len(node.args) >= 2 and plain and called not in ("isinstance", *SYMMETRIC):
            first, second, *rest = node.args
            swapped = ast.Call(name, [second, first, *rest], node.keywords)
            self._add(node, ast.unparse(swapped), within)
        for keyword in node.keywords:
            if keyword.arg not in (None, *NO_FAULTS):
                kept = [each for each in node.keywords if each is not keyword]
                self._add(node, ast.unparse(ast.Call(name, node.args, kept)), within)

    def _of_if(self, node: ast.If, within: bool) -> None:
        """Remove a check, or negate a condition."""
        if isinstance(node.test, (ast.Name, ast.Attribute, ast.Call)):
            self._add(node.test, f"(not {ast.unparse(node.test)})", within)
        self._add(node.test, "False", within)

    def _of_ifexp(self, node: ast.IfExp, within: bool) -> None:
        if not isinstance(node.test, ast.Compare):
            self._add(node.test, f"(not {ast.unparse(node.test)})", within)

    def _of_while(self, node: ast.While, within: bool) -> None:
        if not isinstance(node.test, ast.Constant):
            self._add(node.test, "False", within)

    def _of_with(self, node: ast.With, within: bool) -> None:
        """Leave out a lock or another context manager."""
        if all(item.optional_vars is None for item in node.items):
            self._add(node, "if True:\n" + " " * node.body[0].col_offset, within, until=node.body[0])

    def _of_expr(self, node: ast.Expr, within: bool) -> None:
        if isinstance(node.value, ast.Call):
            self._add(node, "pass", within)

    def _of_augassign(self, node: ast.AugAssign, within: bool) -> None:
        self._add(node, "pass", within)

    def _of_continue(self, node: ast.Continue, within: bool) -> None:
        self._add(node, "break", within)

    def _of_break(self, node: ast.Break, within: bool) -> None:
        self._add(node, "pass", within)

    def _of_assign(self, node: ast.Assign, within: bool) -> None:
        if within and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            self._add(node, "pass", within)


def _is_no_fault(node: ast.AST) -> bool:
    """Whether no test should notice a change, such as how long a loop sleeps."""
    call = node.value if isinstance(node, ast.Expr) else node
    sleeps = isinstance(call, ast.Call) and ast.unparse(call.func) in ("sleep", "time.sleep")
    return sleeps or (isinstance(node, ast.keyword) and node.arg in NO_FAULTS)


def _has_no_entries(call: ast.Call) -> bool:
    """Whether a call makes an array of a shape with a 0, in which zeros and ones are the same."""
    shape = call.args[0] if call.args else None
    sides = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)


def _is_for_types(node: ast.AST) -> bool:
    """Whether only type checkers read the node."""
    is_guard = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    names = {target.id for target in getattr(node, "targets", ()) if isinstance(target, ast.Name)}
    value = getattr(node, "value", None)
    is_variable = isinstance(value, ast.Call) and ast.unparse(value.func) == "TypeVar"
    return is_guard or is_variable or "__all__" in names


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that run: no annotations, decorators or type aliases."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_comment", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_inferred(node, child):
                yield child


def _is_inferred(node: ast.AST, argument: ast.AST) -> bool:
    """Whether an argument is the side that `reshape` infers; NumPy does for any number below 0."""
    is_reshape = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".reshape")
    return is_reshape and ast.unparse(argument) == "-1"


def mutations_of(file: str, source: str) -> list[Mutation]:
    """All mutations of a file; some may not compile."""
    found = {(each.start, each.end, each.new): each for each in Finder(file, source).found}
    return list(found.values())


def compiles(source: bytes) -> bool:
    try:
        compile(source, "mutated", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
