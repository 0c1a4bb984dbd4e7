"""Philox compared with the test vectors of its authors, and its distributions compared with NumPy."""

import math

import numpy as np
import pytest
import torch

from orbbec.noise.philox import philox_blocks, philox_draws, philox_noise
from tests.support import assert_same_bytes
from tests.support import philox as oracle

KEY = {"seed": 0x123456789ABCDEF, "epoch": 3, "transform_index": 40000}
# Random123 1.14, kat_vectors: counter, key, block.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]
IDS = [0, 1, -1, 2**40 + 5, 2**63 - 1]


def words_of(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "block"), KNOWN)
def test_philox_has_the_blocks_of_its_authors(counter, key, block):
    counter, key, block = words_of(counter), words_of(key), words_of(block)
    assert philox_blocks(torch.tensor([counter]), tuple(key)).tolist() == [block]
    assert oracle.philox(np.array(counter, np.uint64), np.array(key, np.uint64)).tolist() == block


def test_philox_is_that_of_numpy():
    counters = np.random.default_rng(0).integers(0, 1 << 32, (5000, 4))
    key = (0x9E3779B9, 0xFFFFFFFF)
    assert_same_bytes(
        philox_blocks(counters, key).numpy().astype(np.uint64), oracle.philox(counters, np.array(key))
    )


def drawn_at(index, count=1):
    return torch.ops.orbbec.philox_draws(torch.tensor(IDS), 5, "uniform", 1, 3, 4, index, count)


def test_several_transforms_are_drawn_one_after_the_other():
    alone = [drawn_at(index) for index in (65533, 65534, 65535)]
    assert_same_bytes(drawn_at(65533, 3).numpy(), torch.cat(alone).numpy())


def test_a_stream_draws_the_words_in_order():
    words = np.stack([oracle.blocks(sample, np.arange(25), **KEY).reshape(-1) for sample in IDS])
    assert_same_bytes(philox_draws(IDS, 100, **KEY).numpy(), oracle.uniforms(words).astype(np.float64))
    for below in (1, 2, 7, 2**31 + 1, 2**32 - 1):
        expected = (words * np.uint64(below)) >> np.uint64(32) if below < 2**31 else None
        drawn = philox_draws(IDS, 100, kind="below", below=below, **KEY).numpy()
        if expected is None:
            expected = [[word * below >> 32 for word in row] for row in words.tolist()]
        assert_same_bytes(drawn, np.array(expected, np.float64))


def test_normals_of_a_stream_are_the_first_of_their_pairs():
    words = np.stack([oracle.blocks(sample, np.arange(500), **KEY).reshape(-1) for sample in IDS])
    drawn = philox_draws(IDS, 1000, kind="normal", **KEY).numpy()
    assert_same_bytes(drawn, oracle.float32_normals(words)[:, 0::2].astype(np.float64))


def edge_words():
    """Near 0, powers of 2, the borders of octants, and where the nearest power of 2 changes."""
    near = np.arange(-20, 21)
    centers = [1 << bit for bit in range(33)] + [k << 28 for k in range(16)]
    centers += [round(2 ** (bit + 0.5)) for bit in range(32)]
    return (np.array(centers)[:, None] + near).astype(np.uint64).reshape(-1) & np.uint64(0xFFFFFFFF)


def ulps(actual, exact):
    """Errors in units in the last place of float32."""
    return np.abs(actual.astype(np.float64) - exact) / np.spacing(np.abs(exact).astype(np.float32))


@pytest.mark.parametrize("kind", ["random", "first is an edge", "second is an edge", "both"])
def test_normals_are_exact_to_a_few_bits(kind):
    rng = np.random.default_rng(3)
    words = rng.integers(0, 1 << 32, (1_000_000, 2), dtype=np.uint64)
    edges = rng.permutation(np.tile(edge_words(), 200))[: len(words)]
    if kind in ("first is an edge", "both"):
        words[: len(edges), 0] = edges
    if kind in ("second is an edge", "both"):
        words[: len(edges), 1] = edges if kind != "both" else rng.permutation(edges)
    actual, exact = oracle.float32_normals(words), oracle.normals(words)
    assert ulps(actual, exact).max() <= 3.3  # seen: 3.23, in 10 million random pairs of words
    assert np.abs(actual - exact).max() <= 1e-6  # seen: 8e-7


