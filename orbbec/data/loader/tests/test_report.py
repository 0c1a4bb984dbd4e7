"""The report of a loader."""

import io
import json
import re
import threading
import time
from io import StringIO

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from orbbec.data import Decoding, Fault, ImageFolder, Loader, Report, Sample, Voc, live, pack
from orbbec.data.device.staging import Staging
from orbbec.data.loader.report import fault_report
from orbbec.data.readers.shards import Shards
from orbbec.transforms import RandomResizedCrop

SOURCE = [Sample(np.zeros((20, 20, 3), np.uint8), {}, i) for i in range(12)]


class Slow(list):
    def __getitem__(self, index):
        time.sleep(0.02)
        return super().__getitem__(index)


def test_a_report_says_how_long_the_model_waited():
    loader = Loader(Slow(SOURCE), 2, [RandomResizedCrop(4)], threads=1)
    assert loader.report().advice == "No batch was taken yet."
    list(loader)
    report = loader.report()
    assert report.images == 12
    assert report.speed_fraction < 0.2
    assert report.seconds > 0.2
    assert report.advice.startswith("Reading takes most")
    assert report.spent["read"] > 0.2


def encoded(kind):
    file = io.BytesIO()
    Image.new("RGB", (32, 24)).save(file, kind)
    return file.getvalue()


def files(root):
    (root / "a").mkdir()
    for n in range(4):
        (root / f"a/{n}.jpg").write_bytes(encoded("JPEG"))
    return ImageFolder(root)


def annotated(root):
    files(root)
    for n in range(4):
        (root / f"a/{n}.xml").write_text("<annotation/>")
    return Voc(root, images="a", annotations="a")


def packed(root):
    pack([Sample(encoded("JPEG"), {"name": "a"}, n) for n in range(4)], root)
    return Shards(root)


TIMED = {
    "pixels": lambda root: SOURCE[:4],
    "JPEGs": lambda root: [Sample(encoded("JPEG"), {}, n) for n in range(4)],
    "PNGs": lambda root: [Sample(encoded("PNG"), {}, n) for n in range(4)],
    "stream": lambda root: iter(SOURCE[:4]),
    "files": files,
    "records": annotated,
    "shards": packed,
}


@pytest.mark.parametrize("feed", ["0", "1"])
@pytest.mark.parametrize("memory", [None, 6000])
@pytest.mark.parametrize("decoding", [{}, {"roi": False}, {"planes": True}, {"device": "cuda"}])
@pytest.mark.parametrize("source", TIMED)
def test_all_that_the_threads_do_is_in_the_report(source, decoding, memory, feed, tmp_path, monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    options = {"decoding": Decoding(**decoding), "memory": memory, "threads": 1}
    with Loader(TIMED[source](tmp_path), 4, [RandomResizedCrop(4)], **options) as loader:
        list(loader)
        spent = loader.report().spent
    assert {
        name for name in ("read", "decode", "augment", "copy", "work") if spent.get(name, 0) <= 0
    } == set()


def test_waits_that_the_devices_work_hides_do_not_count(monkeypatch):
    waited = []
    for is_busy in (False, True):
        monkeypatch.setattr(Staging, "mark", lambda self, is_busy=is_busy: lambda: is_busy)
        loader = Loader(Slow(SOURCE), 2, [RandomResizedCrop(4)], threads=1)
        list(loader)
        waited.append(loader.report().waited)
    assert waited[1] < 0.2 * waited[0]


def test_a_report_tells_all_that_was_measured():
    spent = {"read": 0.5, "decode": 1.5}
    counts = {"cached": 0.25, "on_device": 3, "on_host": 4, "pairs": 300, "decoded_pairs": 50}
    report = Report(200, 4.0, 1.0, spent, threads=2, most_bytes=3_400_000, **counts)
    assert str(report).splitlines() == [
        "50 images/s, 75 % of the speed without waiting (the model waited 25 % of the time)",
        "From the cache: 25 % of the samples",
        "Batches ahead of the model had at most 3 MB of pixels",
        "Decoded on the device: 3 of 7 images; the host did the others",
        "Pair images of mixes: 1.5 more samples were read per image, 0.2 decoded",
        "read        2.50 ms per image   25 %",
        "decode      7.50 ms per image   75 %",
        report.advice,
    ]


def test_a_report_of_nothing_has_no_measurements():
    assert str(Report(0, 0.0, 0.0, {}, threads=1, pairs=3)).splitlines() == [
        "0 images/s, 100 % of the speed without waiting (the model waited 0 % of the time)",
        "Pair images of mixes: 3.0 more samples were read per image, 0.0 decoded",
        "No batch was taken yet.",
    ]


def test_of_one_batch_the_model_has_only_waited():
    with Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1) as loader:
        next(iter(loader))
        report = loader.report()
    assert report.images == 2
    assert report.seconds == report.waited > 0
    assert report.speed_fraction == 0


