"""What the columns of a CSV file hold."""

import pytest

from orbbec.data import FileList
from orbbec.data.readers.tables import read_table


def write(folder, *labels, header="path,label"):
    file = folder / "t.csv"
    rows = (f"{row}.jpg,{label}\n" for row, label in enumerate(labels))
    file.write_text(f"{header}\n" + "".join(rows), "utf-8")
    return file


def labels_of(files):
    return [files.targets(row)["label"] for row in range(len(files))]


@pytest.mark.parametrize(
    "labels",
    [
        ("1_11", "11_1", "2_5"),
        ("007", "0070", "07"),
        ("1e5", "10e4", "100e3"),
        ("nan", "inf", "NaN"),
        ("+7", "+07", "x"),
        ("\u0663", "3a", "\uff13"),
        ("0x10", "0b1", "1;0"),
        ("1-1", "1--1", "-"),
    ],
)
def test_labels_that_python_may_take_for_numbers_are_names(tmp_path, labels):
    files = FileList(write(tmp_path, *labels))
    assert files.classes == sorted(labels)
    assert [files.classes[label] for label in labels_of(files)] == list(labels)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (("0", "10", "-1"), [0, 10, -1]),
        (("9223372036854775807", "-9223372036854775808"), [2**63 - 1, -(2**63)]),
        (("0.5", "2", "-1e-05", ".25", "3."), [0.5, 2.0, -1e-5, 0.25, 3.0]),
    ],
)
def test_numbers_alone_are_numbers(tmp_path, labels, expected):
    files = FileList(write(tmp_path, *labels))
    assert labels_of(files) == expected
    assert {type(label) for label in labels_of(files)} == {type(expected[0])}
    assert files.classes == []


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("0", "1", "10", "2", ""), r"expected a label, but row 4 of .*t\.csv \(line 6\) has none"),
        (("cat", "", "dog"), r"row 1 of .*t\.csv \(line 3\) has none"),
        (("cat", "  "), r"row 1 of .*t\.csv \(line 3\) has none"),
        (("cat", "cat "), r"row 1 of .*t\.csv \(line 3\) has 'cat '"),
        (("7", " 7"), r"row 1 of .*t\.csv \(line 3\) has ' 7'"),
        (("7", "7\u00a0"), r"row 1 of .*t\.csv"),
        (("0", "1", "cat"), r"row 2 of .*t\.csv \(line 4\) has 'cat' and row 0 has '0'"),
        (("cat", "dog", "7"), r"row 0 of .*t\.csv \(line 2\) has 'cat' and row 2 has '7'"),
        (("7", "007"), r"row 1 of .* has '007'"),
        (("1", "1_1"), r"row 1 of .* has '1_1'"),
        (("0.5", "nan"), r"row 1 of .* has 'nan'"),
        (("0.5", "1e5"), r"row 1 of .* has '1e5'"),
        (("0", "9223372036854775808"), r"'label' in row 1 of .*t\.csv \(line 3\): expected an integer of 64"),
        (("0", "9" * 5000), r"'label' in row 1 of .*: expected an integer of 64 bits"),
        (("1.1", "1.2", "1.10"), r"row 2 of .*t\.csv \(line 4\) has '1\.10' where another row has '1\.1'"),
        (("0", "-0"), r"row 1 of .* has '-0' where another row has '0'"),
        (("0.5", "1e+999"), r"'label' in row 1 of .*: expected a finite number, but got '1e\+999'"),
    ],
)
def test_labels_that_could_be_renumbered_are_named(tmp_path, labels, message):
    with pytest.raises(ValueError, match=f"FileList: .*{message}"):
        FileList(write(tmp_path, *labels))


@pytest.mark.parametrize("values", [("0.5", "", "1"), ("3", "three"), ("0.1", "NULL")])
def test_numbers_next_to_other_texts_are_named_in_any_column(tmp_path, values):
    with pytest.raises(ValueError, match=r"expected numbers or names as 'weight', but row \d of .* has"):
        FileList(write(tmp_path, *values, header="path,weight"))


