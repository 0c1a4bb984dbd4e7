"""Folders of classes, and lists of files."""

import os

import pytest

from orbbec.data import BadSample, FileList, FrameFolders, ImageFolder


def write(root, *names):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(name.encode())


def test_images_stand_in_order_of_class_folder_and_name(tmp_path):
    write(tmp_path, "b/2.png", "b/10.JPG", "b/x/1.png", "a/3.webp", "b/a.txt", "c.png", "b-/0.bmp")
    folder = ImageFolder(tmp_path)
    assert folder.classes == ["a", "b", "b-"]
    samples = [folder[index] for index in range(len(folder))]
    assert [sample.data for sample in samples] == [
        b"a/3.webp", b"b/10.JPG", b"b/2.png", b"b/x/1.png", b"b-/0.bmp"
    ]  # fmt: skip
    assert [sample.targets for sample in samples] == [{"label": label} for label in (0, 1, 1, 1, 2)]
    assert [sample.sample_id for sample in samples] == [0, 1, 2, 3, 4]
    assert (folder[-1].data, folder[-1].sample_id) == (b"b-/0.bmp", 4)


def test_a_class_may_be_a_link_and_other_extensions_be_asked_for(tmp_path):
    write(tmp_path, "far/1.npy", "root/a/2.npy")
    (tmp_path / "root/b").symlink_to(tmp_path / "far")
    (tmp_path / "far/loop").symlink_to(tmp_path / "far")
    folder = ImageFolder(tmp_path / "root", extensions=[".npy"])
    assert [folder[index].targets["label"] for index in range(len(folder))] == [0, 1]


def test_links_to_folders_are_followed_in_the_order_of_folders_and_names(tmp_path):
    write(tmp_path, "store/3.png", "store/deep/1.png", "store/deep/2.png", "root/cat/1.png", "root/dog/1.png")
    (tmp_path / "root/cat/batch").symlink_to(tmp_path / "store")
    (tmp_path / "root/dog/again").symlink_to(tmp_path / "store/deep")
    (tmp_path / "root/dog/one.png").symlink_to(tmp_path / "store/3.png")
    folder = ImageFolder(tmp_path / "root")
    below = sorted(os.walk(tmp_path / "root/cat", followlinks=True)) + sorted(
        os.walk(tmp_path / "root/dog", followlinks=True)
    )
    expected = [os.path.join(parent, name) for parent, _, names in below for name in sorted(names)]
    assert folder.paths == expected
    assert folder.labels == [0] * 4 + [1] * 4


def test_links_to_a_folder_above_end(tmp_path):
    write(tmp_path, "a/1.png", "a/x/2.png", "b/3.png")
    (tmp_path / "a/x/up").symlink_to(tmp_path / "a")
    (tmp_path / "a/x/root").symlink_to(tmp_path)
    (tmp_path / "b/other").symlink_to(tmp_path / "a/x")
    paths = [os.path.relpath(path, tmp_path) for path in ImageFolder(tmp_path).paths]
    assert paths == ["a/1.png", "a/x/2.png", "b/3.png", "b/other/2.png", "b/other/up/1.png"]


def test_broken_links_are_named(tmp_path):
    write(tmp_path, "a/1.png", "c/1.png")
    (tmp_path / "a/2.png").symlink_to(tmp_path / "gone.png")
    with pytest.raises(BadSample, match=r"sample 1 \(.*/a/2\.png\): No such file"):
        ImageFolder(tmp_path)[1]
    for name in ("b", "a/batch"):
        (tmp_path / name).symlink_to(tmp_path / "gone")
        with pytest.raises(FileNotFoundError, match=f"The link is broken: .*/{name}'"):
            ImageFolder(tmp_path)
        (tmp_path / name).unlink()


def test_hidden_folders_are_no_classes_and_hidden_files_no_images(tmp_path):
    write(
        tmp_path, ".ipynb_checkpoints/1.png", ".git/2.png", "__MACOSX/cat/._1.png", "cat/1.png", "cat/._1.png"
    )
    write(tmp_path, "cat/.ipynb_checkpoints/1-checkpoint.png", "dog/1.png", "dog/.thumbs/1.png")
    folder = ImageFolder(tmp_path)
    assert folder.classes == ["cat", "dog"]
    assert [os.path.relpath(path, tmp_path) for path in folder.paths] == ["cat/1.png", "dog/1.png"]


def test_names_that_are_not_utf_8_can_be_printed(tmp_path):
    root = tmp_path / os.fsdecode(b"caf\xe9")
    write(root, "a/1.png")
    (root / "a/1.png").rename(root / "a" / os.fsdecode(b"\xff.PNG"))
    folder = ImageFolder(root)
    assert folder[0].data == b"a/1.png"
    os.unlink(folder.paths[0])
    with pytest.raises(BadSample) as caught:
        folder[0]
    assert caught.value.path == folder.paths[0]
    assert str(caught.value).encode().endswith(rb"caf\udce9/a/\udcff.PNG): No such file or directory")
    with pytest.raises(ValueError, match="expected images") as refused:
        ImageFolder(root)
    assert rb"caf\udce9/a" in str(refused.value).encode()
    (root / "list.csv").write_text("path\n")
    with pytest.raises(ValueError, match="expected 2 columns in line 1") as refused:
        FileList(root / "list.csv", columns=["path", "label"])
    assert str(refused.value).encode()