def test_a_report_says_that_the_loader_keeps_up():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    for _ in range(3):
        for _ in loader:
            time.sleep(0.05)
    assert loader.report().speed_fraction > 0.5
    assert " % waiting; " in loader.report().line
    assert loader.report().spent["idle"] > 0.2  # the thread waited for the model


@pytest.mark.parametrize("part", ["read", "decode", "augment", "copy"])
def test_advice_is_about_what_takes_most(part):
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 0.1, part: 3.0}, threads=2)
    starts = {"read": "Reading", "decode": "Decoding", "augment": "Augmentation", "copy": "Copying"}
    assert report.advice.startswith(starts[part])
    assert Report(10, 1.0, 0.5, {part: 3.0}, threads=2).advice.startswith(f"{starts[part]} takes most")
    assert Report(10, 1.0, 0.01, {}, threads=2).advice.startswith("The loader keeps up")


@pytest.mark.parametrize("cores", range(4))  # 0 if they are unknown
def test_more_threads_decode_unless_each_core_has_one(cores):
    advice = Report(10, 1.0, 0.5, {"decode": 3.0}, threads=2, cores=cores).advice
    fix = f"use more cores ({cores} now" if cores in (1, 2) else "give the loader more threads (2 now)"
    assert advice.startswith(f"Decoding takes most: {fix}")


@pytest.mark.parametrize(
    ("spent", "start"),
    [
        ({"idle": 2.0, "read": 8.0}, "Reading takes most:"),
        ({"idle": 2.1, "read": 8.0}, "Threads wait too:"),
        ({"read": 5.7, "decode": 4.3}, "Reading takes most:"),
        ({"read": 5.5, "decode": 4.5}, "Reading and decoding take most."),
    ],
)
def test_advice_names_two_parts_that_are_alike_and_threads_that_wait(spent, start):
    assert Report(10, 1.0, 0.5, spent, threads=2).advice.startswith(start)


def test_a_line_has_the_two_largest_parts_from_a_twentieth_on():
    def parts(**spent):
        return Report(10, 1.0, 0.5, spent, threads=2).line.partition("; ")[2]

    assert parts(read=5.0, decode=3.0, augment=2.0) == "read 50 %, decode 30 %"
    assert parts(read=0.5, decode=9.5) == "read 5 %, decode 95 %"
    assert parts(read=0.4, decode=9.6) == "decode 96 %"


@pytest.mark.parametrize(
    ("synthetic", "keeps_up"), [(0.0, True), (1000.0, True), (1030.0, True), (900.0, True), (7000.0, False)]
)
def test_advice_agrees_with_the_share_of_the_synthetic_bound(synthetic, keeps_up):
    """The report once said '14 % are reached' and 'the loader keeps up' together."""
    report = Report(1000, 1.0, 0.02, {"decode": 1.0, "idle": 0.5}, threads=3, synthetic=synthetic)
    assert report.advice.startswith("The loader keeps up") == keeps_up
    if not keeps_up:
        assert "the loader reaches 14 % of that" in str(report)
        assert report.advice.startswith("The model seldom waits, but its steps are slower than alone: ")
        assert "threads (3 now) take cores" in report.advice


@pytest.mark.parametrize(
    ("threads", "words"), [(1, "more threads (1 now)"), (2, "more cores (2 now"), (3, "more cores")]
)
def test_threads_that_use_all_cores_are_not_advised_to_be_more(threads, words):
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 3.0}, threads=threads, cores=2)
    assert words in report.advice
    assert report.advice.endswith(", or pack smaller images.")


