"""Attacks the Loader in rounds until the time is up; prints their number, or ends at the first failure.

    python tests/attack/loader_rounds.py SEED SECONDS [ATTACK ...]

A round is determined by its seed and number. A round that hangs is ended after a minute, with the stack of
each thread.
"""

import faulthandler
import gc
import hashlib
import json
import os
import pickle
import random
import signal
import sys
import threading
import time
import weakref
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, not the installed package
from soak_loader import Point

from orbbec.data import BadSample, ImageFiles, Loader, Order, Sample, SourceError
from orbbec.data.loader.queues import Worker
from orbbec.data.sample import read_bytes
from orbbec.transforms import RandomHorizontalFlip, RandomResizedCrop
from tests.support.damage.damage import good_file

HANG = 60.0  # seconds per round
GROWTH = 64.0  # MiB after the first rounds; a batch of one round has up to 20
WARM_UP = 0.3  # of the time
FOLDER = TemporaryDirectory()


class Source:
    """Images that encode their index; some are bad, raise, or are slow."""

    def __init__(self, chance: random.Random, length: int, side: int = 8, faults: bool = False) -> None:
        self.length, self.side, self.pixels = length, side, list[weakref.ref[np.ndarray]]()
        kinds = ["bad", "bad", "slow", "garbage"] if faults else []
        self.kinds = {i: chance.choice(kinds) for i in range(length) if kinds and chance.random() < 0.2}

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Sample:
        kind = self.kinds.get(index)
        if kind == "slow":
            time.sleep(0.003)
        elif kind == "bad":
            try:
                raise OSError(f"no file {index}")
            except OSError as error:
                raise BadSample(index, f"{index}.jpg", "gone") from error
        elif kind == "garbage":
            cycle = [[] for _ in range(50)]
            cycle.append(cycle)
        elif kind == "raises":
            raise KeyError(index)
        pixels = np.full((self.side, self.side, 3), index % 251, np.uint8)
        self.pixels.append(weakref.ref(pixels))
        return Sample(pixels, {"label": index}, index)

    @property
    def bad(self) -> list[int]:
        return sorted(i for i, kind in self.kinds.items() if kind == "bad")


@cache
def jpeg(side: int) -> str:
    """The path of a JPEG."""
    path = Path(FOLDER.name, f"{side}.jpg")
    path.write_bytes(good_file("jpeg", (side, side)))
    return str(path)


class FileSource(Source):
    """JPEGs, which the feed reads; bad ones are missing."""

    def table(self) -> ImageFiles:
        return ImageFiles([self.path(index) for index in range(self.length)])

    def path(self, index: int) -> str:
        return f"{FOLDER.name}/none" if self.kinds.get(index) == "bad" else jpeg(self.side)

    def targets(self, index: int) -> dict[str, int]:
        return super().__getitem__(index).targets if self.kinds.get(index) != "bad" else {"label": index}

    def __getitem__(self, index: int) -> Sample:
        return Sample(read_bytes(self.path(index), index), self.targets(index), index)


def source_of(chance: random.Random, *arguments: int, **options: bool) -> Source:
    return chance.choice([Source, FileSource])(chance, *arguments, **options)


def loader_of(chance: random.Random, source: Source, **options: object) -> Loader:
    pipeline = [RandomResizedCrop(source.side), RandomHorizontalFlip()] if chance.random() < 0.5 else None
    sizes = {"batch_size": chance.randint(1, 7), "threads": chance.choice([1, 2, 3, "auto"])}
    return Loader(
        source, transforms=pipeline, prefetch=chance.choice([0, 1, 3, "auto"]), **{**sizes, **options}
    )


def ids_of(batch: object) -> list[int]:
    ids = batch.sample_ids.tolist()
    assert batch.targets["label"].tolist() == ids
    return ids


def expect(is_true: object, *told: object) -> None:
    if not is_true:
        raise AssertionError(told)


