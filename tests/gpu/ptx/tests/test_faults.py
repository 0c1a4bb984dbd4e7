"""The faults that the executor names, and control flow that is none."""

import numpy as np
import pytest

from tests.gpu.ptx.executor import HEADER, Fault, Module

U4 = np.uint32


def run(body, arrays, *, threads=32, blocks=1, shared_bytes=0, outside=""):
    """Runs a kernel of the arrays p_0, p_1, ..., whose addresses are %x0, %x1, ..."""
    params = ", ".join(f".param .u64 p_{i}" for i in range(len(arrays)))
    loads = " ".join(f"ld.param.u64 %x{i}, [p_{i}];" for i in range(len(arrays)))
    text = f"""{HEADER}
.file 1 "/somewhere/kernel.cu"
{outside}
.visible .entry k({params})
{{
  .reg .b32 %r<20>; .reg .b64 %x<9>, %a<9>; .reg .pred %p<9>;
  {loads}
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %a0, %r0, 4;
  {body}
  ret;
}}
"""
    Module(text).launch("k", (blocks,), (threads,), arrays, shared_bytes)


def ints(count=32):
    return np.zeros(count, U4)


def test_threads_write_their_number():
    out = ints(64)
    run("add.s64 %a1, %x0, %a0; st.global.u32 [%a1], %r0;", [out], threads=64)
    assert out.tolist() == list(range(64))


@pytest.mark.parametrize(
    ("access", "report"),
    [
        (
            "st.global.u32 [%a1+4], 1;",
            r"thread \(31, 0, 0\) of block \(0, 0, 0\) accesses 4 bytes at offset 128 of 128",
        ),
        ("ld.global.u32 %r1, [%a1+-4];", r"thread \(0, 0, 0\) .* accesses 4 bytes"),
        ("ld.u64 %a2, [%a1];", r"thread \(1, 0, 0\) .* 8 bytes at the misaligned address"),
        ("ld.global.v2.u32 {%r1, %r2}, [%a1];", r"8 bytes at the misaligned address"),
        ("atom.global.add.u32 %r1, [%a1+2], 1;", r"4 bytes at the misaligned address"),
        ("st.global.u32 [%a0], 1;", "outside of all allocations"),
    ],
)
def test_addresses_are_checked(access, report):
    body = f".loc 1 77 3\nadd.s64 %a1, %x0, %a0; {access}"
    with pytest.raises(Fault, match=report) as raised:
        run(body, [ints()])
    assert "at kernel.cu:77 in k" in str(raised.value)


def test_memory_after_the_launch_is_unknown():
    first, second = ints(), ints()
    body = f"mov.u64 %a1, {first.ctypes.data}; st.global.u32 [%a1], 1;"
    with pytest.raises(Fault, match="accesses 4 bytes"):
        run(body, [second], threads=1)


SHARED = "mov.u32 %r1, part; add.u32 %r1, %r1, %r2; "
REVERSE = """
  .shared .align 4 .b8 part[128];
  mov.u32 %r1, part; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2;
  .loc 1 10 1
  st.shared.u32 [%r3], %r0;
  {barrier}
  sub.u32 %r4, 124, %r2; add.u32 %r4, %r4, %r1;
  .loc 1 20 1
  ld.shared.u32 %r5, [%r4];
  add.s64 %a1, %x0, %a0; st.global.u32 [%a1], %r5;
"""


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 0;", "bar.warp.sync 0xffffffff;"])
def test_a_barrier_orders_shared_memory(barrier):
    out = ints()
    run(REVERSE.format(barrier=barrier), [out])
    assert out.tolist() == list(range(31, -1, -1))


@pytest.mark.parametrize("instead", ["", "vote.sync.any.pred %p1, %p1, 0xffffffff;"])
def test_a_missing_barrier_is_a_race(instead):
    report = r"thread \(0, 0, 0\) .* reads a byte of shared memory that thread \(31, 0, 0\) .* writes at "
    with pytest.raises(Fault, match=report + r"kernel.cu:10, .*: a race, at kernel.cu:20"):
        run(REVERSE.format(barrier=instead), [ints()])