@pytest.mark.parametrize(("augment", "both"), [(0.36, False), (0.38, True), (0.52, True), (0.64, False)])
def test_two_parts_that_take_about_as_much_both_get_advice(augment, both):
    spent = {"read": 0.02, "decode": 0.48, "augment": augment, "copy": 0.0}
    spent = {part: seconds / sum(spent.values()) for part, seconds in spent.items()}
    advice = Report(10, 1.0, 0.5, spent, threads=1).advice
    assert (" take most.\n" in advice) == both
    assert ("Decoding" in advice) == (both or augment < 0.48)
    assert ('pass device="cuda" to the Loader' in advice) == (both or augment > 0.48)


def test_a_line_has_the_two_largest_parts_and_fits():
    spent = {"read": 0.24, "decode": 0.4, "augment": 0.3, "copy": 0.01, "idle": 0.05}
    report = Report(1234, 1.0, 0.45, spent, threads=1)
    assert report.line == "1234 images/s, 45 % waiting; decode 40 %, augment 30 %"
    assert len(f"epoch 12 {'=' * 8} 125/125 {report.line}") <= 80
    assert Report(10, 1.0, 0.5, {"read": 0.02, "decode": 0.98}, 1).line.endswith("waiting; decode 98 %")


def test_advice_where_both_sides_wait():
    report = Report(10, 1.0, 0.5, {"read": 0.1, "decode": 1.0, "idle": 0.4}, threads=2)
    assert (
        report.advice == "Threads wait too: epochs are short, or batch times vary and need a larger prefetch."
    )


def test_the_share_of_the_synthetic_bound():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    assert "repeated batch" not in str(loader.report())
    *_, batch = loader
    steps = []
    for same in loader.synthetic(batch, steps=5):
        assert same is batch
        steps.append(time.sleep(0.01))
    assert len(steps) == 3 + 5  # three warm-up steps
    assert 100 < loader.report().synthetic <= 200  # two images per 10 ms; measured 196
    assert loader.report().images == 12
    assert "With one repeated batch: " in str(loader.report())


def test_the_line_is_live(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=200)
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    ids = []
    for batch in live(loader, "epoch 1", console):
        ids += batch.sample_ids.tolist()
        time.sleep(0.15)  # the line is redrawn ten times per second
    assert sorted(ids) == list(range(12))
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())
    for done in range(1, 7):
        assert re.search(rf"epoch 1 .* {done}/6 \d+ images/s, \d+ % waiting; .* \d+ %", text), text


def test_the_line_of_a_resumed_epoch_begins_where_it_was_left():
    loader = Loader(SOURCE, 2, [RandomResizedCrop(4)], threads=1)
    loader.load_state_dict({**loader.state_dict(), "start": 4})
    screen = StringIO()
    assert sum(1 for _ in live(loader, "epoch 1", Console(file=screen, width=200))) == 4
    assert " 6/6 " in screen.getvalue()


def test_a_live_line_that_is_left_stops_the_threads():
    loader = Loader([*SOURCE, *SOURCE], 2, [RandomResizedCrop(4)], threads=2)
    threads = set(threading.enumerate())
    for _ in live(loader, console=Console(file=StringIO(), force_terminal=True)):
        assert all(thread.name.startswith("orbbec-data") for thread in {*threading.enumerate()} - threads)
        break
    loader.close()
    assert set(threading.enumerate()) <= threads


def test_settings_make_the_same_loader_again():
    settings = Loader(SOURCE, 2, threads=3, prefetch=5).settings()
    again = Loader(SOURCE, 2, **json.loads(settings))
    assert (again.threads, again.prefetch) == (3, 5)
    assert again.settings() == settings


@pytest.mark.parametrize("count", [2, 10, 11, 13])
def test_a_warning_names_at_most_ten_bad_samples(count):
    faults = [Fault(n, f"{n}.jpg", "the file is empty") for n in range(count)]
    first, *listed = fault_report(faults, "substitute").splitlines()
    assert first == f"Loader: {count} bad samples were replaced:"
    assert listed[:10] == [f"  {fault}" for fault in faults[:10]]
    assert listed[10:] == ([f"  and {count - 10} more; see Loader.faults"] if count > 10 else [])