def test_spaces_around_numbers_are_named_in_any_column(tmp_path):
    with pytest.raises(
        ValueError, match=r"expected 'weight' without spaces .* row 0 of .*\(line 2\) has ' 3'"
    ):
        FileList(write(tmp_path, " 3", " 4", header="path,weight"))


def test_a_column_without_numbers_holds_any_text(tmp_path):
    files = FileList(write(tmp_path, "a dog", "", " two ", header="path,caption"))
    assert files.columns == {"caption": ["a dog", "", " two "]}


def test_types_say_what_a_column_holds(tmp_path):
    file = write(tmp_path, "7", "007", "cat")
    files = FileList(file, types={"label": str})
    assert (files.classes, labels_of(files)) == (["007", "7", "cat"], [1, 0, 2])
    with pytest.raises(ValueError, match=r"'label' in row 1 of .*: expected an integer, but got '007'"):
        FileList(file, types={"label": int})
    with pytest.raises(ValueError, match=r"'label' in row 1 of .*: expected a finite number, but got '007'"):
        FileList(file, types={"label": float})
    with pytest.raises(ValueError, match="expected types of label, but got 'labels'"):
        FileList(file, types={"labels": int})
    with pytest.raises(
        TypeError, match="expected int, float or str as the type of 'label', but got <class 'bool'>"
    ):
        FileList(file, types={"label": bool})
    assert labels_of(FileList(write(tmp_path, "1", "1.0"), types={"label": float})) == [1.0, 1.0]


def test_path_and_label_may_be_in_any_case(tmp_path):
    files = FileList(write(tmp_path, "cat", "ant", header="Path,LABEL"))
    assert (files.paths, files.classes, labels_of(files)) == (["0.jpg", "1.jpg"], ["ant", "cat"], [1, 0])
    assert list(FileList(write(tmp_path, "3", header="PATH,Weight")).columns) == ["Weight"]
    for header in ("Path,path", "path, label", "path,label\t"):
        with pytest.raises(ValueError, match="expected distinct columns with 'path', without spaces around"):
            FileList(write(tmp_path, "cat", header=header))


def test_spaces_after_commas_are_skipped_on_request(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text('path, label\na.jpg, 7\nb.jpg,   "10"\n')
    files = FileList(file, delimiter=", ")
    assert (files.paths, labels_of(files)) == (["a.jpg", "b.jpg"], [7, 10])
    for delimiter in ("::", "", ",  "):
        with pytest.raises(ValueError, match="expected a delimiter of one character, or it and a space"):
            FileList(file, delimiter=delimiter)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_marks_quotes_and_line_ends_of_other_programs_are_read(tmp_path, end):
    file = tmp_path / "t.csv"
    lines = ("path,label,name", '"a.jpg","7","y, z"', 'b.jpg,10,"say ""hi"""', "")
    file.write_bytes(end.join(lines).encode("utf-8-sig"))
    files = FileList(file)
    assert labels_of(files) == [7, 10]
    assert files.columns["name"] == ["y, z", 'say "hi"']


def test_a_quote_that_does_not_end_is_named(tmp_path):
    file = tmp_path / "t.csv"
    for text in ('path,label\na.jpg,"cat\nb.jpg,dog\n', 'path,label\na.jpg,"cat"s\n'):
        file.write_text(text)
        with pytest.raises(ValueError, match=r"FileList: .*t\.csv is not a CSV file"):
            FileList(file)


def test_a_tab_separates_columns(tmp_path):
    file = tmp_path / "t.tsv"
    file.write_text("path\tlabel\na b.jpg\t1_1\nc.jpg\t11\n")
    with pytest.raises(ValueError, match=r"row 0 of .*t\.tsv \(line 2\) has '1_1' and row 1 has '11'"):
        FileList(file, delimiter="\t")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines_within_quotes_are_kept(tmp_path, end):
    text = f'path,note{end}a.jpg,"two{end}lines"{end}b.jpg,one{end}'
    (tmp_path / "t.csv").write_bytes(text.encode())
    table = read_table(tmp_path / "t.csv", None, ",")
    assert table.columns == {"path": ["a.jpg", "b.jpg"], "note": [f"two{end}lines", "one"]}