def test_a_folder_that_shrinks_names_the_sample(tmp_path):
    write(tmp_path, "a/1.png", "a/2.png", "a/3.png")
    folder = ImageFolder(tmp_path)
    (tmp_path / "a/2.png").unlink()
    (tmp_path / "a/3.png").write_bytes(b"")
    assert folder[0].data == b"a/1.png"
    for index, name, reason in ((1, "2.png", "No such file or directory"), (2, "3.png", "the file is empty")):
        with pytest.raises(BadSample, match=reason) as caught:
            folder[index]
        assert (caught.value.sample_id, caught.value.path) == (index, str(tmp_path / "a" / name))


def test_an_unreadable_folder_is_an_error(tmp_path, monkeypatch):
    write(tmp_path, "a/1.png", "a/b/1.png")
    scan = os.scandir

    def refuse(path):
        if str(path).endswith("/b"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)  # root may read everything
    with pytest.raises(PermissionError, match="/a/b"):
        ImageFolder(tmp_path)


def test_folders_without_images_are_errors(tmp_path):
    with pytest.raises(ValueError, match="expected a folder for each class"):
        ImageFolder(tmp_path)
    write(tmp_path, "a/1.png", "b/1.txt")
    with pytest.raises(ValueError, match=r"expected images in .*/b, but got none"):
        ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        ImageFolder(tmp_path / "none")


def test_a_list_gives_columns_as_targets(tmp_path):
    write(tmp_path, "a.jpg", "b/c.jpg")
    (tmp_path / "list.csv").write_text(
        'path,label,angle,count,name\n"a.jpg",zebra,-1.5,3,x\n\nb/c.jpg,ant,2,-4,"y, z"\n', "utf-8-sig"
    )
    files = FileList(tmp_path / "list.csv")
    assert files.classes == ["ant", "zebra"]
    assert [files[index].data for index in range(len(files))] == [b"a.jpg", b"b/c.jpg"]
    assert files[0].targets == {"label": 1, "angle": -1.5, "count": 3, "name": "x"}
    assert files[1].targets == {"label": 0, "angle": 2.0, "count": -4, "name": "y, z"}
    assert files[1].sample_id == 1


def test_a_list_without_names_and_in_another_folder(tmp_path):
    write(tmp_path / "images", "a.jpg")
    (tmp_path / "list.txt").write_text("a.jpg 7\n")
    files = FileList(tmp_path / "list.txt", tmp_path / "images", columns=["path", "label"], delimiter=" ")
    assert files[0].data == b"a.jpg"
    assert files[0].targets == {"label": 7}
    assert files.classes == []


def test_malformed_lists_are_named(tmp_path):
    file = tmp_path / "list.csv"
    for text, message in (
        ("", "expected distinct columns with 'path'"),
        ("file,label\na,1\n", r"but got \['file', 'label'\]"),
        ("path,path\na,1\n", "distinct columns"),
        ("path,label\na,1\n\nb\n", "expected 2 columns in line 4 of .*list.csv, but got 1"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            FileList(file)


def test_a_missing_file_of_a_list_is_a_bad_sample(tmp_path):
    (tmp_path / "list.csv").write_text("path\nnone.jpg\n")
    with pytest.raises(BadSample, match=r"sample 0 \(.*none.jpg\): No such file"):
        FileList(tmp_path / "list.csv")[0]


@pytest.mark.parametrize("path", ["../a.jpg", "b/../../a.jpg", "/etc/passwd", "..", "b/.."])
def test_a_path_that_leaves_the_folder_is_named(tmp_path, path):
    (tmp_path / "files/b").mkdir(parents=True)
    (tmp_path / "files/list.csv").write_text(f"path,label\n{tmp_path}/files/a.jpg,1\n{path},2\n")
    (tmp_path / "a.jpg").write_bytes(b"outside")
    with pytest.raises(
        ValueError, match=rf"FileList: expected paths in .*files, but row 1 of .* has '{path}'"
    ):
        FileList(tmp_path / "files/list.csv")
    files = FileList(tmp_path / "files/list.csv", trust_paths=True)
    assert files.targets(1) == {"label": 2}
    if path.endswith("a.jpg"):
        assert files[1].data == b"outside"


def test_what_is_no_csv_file_is_named(tmp_path):
    for data in (b"path\n\xff\xfe", b'path\n"' + b"x" * 200_000 + b'"\n', b"path\na\0.jpg\n"):
        (tmp_path / "list.csv").write_bytes(data)
        with pytest.raises(ValueError, match=r"FileList: .*list\.csv"):
            FileList(tmp_path / "list.csv")


@pytest.mark.parametrize("extensions", ["jpg", 3, [".jpg", 3]])
def test_extensions_that_are_no_names_are_named(tmp_path, extensions):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"...")  # ends with a letter of "jpg"
    for reader in (ImageFolder, FrameFolders):
        with pytest.raises(ValueError, match=f"{reader.__name__}: expected extensions as a list of names"):
            reader(tmp_path, extensions=extensions)


def test_types_that_are_no_dict_are_named(tmp_path):
    (tmp_path / "list.csv").write_text("path,label\na.jpg,1\n")
    with pytest.raises(TypeError, match="FileList: expected types as a dict, but got 3"):
        FileList(tmp_path / "list.csv", types=3)


def test_a_number_of_frames_is_not_a_choice_of_frames(tmp_path):
    with pytest.raises(TypeError, match=r"^FrameFolders: expected sample as a TemporalSample, but got 8$"):
        FrameFolders(tmp_path, 8)