def test_a_write_after_a_read_is_a_race_but_not_after_a_vote():
    """A lane that votes has its values; its writes may still be on their way."""
    body = """
      add.s64 %a1, %x0, %a0;
      ld.global.u32 %r1, [%x0];
      setp.eq.u32 %p1, %r1, 0;
      {vote}
      setp.eq.u32 %p2, %r0, 5;
      @%p2 st.global.u32 [%x0], 7;
    """
    with pytest.raises(Fault, match=r"thread \(5, 0, 0\) .* writes a byte of global memory"):
        run(body.format(vote=""), [ints()])
    out = ints()
    run(body.format(vote="vote.sync.ballot.b32 %r2, %p1, 0xffffffff;"), [out])
    assert out[0] == 7


@pytest.mark.parametrize(
    ("body", "is_race"),
    [
        ("st.global.u32 [%x0], 7;", True),
        ("atom.global.add.u32 %r1, [%x0], 1;", False),
        ("red.global.add.u32 [%x0], 1;", False),
        ("ld.global.u32 %r1, [%x0];", False),
        ("red.global.add.u32 [%x0], 1; ld.global.u32 %r1, [%x0];", True),
        ("ld.global.u32 %r1, [%x0]; red.global.add.u32 [%x0], 1;", True),
        ("red.global.add.u32 [%x0], 1; ld.volatile.global.u32 %r1, [%x0];", False),
    ],
)
def test_races_between_blocks(body, is_race):
    out = ints()
    if is_race:
        with pytest.raises(Fault, match=r"of block \(1, 0, 0\) .* of block \(0, 0, 0\) .*: a race"):
            run(body, [out], threads=1, blocks=2)
    else:
        run(body, [out], threads=1, blocks=2)
        assert out[0] == (2 if "add" in body else 0)


def test_launches_do_not_race_with_each_other():
    out = ints()
    for block in range(2):
        body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, {0}; @%p1 st.global.u32 [%x0], 7{0};"
        run(body.format(block), [out], threads=1, blocks=2)
        assert out[0] == 70 + block


@pytest.mark.parametrize("access", ["ld.shared.u32 %r3, [%r2+4];", "atom.shared.add.u32 %r3, [%r2+4], 1;"])
def test_shared_memory_that_nobody_wrote(access):
    body = f".shared .b32 part[2]; mov.u32 %r2, part; st.shared.u32 [%r2], 1; {access}"
    with pytest.raises(Fault, match="reads shared memory that no thread of the block has written"):
        run(body, [ints()], threads=1)


def test_shared_memory_of_the_last_block_is_gone():
    body = """
      .shared .b32 part[1];
      mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, part;
      @%p1 st.shared.u32 [%r2], 1;
      ld.shared.u32 %r3, [%r2];
    """
    with pytest.raises(Fault, match=r"of block \(1, 0, 0\) reads shared memory"):
        run(body, [ints()], threads=1, blocks=2)


def test_dynamic_shared_memory_ends():
    outside = ".extern .shared .align 16 .b8 dynamic[];"
    body = "mov.u32 %r1, dynamic; add.u32 %r1, %r1, {at}; st.shared.u32 [%r1], 1;"
    run(body.format(at=60), [ints()], threads=1, shared_bytes=64, outside=outside)
    with pytest.raises(Fault, match="accesses 4 bytes at offset 64 of 64 bytes of shared memory"):
        run(body.format(at=64), [ints()], threads=1, shared_bytes=64, outside=outside)


