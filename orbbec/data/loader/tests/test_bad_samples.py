"""Bad samples cost what they are: no other image is decoded again, no run of them is read again."""

import warnings
from collections import Counter

import cv2
import numpy as np
import pytest
import torch

from orbbec.data import BadSample, Decoding, Loader, Order, Sample
from orbbec.data.decode.native import has_native
from orbbec.data.decode.region import Regions
from orbbec.data.loader import assemble
from orbbec.data.loader.entries import Attempt, Opened, raised_in
from orbbec.transforms import Compose, Mosaic, RandomApply, RandomHorizontalFlip, RandomResizedCrop, Resize

PIPELINE = (RandomResizedCrop(16), RandomHorizontalFlip())


def jpeg(seed):
    noise = np.random.default_rng(seed).integers(0, 256, (32 + seed % 3, 40, 3), np.uint8)
    options = [cv2.IMWRITE_JPEG_RST_INTERVAL, 2]
    return cv2.imencode(".jpg", cv2.GaussianBlur(noise, (0, 0), 2.0), options)[1].tobytes()


def damaged(data):
    """A JPEG without one of its restart markers, which only decoding can tell."""
    return data.replace(b"\xff\xd1", b"", 1)


class Images:
    """JPEGs; those in `bad` cannot be read, those in `cut` not be decoded, in `unfit` have a bad box."""

    def __init__(self, count, bad=(), cut=(), unfit=()):
        self.data = [damaged(jpeg(n)) if n in cut else jpeg(n) for n in range(count)]
        self.bad, self.unfit, self.reads = set(bad), set(unfit), Counter()

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        self.reads[index] += 1
        if index in self.bad:
            raise BadSample(index, f"{index}.jpg", "the file is empty")
        boxes = np.float32([[1, 2, np.nan if index in self.unfit else 9, 9]])
        return Sample(self.data[index], {"boxes": boxes}, index)