def test_normals_of_the_last_words_by_hand():
    words = np.array([[2**32 - 1, 5], [0, 0], [0, 1 << 30], [0, 2**31], [0, 3 << 30]], np.uint64)
    top = np.float32(np.sqrt(64 * np.log(2)))  # 6.66, the largest
    expected = [[0, 0], [top, 0], [0, top], [-top, 0], [0, -top]]
    assert (oracle.float32_normals(words) == np.array(expected, np.float32)).all()


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (3, 7, 16), (1, 40, 33)])
def test_uniform_noise_is_that_of_numpy(device, shape):
    ids = torch.tensor(IDS)
    actual = philox_noise(device.put(ids), shape[0], shape[1:], **KEY)
    words = np.stack([oracle.noise_words(sample, shape, **KEY)[..., : shape[2]] for sample in IDS])
    assert_same_bytes(actual.cpu().numpy(), oracle.uniforms(words))


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 5), (3, 40, 33)])
def test_normal_noise_is_that_of_numpy(device, shape):
    actual = philox_noise(device.put(torch.tensor(IDS)), shape[0], shape[1:], kind="normal", **KEY)
    words = np.stack([oracle.noise_words(sample, shape, **KEY) for sample in IDS])
    assert_same_bytes(actual.cpu().numpy(), oracle.float32_normals(words)[..., : shape[2]])


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_large_noise_reuses_memory_and_has_the_same_numbers(device, kind):
    ids = device.put(torch.tensor(IDS))
    first = philox_noise(ids, 2, (150, 201), kind=kind, **KEY)
    options = kind, KEY["seed"], KEY["epoch"], KEY["transform_index"]
    expected = torch.ops.orbbec.philox_noise(ids, 2, 150, 201, *options)
    assert_same_bytes(first, expected)
    address = first.data_ptr()
    del first
    if device.name == "cpu":
        assert philox_noise(ids, 2, (150, 201), kind=kind, **KEY).data_ptr() == address
    out = torch.empty_like(expected)
    torch.ops.orbbec.philox_noise_out(ids, 2, 150, 201, *options, out)
    assert_same_bytes(out, expected)


@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_noise_is_the_same_on_every_device(accelerator, kind):
    ids = torch.arange(3) * 77
    expected = philox_noise(ids, 2, (30, 37), kind=kind, seed=5)
    with accelerator.active():
        actual = philox_noise(accelerator.put(ids), 2, (30, 37), kind=kind, seed=5)
    assert_same_bytes(actual, expected)


def test_noise_is_that_of_the_sample_alone(device):
    ids = device.put(torch.tensor([9, 4, 7]))
    together = philox_noise(ids, 2, (5, 6))
    for sample, field in zip([9, 4, 7], together, strict=True):
        alone = philox_noise(device.put(torch.tensor([sample])), 2, (5, 6))[0]
        assert_same_bytes(field, alone)
    assert_same_bytes(philox_noise(ids, 1, (5, 6)), together[:, :1])  # for any number of other channels
    for other in ({"seed": 1}, {"epoch": 1}, {"transform_index": 1}):
        assert (philox_noise(ids, 2, (5, 6), **other) != together).any()


def test_the_numbers_look_random():
    uniform = philox_noise([0], 1, (500, 800)).double()
    normal = philox_noise([0], 1, (500, 800), kind="normal").double()
    # Four standard deviations of the estimates from 400,000 numbers.
    assert abs(uniform.mean() - 0.5) < 4 * (1 / 12 / 4e5) ** 0.5
    assert abs(uniform.var() - 1 / 12) < 4 * (1 / 180 / 4e5) ** 0.5
    assert abs(normal.mean()) < 4 / 4e5**0.5
    assert abs(normal.var() - 1) < 4 * (2 / 4e5) ** 0.5
    assert abs((normal**3).mean()) < 4 * (15 / 4e5) ** 0.5
    assert abs((normal**4).mean() - 3) < 4 * (96 / 4e5) ** 0.5
    neighbors = torch.corrcoef(torch.stack([normal[..., :-1].flatten(), normal[..., 1:].flatten()]))
    assert abs(neighbors[0, 1]) < 4 / 4e5**0.5


def test_the_tails_of_normals_have_the_mass_of_the_normal_distribution():
    normal = philox_noise([1], 20, (1000, 1000), kind="normal", seed=8)
    for limit in (1, 2, 3, 4, 5, 6):
        expected = normal.numel() * math.erfc(limit / 2**0.5)
        found = (normal.abs() > limit).sum().item()
        assert abs(found - expected) <= 4 * expected**0.5 + 1  # at 6: 0.04 are expected