def test_generic_addresses_reach_every_space():
    body = """
      .shared .b32 part[32]; .local .align 4 .b8 own[8];
      mov.u64 %a1, part; cvta.shared.u64 %a1, %a1; add.s64 %a1, %a1, %a0;
      mov.u64 %a2, own; cvta.local.u64 %a2, %a2;
      add.s64 %a3, %x0, %a0;
      st.u32 [%a1], %r0; ld.u32 %r1, [%a1]; st.u32 [%a2+4], %r1; ld.local.u32 %r2, [%a2+4];
      cvta.to.shared.u64 %a4, %a1; ld.shared.u32 %r3, [%a4]; add.u32 %r2, %r2, %r3;
      st.u32 [%a3], %r2;
    """
    out = ints()
    run(body, [out])
    assert out.tolist() == list(range(0, 64, 2))


def test_local_memory_of_another_thread():
    body = ".local .align 4 .b8 own[8]; mov.u64 %a2, own; st.local.u32 [%a2+8], 1;"
    with pytest.raises(Fault, match="4 bytes outside of its own local memory"):
        run(body, [ints()])


def test_variables_of_the_module_have_their_values():
    outside = ".global .align 4 .b8 table[8] = {1, 2, 0, 0, 255}; .const .f32 half = 0f3F000000;"
    body = """
      ld.global.u32 %r1, [table]; ld.const.u32 %r2, [half]; ld.global.u8 %r3, [table+4];
      st.global.u32 [%x0], %r1; st.global.u32 [%x0+4], %r2; st.global.u32 [%x0+8], %r3;
    """
    out = ints(3)
    run(body, [out], threads=1, outside=outside)
    assert out.tolist() == [513, 0x3F000000, 255]


def test_branches_meet_again():
    body = """
      and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;
      mov.u32 %r2, 100; bra.uni DONE;
      EVEN: mov.u32 %r2, 200;
      DONE: vote.sync.ballot.b32 %r3, %p1, 0xffffffff;
      add.s64 %a1, %x0, %a0; add.u32 %r2, %r2, %r3; st.global.u32 [%a1], %r2;
    """
    out = ints()
    run(body, [out])
    assert (out - 0x55555555).tolist() == [200, 100] * 16


def test_a_barrier_in_a_loop_lets_the_block_step_together():
    """64 numbers are summed by halves: each round reads what the last one wrote."""
    body = """
      .shared .b32 part[64];
      mov.u32 %r1, part; shl.b32 %r2, %r0, 2; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %r0;
      mov.u32 %r3, 32;
      LOOP: bar.sync 0;
      setp.ge.u32 %p1, %r0, %r3; @%p1 bra SKIP;
      shl.b32 %r4, %r3, 2; add.u32 %r4, %r4, %r1; ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [%r1];
      add.u32 %r6, %r6, %r5; st.shared.u32 [%r1], %r6;
      SKIP: shr.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra LOOP;
      setp.eq.u32 %p3, %r0, 0; @!%p3 bra END; ld.shared.u32 %r7, [%r1]; st.global.u32 [%x0], %r7;
      END:
    """
    out = ints()
    run(body, [out], threads=64)
    assert out[0] == sum(range(64))
    with pytest.raises(Fault, match="a race"):
        run(body.replace("bar.sync 0;", ""), [out], threads=64)


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("setp.eq.u32 %p1, %r0, 3; @%p1 bra END;\n.loc 1 30 1\nbar.sync 0; END:", 30),
        ("setp.eq.u32 %p1, %r0, 3; @%p1 ret;\n.loc 1 31 1\nbar.sync 0;", 31),
        ("setp.eq.u32 %p1, %r0, 3; @%p1 bra B;\n.loc 1 32 1\nbar.sync 0; ret; B: bar.sync 0;", 32),
    ],
)
def test_a_barrier_that_a_thread_skips(body, line):
    with pytest.raises(
        Fault, match=f"not every thread of the block gets there, at kernel.cu:{line}"
    ) as raised:
        run(body, [ints()])
    assert "thread (3, 0, 0) of block (0, 0, 0)" in str(raised.value)