def faults(chance: random.Random) -> None:
    """Every id occurs once, or is reported as a fault, which keeps no pixels."""
    source = source_of(chance, chance.randint(1, 60), faults=True)
    policy = chance.choice(["skip", "skip", "substitute", "raise"])
    if chance.random() < 0.2:
        source.kinds[chance.randrange(len(source))] = "raises"
    loader = loader_of(chance, source, on_error=policy, seed=chance.randrange(99))
    raises, good = "raises" in source.kinds.values(), len(source) - len(source.bad)
    wanted, given = loader.order.indices(0).tolist(), []
    try:
        for batch in loader:
            given += ids_of(batch)
    except (BadSample, SourceError) as error:
        failing = isinstance(error, SourceError) or policy == "raise" or not good
        expect(failing and (raises or source.bad), repr(error), policy)
        expect(error.__cause__ is error.__context__ is None and "Traceback" in error.details)
        if policy == "raise":
            expect(given == wanted[: len(given)], given, wanted)
        return
    told = sorted(fault.sample_id for fault in loader.faults)
    gc.collect()
    expect(not [pixels for pixels in source.pixels if pixels() is not None], "faults hold pixels")
    expect(not raises and (policy != "raise" or not source.bad), policy)
    expect(told == source.bad, told, source.bad)
    if policy == "substitute":
        expect(len(given) == len(source) and not {*given} & {*told}, given)
    else:
        expect(sorted(given + told) == [*range(len(source))], given, told)


def leave(chance: random.Random) -> None:
    """Epochs that are left in every way, with frequent garbage collection; each is the next one."""
    source = source_of(chance, chance.randint(4, 60), chance.choice([8, 200]), faults=True)
    source.kinds = {index: kind for index, kind in source.kinds.items() if kind != "bad"}
    loader, before = loader_of(chance, source, seed=chance.randrange(99)), gc.get_threshold()
    gc.set_threshold(chance.choice([1, 5, 50]), 2, 2)
    try:
        for epoch in range(chance.randint(1, 6)):
            steps, given = chance.randint(1, 5), []
            batches = iter(loader)
            for batch in batches:
                given += ids_of(batch)
                steps -= 1
                if not steps:
                    break
            expect(given == loader.order.indices(epoch).tolist()[: len(given)], epoch, given)
            way = chance.choice(["drop", "cycle", "thread", "close", "displace", "fail"])
            if way == "cycle":
                trainer = {"batches": batches, "loader": loader if chance.random() < 0.5 else None}
                trainer["self"] = trainer
                del trainer
            elif way == "thread":
                closing = threading.Thread(target=loader.close)
                closing.start()
                expect(list(batches) is not None)
                closing.join()
                loader.set_epoch(epoch + 1)
            elif way == "close":
                chance.choice([loader, batches]).close()
            elif way == "displace":
                iter(loader)
            batch = batches = None
    finally:
        gc.set_threshold(*before)


def interrupt(chance: random.Random) -> None:
    """Ctrl-C at any moment: threads end, and the state is that of the last batch or the one in progress."""
    source = source_of(chance, 60, faults=True)
    source.kinds = {index: kind for index, kind in source.kinds.items() if kind != "bad"}
    loader = loader_of(chance, source, seed=chance.randrange(99))
    order, given = loader.order.indices(0).tolist(), []

    def ring(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, chance.uniform(1e-4, 0.03))
        for batch in loader:
            given += batch.sample_ids.tolist()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
    loader.close()
    left = [thread for thread in threading.enumerate() if isinstance(thread, Worker)]
    expect(not left, left)
    expect(given == order[: len(given)], given, order)
    state = loader.state_dict()
    start = state["start"] if state["epoch"] == 0 else len(order)
    expect(0 <= start - len(given) <= loader.batch_size, state, len(given))
    loader.load_state_dict(state)
    if state["epoch"] == 0:
        expect([i for batch in loader for i in ids_of(batch)] == order[start:], state)


def fork(chance: random.Random) -> None:
    """A child refuses the epoch of its parent and begins its own; the parent continues."""
    source = source_of(chance, chance.randint(10, 60))
    loader = loader_of(chance, source, seed=chance.randrange(99))
    batches, given = iter(loader), []
    for _ in range(chance.randint(1, 3)):
        given += [i for batch in [next(batches, None)] if batch is not None for i in ids_of(batch)]
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(
                int(HANG) // 2
            )  # faulthandler would wait for its thread, which exists only in the parent
            try:
                was_refused = next(batches, None) is None and len(given) >= len(source)
            except RuntimeError as error:
                was_refused = "began before a fork" in str(error)
            loader.set_epoch(7)
            own = [i for batch in loader for i in batch.sample_ids.tolist()]
            status = 0 if was_refused and own == loader.order.indices(7).tolist() else 2
        finally:
            os._exit(status)
    given += [i for batch in batches for i in ids_of(batch)]
    expect(os.waitpid(child, 0)[1] == 0, "child")
    expect(given == loader.order.indices(0).tolist(), given)


