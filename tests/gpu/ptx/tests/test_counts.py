"""Counts of launches, worked by hand."""

import numpy as np
import pytest

from tests.gpu.ptx.executor import HEADER, Module, counts_of

U4 = np.uint32


def count(body, arrays, *, threads=64, blocks=1):
    params = ", ".join(f".param .u64 p_{i}" for i in range(len(arrays)))
    loads = " ".join(f"ld.param.u64 %x{i}, [p_{i}];" for i in range(len(arrays)))
    text = f"{HEADER} .visible .entry k({params}) {{ .reg .b32 %r<9>; .reg .b64 %x<9>, %a<9>;"
    text += f" .reg .pred %p<9>; .reg .f32 %f<9>; .reg .f64 %d<9>; {loads}"
    text += f" mov.u32 %r0, %tid.x; {body} ret; }}"
    return counts_of(Module(text), "k", (blocks,), (threads,), arrays)


def aligned(count_of_bytes):
    buffer = np.zeros(count_of_bytes + 128, np.uint8)
    start = -buffer.ctypes.data % 128
    return buffer[start : start + count_of_bytes].view(U4)


def test_instructions_are_counted_by_class_and_warp():
    body = """
      add.f32 %f1, %f1, %f1; mul.f64 %d1, %d1, %d1; div.s64 %a1, %a1, %a1; div.s32 %r1, %r1, %r1;
      setp.lt.u32 %p1, %r0, 40; @!%p1 bra END; add.u32 %r1, %r1, 1; END:
    """
    counts = count(body, [], blocks=3)
    warps, lanes = counts["warp_instructions"], counts["lane_instructions"]
    assert (warps["float32"], warps["float64"], warps["division64"]) == (6, 6, 6)
    assert (lanes["float32"], lanes["division64"]) == (192, 192)
    assert warps["branch"] == 6 + 6  # bra and ret
    assert warps["integer"] == 3 * (2 * 3 + 2)  # mov, div, setp; add by 40 lanes of both warps
    assert lanes["integer"] == 3 * (64 * 3 + 40)


@pytest.mark.parametrize(
    ("stride", "sectors", "unique"),
    [(4, 8, 8), (32, 64, 64), (8, 16, 16), (0, 2, 1)],
)
def test_sectors_of_a_load(stride, sectors, unique):
    memory = aligned(64 * 32)
    body = f"mul.wide.u32 %a1, %r0, {stride}; add.s64 %a1, %a1, %x0; ld.global.u32 %r1, [%a1];"
    counts = count(body, [memory])
    assert counts["warp_instructions"]["load"] == 2  # not those of parameters
    rest = {"unique_sectors": unique, "unique_sectors_by_block": unique}
    rest["partial_sectors"] = sectors if stride > 4 else 0
    assert counts["loads"] == {"requests": 2, "bytes": 256, "sectors": sectors, **rest}


def test_sectors_that_several_blocks_read():
    body = "mul.wide.u32 %a1, %r0, 4; add.s64 %a1, %a1, %x0; ld.global.u32 %r1, [%a1];"
    loads = count(body, [aligned(256)], blocks=3)["loads"]
    assert (loads["sectors"], loads["unique_sectors_by_block"], loads["unique_sectors"]) == (24, 24, 8)


@pytest.mark.parametrize(("stride", "passes"), [(4, 1), (8, 2), (128, 32), (132, 1), (0, 1)])
def test_bank_conflicts(stride, passes):
    body = f"""
      .shared .align 128 .b8 part[4352]; mov.u32 %r1, part; mad.lo.u32 %r1, %r0, {stride}, %r1;
      st.volatile.shared.u32 [%r1], 1;
    """
    counts = count(body, [], threads=32)
    assert (counts["shared_requests"], counts["shared_passes"]) == (1, passes)
    assert counts["bank_conflicts"] == passes - 1


def test_the_size_of_a_launch_and_its_lines():
    body = """
      .shared .align 4 .b8 part[64];
      .loc 1 3 0
      setp.lt.u32 %p1, %r0, 32; @%p1 bra END;
      .loc 1 7 0
      add.f32 %f1, %f1, %f1; add.f32 %f1, %f1, %f1;
      .loc 1 9 0
      END: add.f32 %f1, %f1, %f1;
    """
    counts = count(body, [], threads=40, blocks=3)
    assert (counts["grid"], counts["block"]) == ([3, 1, 1], [40, 1, 1])
    assert (counts["static_shared_bytes"], counts["dynamic_shared_bytes"]) == (64, 0)
    assert counts["lines"] == {"0": 6, "3": 6, "7": 3, "9": 6}  # of two warps per block, one skips a line


ADDRESS = "mul.wide.u32 %a1, %r0, 4; add.s64 %a1, %a1, %x0;"


@pytest.mark.parametrize(
    ("body", "waits"),
    [
        # Two loads that do not depend on each other share a round trip; the second finds other sectors.
        ("ld.global.u32 %r1, [%a1]; ld.global.u32 %r2, [%a1+128]; add.u32 %r3, %r1, %r2;", (1, 0, 0)),
        # An address that was loaded: two round trips, the second to the same sectors.
        ("ld.global.u32 %r1, [%a1]; mad.wide.u32 %a1, %r1, 4, %a1; ld.global.u32 %r2, [%a1];", (1, 0, 1)),
        # A store between them whose value was loaded.
        ("ld.global.u32 %r1, [%a1]; st.global.u32 [%a1], %r1; ld.global.u32 %r2, [%a1];", (1, 0, 1)),
        # A branch between them.
        ("ld.global.u32 %r1, [%a1]; bra NEXT; NEXT: ld.global.u32 %r2, [%a1];", (1, 0, 1)),
    ],
)
def test_waits_for_memory(body, waits):
    counts = count(ADDRESS + body, [aligned(256)], threads=32)
    slowest = counts["slowest_warp"]
    assert (slowest["dram_waits"], slowest["l2_waits"], slowest["l1_waits"]) == waits
    assert counts["all_warps"] == slowest  # there is one


def test_the_dependent_path_and_the_slowest_warp():
    body = """
      add.u32 %r1, %r0, 1; add.u32 %r2, %r0, 2; add.u32 %r1, %r1, %r2;
      setp.lt.u32 %p1, %r0, 32; @%p1 bra END; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; END:
    """
    counts = count(body, [])
    # Two additions, as long as setp and bra; ret; no mov. The slower warp has two more.
    assert counts["slowest_warp"]["depth"] == 2 + 2 + 1
    assert counts["all_warps"]["depth"] == 2 * (2 + 1) + 2
    assert counts["slowest_warp"]["instructions"] == 9


def test_the_hottest_atomic_and_local_bytes():
    body = """
      .local .align 8 .b8 own[8]; mov.u64 %a2, own; st.local.u64 [%a2], %a2;
      and.b32 %r1, %r0, 3; min.u32 %r1, %r1, 1; mul.wide.u32 %a1, %r1, 4; add.s64 %a1, %a1, %x0;
      red.global.add.u32 [%a1], 1;
    """
    counts = count(body, [aligned(64)])
    assert counts["hottest_atomic"] == 48
    assert counts["local_bytes"] == 64 * 8