def test_a_barrier_may_reduce():
    body = """
      setp.eq.u32 %p1, %r0, 40; bar.red.or.pred %p2, 0, %p1; bar.red.popc.u32 %r1, 0, !%p1;
      selp.u32 %r2, 1000, 0, %p2; add.u32 %r1, %r1, %r2; add.s64 %a1, %x0, %a0; st.global.u32 [%a1], %r1;
    """
    out = ints(64)
    run(body, [out], threads=64)
    assert set(out.tolist()) == {1063}


@pytest.mark.parametrize(
    ("form", "b", "c", "expected"),
    [
        ("up", 1, 0, [0, *range(31)]),
        ("down", 2, 31, [*range(2, 32), 30, 31]),
        ("bfly", 1, 31, [i ^ 1 for i in range(32)]),
        ("idx", 3, 31, [3] * 32),
        ("idx", 3, 0x181F, [i // 8 * 8 + 3 for i in range(32)]),  # segments of 8 lanes
    ],
)
def test_shuffles(form, b, c, expected):
    body = f"""
      shfl.sync.{form}.b32 %r1|%p1, %r0, {b}, {c}, 0xffffffff;
      add.s64 %a1, %x0, %a0; st.global.u32 [%a1], %r1;
    """
    out = ints()
    run(body, [out])
    assert out.tolist() == expected


def test_votes_and_matches():
    body = """
      and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1;
      vote.sync.ballot.b32 %r2, %p1, 0xffffffff; vote.sync.all.pred %p2, %p1, 0xffffffff;
      vote.sync.any.pred %p3, %p1, 0xffffffff; match.any.sync.b32 %r3, %r1, 0xffffffff;
      selp.u32 %r4, 1, 0, %p3; @%p2 add.u32 %r4, %r4, 10;
      add.s64 %a1, %x0, %a0; st.global.u32 [%a1], %r2;
      add.s64 %a1, %x1, %a0; st.global.u32 [%a1], %r3;
      add.s64 %a1, %x2, %a0; st.global.u32 [%a1], %r4;
    """
    ballot, match, others = ints(), ints(), ints()
    run(body, [ballot, match, others])
    assert set(ballot.tolist()) == {0xAAAAAAAA}
    assert match.tolist() == [0x55555555, 0xAAAAAAAA] * 16
    assert set(others.tolist()) == {1}


def test_lanes_agree_on_what_they_see():
    """32 lanes of which the upper 16 are asked apart: each half is uniform, the whole is not."""
    body = """
      setp.ge.u32 %p1, %r0, 16; selp.u32 %r1, 0xffff0000, 0x0000ffff, %p1;
      vote.sync.uni.pred %p2, %p1, %r1; vote.sync.uni.pred %p3, %p1, 0xffffffff;
      selp.u32 %r2, 1, 0, %p2; @%p3 add.u32 %r2, %r2, 10;
      mul.wide.u32 %a1, %r0, 0x40000000; and.b64 %a1, %a1, 0x200000000;
      match.any.sync.b64 %r3, %a1, 0xffffffff;
      @%p1 bra UPPER; activemask.b32 %r4; bra DONE; UPPER: activemask.b32 %r4; DONE:
      add.s64 %a2, %x0, %a0; st.global.u32 [%a2], %r2;
      add.s64 %a2, %x1, %a0; st.global.u32 [%a2], %r3;
      add.s64 %a2, %x2, %a0; st.global.u32 [%a2], %r4;
    """
    uniform, match, active = ints(), ints(), ints()
    run(body, [uniform, match, active])
    assert set(uniform.tolist()) == {1}
    pairs = [sum(1 << i for i in range(32) if (i & 8) == (lane & 8)) for lane in range(32)]
    assert match.tolist() == pairs
    assert active.tolist() == [0x0000FFFF] * 16 + [0xFFFF0000] * 16


@pytest.mark.parametrize(
    ("body", "report"),
    [
        ("vote.sync.ballot.b32 %r1, %p1, 0xffff;", r"thread \(16, 0, 0\) .* not in its own mask 0x0000ffff"),
        (
            "setp.lt.u32 %p1, %r0, 16; @!%p1 bra END; shfl.sync.idx.b32 %r1, %r0, 20, 31, 0xffff; END:",
            "reads lane 20, which does not take part",
        ),
        (
            "setp.lt.u32 %p1, %r0, 16; @%p1 bra A; bar.sync 0; A: vote.sync.ballot.b32 %r1, %p1, 0xffffffff;",
            "not every lane of mask 0xffffffff gets there",
        ),
    ],
)
def test_operations_of_a_warp_need_their_lanes(body, report):
    with pytest.raises(Fault, match=report):
        run(body, [ints()])


@pytest.mark.parametrize(
    ("opcode", "start", "expected"),
    [
        ("add.u32", 5, 5 + sum(range(32))), ("min.u32", 5, 0), ("max.u32", 5, 31), ("or.b32", 32, 63),
        ("and.b32", 31, 0), ("xor.b32", 1, 1), ("exch.b32", 5, 31), ("inc.u32", 31, 0),
    ],
)  # fmt: skip
def test_atomics(opcode, start, expected):
    out = np.array([start], U4)
    operand = "63" if opcode == "inc.u32" else "%r0"
    run(f"atom.global.{opcode} %r1, [%x0], {operand};", [out])
    assert out[0] == (63 if opcode == "inc.u32" else expected)


def test_atomics_return_what_was_there():
    out, old = np.array([3], U4), ints(1)
    run("atom.global.cas.b32 %r1, [%x0], 3, 9; st.global.u32 [%x1], %r1;", [out, old], threads=1)
    assert (out[0], old[0]) == (9, 3)


def test_loads_extend_and_stores_truncate():
    source, out = np.array([0x80, 0xFF], np.uint8), np.zeros(4, np.int64)
    body = """
      ld.global.s8 %a1, [%x0]; ld.global.u8 %a2, [%x0]; ld.global.u16 %a3, [%x0];
      st.global.u64 [%x1], %a1; st.global.u64 [%x1+8], %a2; st.global.u64 [%x1+16], %a3;
      st.global.u8 [%x1+24], %a3;
    """
    run(body, [source, out], threads=1)
    assert out.tolist() == [-128, 128, 0xFF80, 0x80]


def test_a_block_of_many_shapes_knows_its_threads():
    out = ints(24)
    body = """
      mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z; mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y;
      mad.lo.u32 %r5, %r2, %r4, %r1; mad.lo.u32 %r5, %r5, %r3, %r0;
      mul.wide.u32 %a1, %r5, 4; add.s64 %a1, %a1, %x0; st.global.u32 [%a1], %r5;
    """
    text = f"{HEADER} .visible .entry k(.param .u64 p_0) {{ .reg .b32 %r<9>; .reg .b64 %x<2>, %a<2>;"
    text += f" ld.param.u64 %x0, [p_0]; mov.u32 %r0, %tid.x; {body} ret; }}"
    Module(text).launch("k", (1,), (2, 3, 4), [out])
    assert out.tolist() == list(range(24))


def test_the_alignment_behind_a_pointer_is_not_that_of_the_parameter():
    text = f"""{HEADER}
.visible .entry k(.param .u8 first, .param .u64 .ptr .align 1 out)
{{
  .reg .b64 %at; .reg .b32 %v;
  ld.param.u64 %at, [out]; mov.u32 %v, 7;
  st.global.u32 [%at], %v;
  ret;
}}
"""
    out = np.zeros(1, np.uint32)
    Module(text).launch("k", (1,), (1,), [np.uint8(1), out])
    assert out.tolist() == [7]
