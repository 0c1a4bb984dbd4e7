"""Training with two ranks: none waits forever; after one is killed, no sample is lost or repeated."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import torch

from orbbec.data import Loader, Order, Sample
from orbbec.data.loader.tests.train_rank import SAMPLES

SCRIPT = Path(__file__).with_name("train_rank.py")
KILL_AT = 3
PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
    pytest.skip("this torch has no gloo", allow_module_level=True)


def killed(folder: Path) -> tuple[str, float]:
    """Start two ranks and kill one; return the output of the other, and the seconds until it ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, SCRIPT, folder, "0", str(KILL_AT)],
            env={**os.environ, **where, "RANK": str(rank)},
            **PIPES,
        )
        for rank in range(2)
    ]
    try:
        assert ranks[1].wait(timeout=120) == -signal.SIGKILL, ranks[1].stderr.read()
        began = time.perf_counter()
        _, errors = ranks[0].communicate(timeout=60)
        assert ranks[0].returncode == 1, errors
        return errors, time.perf_counter() - began
    finally:
        for rank in ranks:
            rank.kill()
            rank.communicate()


def notes(folder: Path, rank: int) -> list[dict]:
    return [json.loads(line) for line in (folder / f"rank{rank}.jsonl").read_text().splitlines()]


def test_a_killed_rank_is_noticed_and_the_training_goes_on(tmp_path):
    errors, seconds = killed(tmp_path)
    assert seconds < 10  # measured 0.65
    assert "RuntimeError" in errors
    assert "Connection" in errors  # closed or reset by peer
    saved = json.loads((tmp_path / "saved.json").read_text())["steps"]
    assert saved == KILL_AT
    before = [entry for rank in range(2) for entry in notes(tmp_path, rank) if entry["step"] <= saved]
    for rank in range(2):
        (tmp_path / f"rank{rank}.jsonl").unlink()

    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run([*torchrun, SCRIPT, tmp_path, "1"], timeout=120, check=False, **PIPES)
    assert done.returncode == 0, done.stderr
    after = [notes(tmp_path, rank) for rank in range(2)]
    assert [e["step"] for e in after[0]] == [e["step"] for e in after[1]] == list(range(KILL_AT + 1, 13))
    for epoch in range(2):
        entries = [entry for entry in (*before, *after[0], *after[1]) if entry["epoch"] == epoch]
        counts = Counter(sample_id for entry in entries for sample_id in entry["ids"])
        first = Order(SAMPLES, seed=3).indices(epoch)[0].item()
        assert counts == Counter([*range(SAMPLES), first])  # 32 of 31: the first is repeated


@pytest.mark.parametrize("drop_last", [True, False])
def test_ranks_have_equally_many_batches(monkeypatch, drop_last):
    """The ranks in torchrun's environment variables, before there is a process group."""
    source = [Sample(torch.zeros(4, 4, 3, dtype=torch.uint8), {}, i) for i in range(31)]
    monkeypatch.setenv("WORLD_SIZE", "3")
    taken = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        loader = Loader(source, 5, seed=3, drop_last=drop_last)
        taken.append([batch.sample_ids.tolist() for batch in loader])
        assert len(taken[-1]) == len(loader) == (2 if drop_last else 3)
    counts = Counter(i for batches in taken for batch in batches for i in batch)
    order = Order(31, seed=3).indices().tolist()
    assert counts == Counter(order[:30] if drop_last else [*order, *order[:2]])
