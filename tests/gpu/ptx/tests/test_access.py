"""Loads, stores and atomics of every type, space and width; and that no word of the decoder is untested."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

from tests.gpu.ptx.executor import HEADER, Fault, Module
from tests.gpu.ptx.tests.reference import bits_of, wrap

HERE = Path(__file__).parent
PTX = HERE.parent
PATTERN = np.frombuffer(bytes(range(0x7E, 0x8E)), np.uint8)  # signs of both kinds
TYPES = [f"{kind}{bits}" for bits in (8, 16, 32, 64) for kind in "bus"] + ["f32", "f64"]


def run(body, arrays, *, outside="", threads=1):
    """`body` with the arrays' addresses in %x0, %x1, ..."""
    params = ", ".join(f".param .u64 p_{i}" for i in range(len(arrays)))
    loads = " ".join(f"ld.param.u64 %x{i}, [p_{i}];" for i in range(len(arrays)))
    text = f"""{HEADER} {outside} .visible .entry k({params}) {{
      .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>, %x<9>; .reg .pred %p<3>;
      {loads} {body} ret; }}"""
    Module(text).launch("k", (1,), (threads,), arrays)


def widths(type_):
    return [bits for bits in (16, 32, 64) if bits >= bits_of(type_)]


def value_of(type_, width):
    """The pattern's first bytes as the type reads them, in a register of `width` bits."""
    value = int.from_bytes(PATTERN[: bits_of(type_) // 8].tobytes(), "little")
    return wrap(wrap(value, type_), f"u{width}")


REGISTERS = {16: "%h", 32: "%r", 64: "%d"}
CASES = [(type_, width) for type_ in TYPES for width in widths(type_)]


@pytest.mark.parametrize("space", ["global", "shared", "local", "const", "generic"])
@pytest.mark.parametrize(("type_", "width"), CASES)
def test_a_load_extends_to_its_register(type_, width, space):
    """From an array of 16 bytes that stands in each space."""
    name = {"global": "g", "const": "c", "shared": "s", "local": "l"}.get(space, "")
    values = ", ".join(map(str, PATTERN))
    outside = f".global .align 16 .b8 g[16] = {{{values}}}; .const .align 16 .b8 c[16] = {{{values}}};"
    body = ".shared .align 16 .b8 s[16]; .local .align 16 .b8 l[16];"
    if space in ("shared", "local"):
        for i in range(2):
            body += f"ld.global.u64 %d1, [%x0+{8 * i}]; st.{space}.u64 [{name}+{8 * i}], %d1;"
    where, prefix = ("%x0", "ld") if space == "generic" else (name, f"ld.{space}")
    register = REGISTERS[width]
    body += f"{prefix}.{type_} {register}1, [{where}];"
    out = np.zeros(1, f"u{width // 8}")
    run(f"{body} st.global.u{width} [%x1], {register}1;", [PATTERN.copy(), out], outside=outside)
    assert int(out[0]) == value_of(type_, width)


@pytest.mark.parametrize(("type_", "width"), CASES)
def test_a_parameter_extends_to_its_register(type_, width):
    """The parameter holds an address, whose bytes are looked at."""
    register, source = REGISTERS[width], np.zeros(1, np.uint64)
    out = np.zeros(1, f"u{width // 8}")
    run(f"ld.param.{type_} {register}1, [p_0]; st.global.u{width} [%x1], {register}1;", [source, out])
    assert int(out[0]) == wrap(wrap(source.ctypes.data, type_), f"u{width}")


@pytest.mark.parametrize(
    ("type_", "width", "count"),
    [(*case, count) for case in CASES for count in (1, 2, 4) if bits_of(case[0]) * count <= 128],
)
def test_a_store_cuts_its_registers(type_, width, count):
    size = bits_of(type_) // 8
    register = REGISTERS[width]
    names = ", ".join(f"{register}{i + 1}" for i in range(count))
    if count > 1:
        names = f"{{{names}}}"
    vector = "" if count == 1 else f".v{count}"
    body = f"ld.global{vector}.{type_} {names}, [%x0]; st.global{vector}.{type_} [%x1], {names};"
    out = np.zeros(32, np.uint8)  # aligned well enough: NumPy's arrays are at multiples of 16
    run(body, [PATTERN.copy(), out])
    assert out.tolist() == [*PATTERN[: size * count], *[0] * (32 - size * count)]


ATOMICS = {
    "add": lambda old, a, b: old + a,
    "min": lambda old, a, b: min(old, a),
    "max": lambda old, a, b: max(old, a),
    "exch": lambda old, a, b: a,
    "cas": lambda old, a, b: b if old == a else old,
    "inc": lambda old, a, b: 0 if old >= a else old + 1,
    "dec": lambda old, a, b: a if old == 0 or old > a else old - 1,
    "and": lambda old, a, b: old & a,
    "or": lambda old, a, b: old | a,
    "xor": lambda old, a, b: old ^ a,
}


@pytest.mark.parametrize("space", ["global", "shared", "generic"])
@pytest.mark.parametrize("form", ["atom", "red"])
@pytest.mark.parametrize(
    ("what", "type_"), list(itertools.product(ATOMICS, ["u32", "s32", "u64", "s64", "b32"]))
)
def test_atomics(what, type_, form, space):
    if type_[0] == "s" and what not in ("add", "min", "max"):
        with pytest.raises(Fault, match="this executor does not know"):
            run(f"red.global.{what}.{type_} [%x0], 1;", [np.zeros(1, np.uint64)])
        return
    bits = bits_of(type_)
    edges = [wrap(x, type_) for x in (0, 1, 5, -1, 1 << (bits - 1), (1 << (bits - 1)) - 1)]
    register = REGISTERS[bits]
    dot = "" if space == "generic" else f".{space}"
    where = "s" if space == "shared" else "%x0"
    for old, a in itertools.product(edges, edges):
        b = wrap(77, type_)
        memory = np.array([old], f"{'i' if type_[0] == 's' else 'u'}{bits // 8}")
        result = np.zeros_like(memory)
        body = f".shared .align 8 .b8 s[8]; ld.global.u{bits} {register}1, [%x0];"
        if space == "shared":
            body += f"st.shared.u{bits} [s], {register}1;"
        operands = f"{a}, {b}" if what == "cas" else f"{a}"
        target = f"{register}2, " if form == "atom" else ""
        body += f"{form}{dot}.{what}.{type_} {target}[{where}], {operands};"
        if form == "atom":
            body += f"st.global.u{bits} [%x1], {register}2;"
        if space == "shared":
            body += f"ld.shared.u{bits} {register}3, [s]; st.global.u{bits} [%x0], {register}3;"
        run(body, [memory, result])
        assert int(memory[0]) == wrap(ATOMICS[what](old, a, b), type_)
        assert form == "red" or int(result[0]) == old


@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_atomic_sums_of_floats(type_):
    dtype = {"f32": np.float32, "f64": np.float64}[type_]
    register = REGISTERS[bits_of(type_)]
    memory, old, step = np.array([1], dtype), np.zeros(1, dtype), np.array([0.1], dtype)
    body = f"ld.global.{type_} {register}1, [%x2]; atom.global.add.{type_} {register}2, [%x0], {register}1;"
    run(f"{body} st.global.{type_} [%x1], {register}2; red.global.add.{type_} [%x0], {register}1;",
        [memory, old, step])  # fmt: skip
    assert (memory[0], old[0]) == (dtype(1) + dtype(0.1) + dtype(0.1), 1)


@pytest.mark.parametrize("strong", ["volatile", "relaxed.gpu", "acquire.sys", "mmio.relaxed.sys"])
def test_strong_loads_and_cache_hints(strong):
    out = np.zeros(2, np.uint32)
    store = {"acquire.sys": "release.sys"}.get(strong, strong)
    body = f"st.{store}.global.u32 [%x0], 5; ld.{strong}.global.u32 %r1, [%x0];"
    body += "ld.global.nc.u32 %r2, [%x1]; ldu.global.u32 %r3, [%x1]; ld.global.cg.u32 %r4, [%x1];"
    body += "add.u32 %r2, %r2, %r3; add.u32 %r2, %r2, %r4; add.u32 %r1, %r1, %r2;"
    run(f"{body} st.weak.global.wt.u32 [%x0+4], %r1;", [out, np.ones(1, np.uint32)])
    assert out.tolist() == [5, 8]


@pytest.mark.parametrize("fence", ["membar.gl;", "fence.acq_rel.gpu;"])
def test_a_fence_lets_blocks_order_themselves(fence):
    """Without it, that two blocks write one byte is a race."""
    out = np.zeros(1, np.uint32)
    text = f"{HEADER} .visible .entry k(.param .u64 p_0) {{ .reg .b64 %x; ld.param.u64 %x, [p_0];"
    Module(f"{text} st.global.u32 [%x], 3; {fence} ret; }}").launch("k", (2,), (1,), [out])
    assert out[0] == 3
    with pytest.raises(Fault, match="a race"):
        Module(f"{text} st.global.u32 [%x], 3; exit; }}").launch("k", (2,), (1,), [out])


def test_special_registers_know_the_thread_and_its_masks():
    names = [f"{what}.{axis}" for what in ("%tid", "%ntid", "%ctaid", "%nctaid") for axis in "xyz"]
    names += ["%laneid", "%warpid", "%lanemask_eq", "%lanemask_lt", "%lanemask_le", "%lanemask_gt"]
    names += ["%lanemask_ge"]
    blocks, threads = (2, 3, 4), (5, 3, 4)
    out = np.zeros((24, 60, len(names)), np.uint32)
    stores = "".join(
        f"mov.u32 %r0, {name}; st.global.u32 [%x0+{4 * i}], %r0;" for i, name in enumerate(names)
    )
    body = """
      mov.u32 %r1, %ctaid.z; mov.u32 %r2, %ctaid.y; mad.lo.u32 %r1, %r1, 3, %r2; mov.u32 %r2, %ctaid.x;
      mad.lo.u32 %r1, %r1, 2, %r2; mov.u32 %r2, %tid.z; mad.lo.u32 %r1, %r1, 4, %r2; mov.u32 %r2, %tid.y;
      mad.lo.u32 %r1, %r1, 3, %r2; mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 5, %r2;
    """
    text = f"{HEADER} .visible .entry k(.param .u64 p_0) {{ .reg .b32 %r<3>; .reg .b64 %x<1>; "
    text += f"ld.param.u64 %x0, [p_0]; {body} mad.wide.u32 %x0, %r1, {4 * len(names)}, %x0; {stores} ret; }}"
    Module(text).launch("k", blocks, threads, [out])
    for block, thread in itertools.product(range(24), range(60)):
        lane = thread % 32
        expected = [thread % 5, thread // 5 % 3, thread // 15, *threads]
        expected += [block % 2, block // 2 % 3, block // 6, *blocks, lane, thread // 32]
        expected += [
            1 << lane,
            (1 << lane) - 1,
            (2 << lane) - 1,
            (1 << 32) - (2 << lane),
            (1 << 32) - (1 << lane),
        ]
        assert out[block, thread].tolist() == expected


HINTS = ("ca", "cg", "cs", "cv", "lu", "cta", "cluster", "gpu", "sys", "nc")


def test_cache_hints_and_scopes_change_nothing():
    out = np.zeros(1, np.uint32)
    loads = "".join(f"ld.global.{hint}.u32 %r2, [%x1]; add.u32 %r1, %r1, %r2;" for hint in HINTS)
    stores = "".join(f"st.global.{hint}.u32 [%x0], %r1;" for hint in ("wb", "wt", "cg", "cs"))
    atomics = "".join(f"red.acq_rel.{scope}.global.add.u32 [%x0], 1;" for scope in ("cta", "cluster"))
    run(f"mov.u32 %r1, 0; {loads} {stores} {atomics}", [out, np.ones(1, np.uint32)])
    assert out[0] == len(HINTS) + 2


def test_no_word_of_the_decoder_is_untested():
    """Each part of an opcode that the sources compare with occurs in a program of these tests."""
    sources = [
        PTX / f"{name}.cpp" for name in ("decode/decode", "decode/decode_statements", "access", "warp")
    ]
    code = re.sub(r"#include.*", "", "\n".join(path.read_text() for path in sources))
    literals = re.findall(r'"(%?[a-z_0-9.]+)"', code)
    tests = "\n".join(path.read_text() for path in (*HERE.glob("test_*.py"), HERE / "reference.py"))
    words = {word for literal in literals for word in literal.split(".") if word}
    unknown = [word for word in words if not re.search(rf"(?<![a-z_]){word}(?![a-z_0-9])", tests)]
    assert sorted(unknown) == []
