"""tools/machine_code: counts of small listings, and what tools/check_cuda.py makes of a table."""

import dataclasses

import pytest

from tools.machine_code import cubins, sass, table

HEADER = """\
\t.section\t.text.{name},"ax",@progbits
\t.sectioninfo\t@"SHI_REGISTERS=24"
        .global         {name}
{name}:
.text.{name}:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
"""
# What sm_75, sm_90 and sm_120 print for the same source differs in operands and cache modifiers.
LISTING = (
    HEADER.format(name="_Z4copyPh")
    + """\
        /*0010*/                   LDG.E.U8.SYS R0, [R2] ;
        /*0020*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR8][R6.64+0x28] ;
        /*0030*/              @UP1 LDG.E R8, desc[UR8][R2.64+0xc] ;
.L_x_1:
        /*0040*/               @P2 STG.E.64.SYS [R4+0x8], R6 ;
        /*0050*/                   ST.E.U16 [R4.64], R6 ;
        /*0060*/                   LDS.128 R8, [R12] ;
        /*0070*/                   LDC.64 R8, c[0x0][0x238] ;
        /*0080*/                   EXIT ;
"""
    + HEADER.format(name="_Z4hardPd")
    + """\
        /*0010*/                   LDL.64 R0, [R9] ;
        /*0020*/              @!PT STL.128 [R1+0x10], R8 ;
        /*0030*/                   STL [R1], R8 ;
        /*0040*/                   CALL.REL.NOINC `($__internal_1_$__cuda_sm20_div_s64) ;
        /*0050*/               @P0 CALL.REL.NOINC `($__internal_2_$__cuda_sm20_rem_u64) ;
        /*0060*/                   CALL.REL.NOINC `($__internal_3_$__cuda_sm3x_div_rn_noftz_f32_slowpath) ;
        /*0070*/                   MUFU.RCP R2, R3 ;
        /*0080*/                   MUFU.RSQ64H R2, R3 ;
        /*0090*/                   MUFU.EX2 R2, R3 ;
        /*00a0*/                   MUFU.SQRT R2, R3 ;
        /*00b0*/                   DFMA.RM R14, R12, R14, R16 ;
        /*00c0*/                   DSETP.GT.AND P0, PT, R2, R4, PT ;
        /*00d0*/                   F2I.F64.TRUNC R2, R4 ;
        /*00e0*/                   I2F.F64.U16 R12, R2 ;
        /*00f0*/                   FFMA R12, R2, R3, R4 ;
"""
)


def test_instructions_are_counted():
    found = sass.read(LISTING)
    # (1 + 16 + 4) / 3 and (8 + 2) / 2; shared and constant memory are not global.
    assert found["_Z4copyPh"] == sass.Code(0, 0, 0, 0, 0, loads=7.0, stores=5.0)
    # RSQ64H is FP64 and refined; EX2 and SQRT are approximations.
    assert found["_Z4hardPd"] == sass.Code(1, 2, 2, 5, 2, loads=0.0, stores=0.0)


@pytest.mark.parametrize(
    ("mangled", "expected"),
    [
        ("_ZN6orbbec13decide_kernelENS_15GreedyArgumentsEl", "decide_kernel"),
        (
            "_ZN6orbbec45_GLOBAL__N__2800fb8d_12_jpeg_cuda_cu_4b8cfddb12image_kernelILi3ELb1EEEvNS_13JpegArgumentsE",
            "image_kernel<3, true>",
        ),
        (
            "_ZN6orbbec21for_each_pixel_kernelINS_11PhiloxNoiseILNS_5NoiseE2EEEEEvT_lii",
            "for_each_pixel_kernel<PhiloxNoise<(Noise)2>>",
        ),
        ("plain", "plain"),
    ],
)
def test_names_of_kernels_are_short(mangled, expected):
    assert cubins.short_name(mangled) == expected