def test_noise_of_nothing(device):
    none = device.put(torch.zeros(0, dtype=torch.int64))
    assert philox_noise(none, 2, (3, 4)).shape == (0, 2, 3, 4)
    assert philox_noise(device.put(torch.zeros(1, dtype=torch.int64)), 0, (3, 0)).shape == (1, 0, 3, 0)
    assert philox_draws([], 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"kind": "pink"}, ValueError, "expected noise to be one of uniform, normal, but got pink"),
        ({"seed": 1.5}, TypeError, "expected seed as a whole number, but got 1.5"),
        ({"seed": -1}, ValueError, "expected seed from 0 to 9223372036854775807, but got -1"),
        ({"epoch": 2**63}, ValueError, "expected epoch from 0"),
        ({"transform_index": 65536}, ValueError, "expected transform_index from 0 to 65535, but got 65536"),
        ({"sample_ids": [0.5]}, TypeError, "expected sample_ids of whole numbers, but got float32"),
        (
            {"sample_ids": [[1], [1, 2]]},
            ValueError,
            "expected sample_ids as whole numbers in rows of one length",
        ),
        ({"sample_ids": [[1]]}, ValueError, r"expected sample_ids of shape \[N\], but got \[1, 1\]"),
        ({"sample_ids": "ab"}, TypeError, "expected sample_ids as a tensor or an array"),
        ({"channels": -1}, ValueError, "expected at most 2147483647 rows and columns"),
        ({"channels": 2**20, "size": (2**20, 1)}, ValueError, "expected at most 2147483647 rows"),
        ({"sample_ids": {0, 1}}, TypeError, "expected sample_ids as a tensor"),
    ],
)
def test_noise_names_the_bad_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        philox_noise(**{"sample_ids": [0, 1], "channels": 1, "size": (2, 2), **arguments})


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: philox_draws([0], 1, kind="word"), "expected kind to be one of uniform, normal, below"),
        (lambda: philox_draws([0], 1, below=0), "expected below from 1 to 4294967295, but got 0"),
        (lambda: philox_draws([0], -1), "expected count from 0"),
        (lambda: drawn_at(0, 0), "expected transform_count from 1 to 65536, but got 0"),
        (lambda: drawn_at(0, 65537), "expected transform_count from 1 to 65536, but got 65537"),
        (lambda: drawn_at(65530, 7), "expected transform_index from 0 to 65535, but got 65536"),
        (lambda: philox_draws([[0]], 1), r"expected sample_ids of shape \[N\] on the CPU"),
        (lambda: philox_blocks(torch.zeros(4).long(), (0, 0)), r"expected counters as int64 \[K, 4\]"),
        (lambda: philox_blocks(torch.zeros(1, 4).long(), (-1, 0)), "expected the words of key from 0"),
        (
            lambda: torch.ops.orbbec.philox_noise(torch.zeros(1), 1, 1, 1, "uniform", 0, 0, 0),
            "expected sample_ids of int64",
        ),
        (
            lambda: torch.ops.orbbec.philox_noise_out(
                torch.arange(2), 1, 1, 1, "uniform", 0, 0, 0, torch.zeros(1, 1, 1, 1)
            ),
            r"expected out of shape \[2, 1, 1, 1\], but got \[1, 1, 1, 1\]",
        ),
    ],
)
def test_the_operators_refuse(device, run, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        run()


def test_noise_passes_opcheck(device):
    ids = device.put(torch.arange(2))
    torch.library.opcheck(torch.ops.orbbec.philox_noise.default, (ids, 2, 3, 5, "normal", 1, 2, 3))
    out = device.put(torch.empty(2, 1, 3, 5))
    torch.library.opcheck(torch.ops.orbbec.philox_noise_out.default, (ids, 1, 3, 5, "uniform", 1, 2, 3, out))
    torch.library.opcheck(torch.ops.orbbec.philox_draws.default, (torch.arange(2), 5, "normal", 1, 1, 2, 3))
    torch.library.opcheck(torch.ops.orbbec.philox_draws.default, (torch.arange(2), 5, "below", 6, 1, 2, 3, 4))
    torch.library.opcheck(torch.ops.orbbec.philox_blocks.default, (torch.zeros(2, 4).long(), 1, 2))


def test_noise_compiles_as_one_graph_for_all_epochs(device):
    graphs = []

    def count(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(
        lambda ids, epoch: philox_noise(ids, 2, (3, 5), epoch=epoch) + 1, fullgraph=True, backend=count
    )
    ids = device.put(torch.arange(2))
    for epoch in range(2, 7):
        assert_same_bytes(compiled(ids, epoch), philox_noise(ids, 2, (3, 5), epoch=epoch) + 1)
    assert len(graphs) <= 2


@pytest.mark.cuda
def test_noise_is_captured_in_a_graph():
    ids = torch.arange(2).cuda()
    expected = philox_noise(ids, 2, (30, 50))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        actual = philox_noise(ids, 2, (30, 50))
    graph.replay()
    assert_same_bytes(actual, expected)