def resume(chance: random.Random) -> None:
    """An epoch with changing numbers of ranks has every id once."""
    source, seed = source_of(chance, chance.randint(5, 80)), chance.randrange(99)
    state, counts, epoch = None, Counter(), chance.randrange(3)
    while True:
        ranks, steps = chance.randint(1, 3), chance.choice([1, 2, 3, 100])
        size, states = chance.randint(1, 4), []
        for rank in range(ranks):
            order = Order(len(source), seed, rank=rank, world_size=ranks)
            loader = loader_of(chance, source, batch_size=size, order=order)
            if state is None:
                loader.set_epoch(epoch)
            else:
                loader.load_state_dict(json.loads(json.dumps(state)))
            for step, batch in enumerate(loader, start=1):
                counts.update(ids_of(batch))
                if step == steps:
                    break
            states.append(loader.state_dict())
            loader.close()
        common = [(one["epoch"], one["start"]) for one in states]
        if max(common)[0] > epoch or min(common)[1] == len(source):
            expect(counts == Counter(range(len(source))), counts)
            return
        # Short ranks end one batch earlier; after a complete step, all are at the same step.
        state = states[0] if len({*common}) == 1 else None
        if state is None:
            counts.clear()


EXPORTS = {
    "tensor": lambda x: x,
    "view": lambda x: x[..., 1:, :],
    "numpy": lambda x: x.numpy(),
    "rows of numpy": lambda x: x.numpy()[::2],
    "dlpack": lambda x: torch.from_dlpack(x),
    "numpy of dlpack": lambda x: np.from_dlpack(x),
    "memoryview": lambda x: memoryview(x.numpy()),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "detached": lambda x: x.detach(),
    "flat": lambda x: x.flatten(),
    "storage": lambda x: torch.empty(0, dtype=x.dtype).set_(x.untyped_storage()),
    "shared": lambda x: x.share_memory_(),
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
    "an image": lambda x: x[len(x) // 2],
}


def digest(value: object) -> str:
    array = value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)
    return hashlib.blake2b(np.ascontiguousarray(array)).hexdigest()


def export(chance: random.Random) -> None:
    """The results of a batch never change, although the memory of other batches is reused."""
    side = chance.choice([100, 224])
    source = Source(chance, 96, side)
    pipeline = [RandomResizedCrop(side)] if chance.random() < 0.5 else None
    loader = Loader(source, 24, pipeline, threads=2, seed=chance.randrange(99))
    kept = []
    for _ in range(2):
        for batch in loader:
            tensor = batch.images if pipeline else batch.images.buffer
            expected = {ids: int(label) for ids, label in enumerate(batch.targets["label"])}
            expect(list(expected.values()) == batch.sample_ids.tolist())
            names = chance.sample([*EXPORTS], 3)
            if "shared" in names:  # torch reallocates the tensor and frees the memory of its arrays
                names = ["shared"]
            for name in names:
                if pipeline or name not in ("view", "an image"):
                    value = EXPORTS[name](tensor)
                    kept.append((name, value, digest(value)))
            while len(kept) > 12:
                kept.pop(chance.randrange(len(kept)))
    del batch, tensor, value
    for name, value, expected in kept:
        expect(digest(value) == expected, name)


ATTACKS = {f.__name__: f for f in (faults, leave, interrupt, fork, resume, export)}


def main(seed: int, seconds: float, attacks: list[str]) -> None:
    """Run all or some attacks for equal fractions of the time; print one line for each."""
    faulthandler.enable()
    gc.freeze()  # exclude imported objects, which makes collections fast
    torch.set_num_threads(1)
    for attack in attacks or ATTACKS:
        print(attack, run(attack, seed, seconds / len(attacks or ATTACKS)), flush=True)


def run(attack: str, seed: int, seconds: float) -> int:
    """Run at least 3 rounds of an attack; return their number."""
    began, rounds, middle = time.monotonic(), 0, None
    while time.monotonic() - began < seconds or rounds < 3:
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            ATTACKS[attack](random.Random(f"{seed} {rounds}"))
        except BaseException:
            print(f"{attack}: seed {seed}, round {rounds}", file=sys.stderr)
            raise
        rounds += 1
        if middle is None and time.monotonic() - began > WARM_UP * seconds:
            gc.collect()
            middle = Point.now(rounds)
    latest = time.monotonic() + HANG / 2
    gc.collect()
    while [t for t in threading.enumerate() if isinstance(t, Worker)] and time.monotonic() < latest:
        time.sleep(0.01)
    last = Point.now(rounds)
    expect(last.threads == 1, threading.enumerate())
    expect(middle is None or last.resident < middle.resident + GROWTH, middle, last)
    expect(middle is None or last.descriptors <= middle.descriptors, middle, last)
    return rounds


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