def batches_of(source, size, on_error, decoding=None, **options):
    loader = Loader(
        source, size, PIPELINE, on_error=on_error, collate=list, decoding=decoding, threads=1, **options
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(loader)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", [8, 64])
def test_a_run_of_bad_samples_is_read_once(size, shuffle):
    source = Images(128, bad=range(64))
    batches = batches_of(source, size, "substitute", shuffle=shuffle)
    ids = [sample_id for batch in batches for sample_id in batch.sample_ids.tolist()]
    assert Counter(ids) == {64: 65, **dict.fromkeys(range(65, 128), 1)}
    assert sum(source.reads[index] for index in range(64)) <= 2 * 64
    assert sum(source.reads.values()) <= 128 + 2 * 64


def test_what_was_bad_may_be_a_substitute_in_the_next_epoch():
    source = Images(4, bad=[1, 2])
    loader = Loader(source, 4, PIPELINE, on_error="substitute", shuffle=False, collate=list, threads=1)
    with pytest.warns(UserWarning, match="2 bad samples were replaced"):
        assert [batch.sample_ids.tolist() for batch in loader] == [[0, 3, 3, 3]]
    source.bad.remove(2)
    with pytest.warns(UserWarning, match="1 bad sample was replaced"):
        assert [batch.sample_ids.tolist() for batch in loader] == [[0, 2, 2, 3]]


def test_a_substitute_may_be_99_samples_away_and_no_farther():
    batches = batches_of(Images(101, bad=range(1, 100)), 2, "substitute", shuffle=False)
    assert batches[0].sample_ids.tolist() == [0, 100]
    with pytest.raises(BadSample, match="sample 1 "):
        batches_of(Images(102, bad=range(1, 101)), 2, "substitute", shuffle=False)


FORMS = {"regions": Decoding(), "planes": Decoding(planes=True), "shrink": Decoding(shrink=True)}


@pytest.mark.parametrize("on_error", ["skip", "substitute"])
@pytest.mark.parametrize("name", FORMS)
def test_a_damaged_image_makes_no_other_one_be_decoded_again(name, on_error, monkeypatch):
    if name != "regions" and not has_native():
        pytest.skip("libjpeg-turbo was not built in")
    monkeypatch.setenv("ORBBEC_FEED", "0")
    calls = []
    for function in ("decode_region", "write_planes"):
        work = getattr(assemble, function)
        monkeypatch.setattr(
            assemble,
            function,
            lambda *given, work=work, **options: calls.append(1) or work(*given, **options),
        )
    (batch,) = batches_of(Images(16, cut=[5]), 16, on_error, FORMS[name], shuffle=False)
    expected = [*range(5), *([6] if on_error == "substitute" else []), *range(6, 16)]
    assert batch.sample_ids.tolist() == expected
    assert len(calls) <= 16 + (name == "planes" and on_error == "substitute")  # a substitute is copied there
    good = batches_of(Images(16), 16, "raise", FORMS[name], shuffle=False)[0]
    for row, sample_id in enumerate(expected):
        if not (name == "shrink" and sample_id == 6 and row == 5):  # substitutes are decoded whole
            assert torch.equal(batch.images[row], good.images[sample_id])


def test_an_image_that_another_decoder_takes_makes_no_other_one_be_decoded_again(monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", "0")
    calls = []
    work = assemble.decode_region

    def decode(data, *given, **options):
        calls.append(1)
        if data == jpeg(5):
            raise ValueError("not by this decoder")
        return work(data, *given, **options)

    expected = batches_of(Images(16), 16, "raise", shuffle=False)[0].images
    monkeypatch.setattr(assemble, "decode_region", decode)
    (batch,) = batches_of(Images(16), 16, "raise", shuffle=False)
    assert torch.equal(batch.images, expected)
    assert len(calls) == 16


def test_an_image_of_which_another_region_is_needed_is_not_copied():
    def attempt(left, value):
        regions = Regions(np.array([[0, 0, 4, 4], [left, 0, left + 4, 4]]), np.array([1, 1]))
        return Attempt(entries, None, [np.full((4, 4, 3), value) for _ in entries], regions)

    entries = [Opened(n, Sample(b""), None, None) for n in range(2)]
    second = attempt(2, 9)
    assert second.copy_from(attempt(1, 5)) == {0}
    assert [buffer.max() for buffer in second.buffers] == [5, 9]


def test_several_damaged_images_leave_the_others_as_they_are():
    expected = batches_of(Images(12), 12, "raise", shuffle=False)[0].images
    (batch,) = batches_of(Images(12, cut=[0, 4, 11], bad=[7], unfit=[2]), 12, "skip", shuffle=False)
    ids = batch.sample_ids.tolist()
    assert ids == [1, 3, 5, 6, 8, 9, 10]
    assert torch.equal(batch.images, expected[ids])


def test_a_misfit_is_found_with_few_plans(monkeypatch):
    plans = []
    work = Compose.plan
    monkeypatch.setattr(Compose, "plan", lambda *given, **options: plans.append(1) or work(*given, **options))
    (batch,) = batches_of(Images(64, unfit=[37]), 64, "skip", shuffle=False)
    assert batch.sample_ids.tolist() == [n for n in range(64) if n != 37]
    assert len(plans) <= 2 + 2 * 6 + 1  # log2(64) halvings


@pytest.mark.parametrize("unfit", [[0], [6], [0, 6], [2, 3, 4], range(6)])
def test_every_misfit_is_found(unfit):
    batches = batches_of(Images(7, unfit=unfit), 7, "skip", shuffle=False)
    assert [batch.sample_ids.tolist() for batch in batches] == [[n for n in range(7) if n not in unfit]]


def test_the_first_misfit_is_raised():
    with pytest.raises(BadSample, match=r"sample 2 .*is not finite"):
        batches_of(Images(7, unfit=[5, 2]), 7, "raise", shuffle=False)


BAD = {
    "skip": ({"bad": [1, 4, 5, 6, 7, 12]}, "skip"),
    "skip damaged": ({"cut": [0, 9]}, "skip"),
    "skip misfits": ({"unfit": [2, 3]}, "skip"),
    "skip all of a batch": ({"bad": range(4)}, "skip"),
    "substitute": ({"bad": [1, 4, 5], "cut": [9]}, "substitute"),
}


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("name", BAD)
def test_an_epoch_goes_on_at_the_exact_sample_after_bad_ones(name, world_size):
    fields, on_error = BAD[name]

    def loader(rank):
        order = Order(17, shuffle=False, rank=rank, world_size=world_size)
        options = {"order": order, "on_error": on_error, "collate": list, "threads": 1}
        return Loader(Images(17, **fields), 4, PIPELINE, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rank in range(world_size):
            whole = [batch.sample_ids.tolist() for batch in loader(rank)]
            for steps in range(1, len(whole)):
                first = loader(rank)
                for _ in zip(range(steps), first, strict=False):
                    state = first.state_dict()
                first.close()
                assert state["start"] % (4 * world_size) == 0  # whole batches were taken
                resumed = loader(rank)
                resumed.load_state_dict(state)
                assert [batch.sample_ids.tolist() for batch in resumed] == whole[steps:]


def test_a_stream_goes_on_at_the_exact_sample_after_bad_ones():
    def loader():
        samples = [BadSample(n, f"{n}.jpg", "lost") if n in (0, 3) else Images(9)[n] for n in range(9)]
        return Loader(iter(samples), 2, PIPELINE, on_error="skip", collate=list, threads=1)

    first = loader()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in zip(range(2), first, strict=False):
            state = first.state_dict()
        first.close()
        assert state["start"] == 4
        resumed = loader()
        resumed.load_state_dict(state)
        assert [batch.sample_ids.tolist() for batch in resumed] == [[4, 5], [6, 7], [8]]


def test_the_state_counts_what_was_skipped_in_batches_that_are_planned_only():
    loader = Loader(Images(8, bad=[0, 1, 5]), 4, PIPELINE, on_error="skip", shuffle=False, threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = [(batch.sample_ids.tolist(), loader.state_dict()["start"]) for batch in loader.planned()]
    assert taken == [([2, 3], 4), ([4, 6, 7], 8)]


@pytest.mark.parametrize("kind", ["bad", "cut", "unfit"])
def test_a_bad_sample_ends_the_epoch(kind):
    loader = Loader(Images(6, **{kind: [2]}), 2, PIPELINE, shuffle=False, threads=1)
    batches = iter(loader)
    assert next(batches).sample_ids.tolist() == [0, 1]
    with pytest.raises(BadSample, match="sample 2 "):
        next(batches)
    assert list(batches) == []


def test_the_line_that_raised_is_named_and_not_those_that_called_it():
    def inner():
        raise ValueError("bad")

    with pytest.raises(ValueError) as caught:  # noqa: PT011
        inner()
    line = inner.__code__.co_firstlineno + 1
    assert raised_in(caught.value, "caller.py") == f" (in inner, {__file__}:{line})"
    assert raised_in(caught.value, __file__) == ""


@pytest.mark.parametrize("feed", ["0", "1"])
@pytest.mark.parametrize("on_error", ["skip", "substitute"])
def test_a_pair_image_that_cannot_be_decoded_is_as_one_that_cannot_be_read(on_error, feed, monkeypatch):
    monkeypatch.setenv("ORBBEC_FEED", feed)
    transforms = Compose([RandomApply([Mosaic(16)], 0.5), Resize((16, 16))], seed=2)
    options = {"on_error": on_error, "pairs": "source", "collate": list, "shuffle": False, "threads": 1}
    found = []
    for bad in ("bad", "cut"):
        with pytest.warns(UserWarning, match="bad sample"):
            found.append(list(Loader(Images(16, **{bad: [3, 12]}), 8, transforms, **options)))
    for batch, other in zip(*found, strict=True):
        assert batch.sample_ids.tolist() == other.sample_ids.tolist()
        assert torch.equal(batch.images, other.images)
        assert str(batch.targets) == str(other.targets)