KERNEL = cubins.Kernel(
    local_loads=0,
    local_stores=0,
    divisions64=2,
    float64=0,
    approximate=0,
    loads=4.0,
    stores=1.0,
    threads=256,
    parameters=64,
    shared=0,
    registers=40,
    stack=0,
)
EMPTY = table.Table("13.0.88", (75, 90), {})


def measured(**changed):
    """Two kernels of two files, one with these numbers on sm_90."""
    other = dataclasses.replace(KERNEL, **changed)
    return {"a.cu": {"first": {75: KERNEL, 90: other}}, "b.cu": {"second": {75: KERNEL, 90: KERNEL}}}


def table_of(found):
    return table.updated(EMPTY, "13.0.88", found, None)


def test_a_table_that_is_written_is_read():
    known = table_of(measured(registers=38))
    text = table.write(known)
    assert "first\t256\t64\t0\t40/38\t0\t0\t0\t2\t0\t0\t4\t1\n" in text
    assert table.read(text) == known


@pytest.mark.parametrize(
    ("column", "worse", "better"),
    [
        ("registers", 41, 39),
        ("divisions64", 3, 1),
        ("parameters", 65, 63),
        ("loads", 3.9, 4.1),
        ("stores", 0.9, 2.0),
    ],
)
def test_more_is_worse_but_for_widths(column, worse, better):
    known = table_of(measured())
    assert list(table.changes(known, measured())) == []
    (change,) = table.changes(known, measured(**{column: worse}))
    assert change.is_worse
    assert str(change) == f"first on sm_90: {column} {getattr(KERNEL, column):g} -> {worse:g}"
    (change,) = table.changes(known, measured(**{column: better}))
    assert not change.is_worse


@pytest.mark.parametrize("threads", [128, 512])
def test_other_launch_bounds_make_the_table_wrong(threads):
    (change,) = table.changes(table_of(measured()), measured(threads=threads))
    assert change.is_worse


def test_kernels_without_a_row_and_rows_without_a_kernel_are_named():
    both = measured()
    known = table_of({"a.cu": both["a.cu"]})
    assert list(table.missing(known, both, None)) == ["second: not in the table"]
    only_second = {"b.cu": both["b.cu"]}
    gone = "first: in the table of a.cu, but no kernel"
    assert list(table.missing(table_of(both), only_second, None)) == [gone]
    assert list(table.missing(table_of(both), only_second, ["b.cu"])) == []


def test_updating_a_file_keeps_the_others():
    known = table_of(measured())
    new = {"a.cu": {"third": {75: KERNEL, 90: KERNEL}, "second": {75: KERNEL, 90: KERNEL}}}
    rows = table.updated(known, "13.0.88", new, ["a.cu"]).rows
    assert {file: set(kernels) for file, kernels in rows.items()} == {"a.cu": {"third"}, "b.cu": {"second"}}


def test_what_is_forbidden_needs_a_reason():
    found = measured(float64=3, stack=16, local_loads=1, approximate=1)
    rules = table.Exceptions.read("# comment\nfloat64\tfir\tits values are float64\n")
    assert list(rules.violations(found)) == [
        "first on sm_90: local without a reason in exceptions.tsv: 16 stack, 1 local_loads",
        "first on sm_90: approximate without a reason in exceptions.tsv: 1 approximate",
    ]
    assert list(rules.unused(table_of(found))) == []
    assert list(rules.unused(table_of(measured()))) == ["exceptions.tsv: no kernel needs float64 fir"]


@pytest.mark.parametrize("line", ["float64\tfirst", "float64\tfirst\t", "double\tfirst\treason"])
def test_an_exception_has_a_kind_a_pattern_and_a_reason(line):
    with pytest.raises(ValueError, match="expected kind, pattern and reason, but got"):
        table.Exceptions.read(line)


def test_the_table_of_the_project_is_in_order():
    text = table.TABLE.read_text()
    known = table.read(text)
    assert table.write(known) == text
    assert len(known.kernels()) == sum(map(len, known.rows.values()))  # no kernel stands twice
    assert list(table.Exceptions.read(table.EXCEPTIONS.read_text()).unused(known)) == []
