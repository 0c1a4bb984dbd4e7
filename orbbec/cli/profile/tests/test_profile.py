"""Bytes of pipelines, counted by hand; times that add up; refused arguments."""

import json
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest
import torch

pytest.importorskip("typer")
import orbbec
from orbbec import transforms as T
from orbbec.cli.profile import Cost, Profile
from orbbec.cli.profile.traffic import bytes_moved, floor_bytes
from orbbec.plan.points import seen_pixels
from tests.support import photographs
from tests.support.command import run_command

CENTER, FLOAT = T.CenterCrop((20, 24)), T.ToDtype(torch.float32, scale=True)


def moved(pipeline, **options):
    """The bytes of each pass for two images of 3x30x40."""
    found = orbbec.profile(T.Compose(pipeline, **options), photographs(2, 3, 30, 40), rounds=7)
    return found, {cost.name: (cost.read_bytes, cost.written_bytes) for cost in found.costs if cost.holds}


def test_one_pass_reads_what_it_sees_and_writes_its_output():
    found, passes = moved([CENTER, T.RandomHorizontalFlip(), FLOAT, T.Normalize()])
    pixels = 2 * 3 * 20 * 24
    assert passes == {"1. augment": (pixels, 4 * pixels)}
    assert found.moved_bytes == found.floor_bytes == 5 * pixels


def test_three_passes_move_more_than_they_must():
    found, passes = moved([CENTER, T.GaussianBlur(3), T.RandomInvert(), FLOAT])
    pixels = 2 * 3 * 20 * 24
    assert passes == {
        "1. augment": (pixels, pixels),
        "2. gaussian_blur": (pixels, pixels),
        "3. augment": (pixels, 4 * pixels),
    }
    assert (found.moved_bytes, found.floor_bytes) == (9 * pixels, 5 * pixels)


def test_what_a_later_pass_leaves_out_need_not_be_read():
    found, passes = moved([T.GaussianBlur(3), CENTER])
    pixels = 2 * 3 * 20 * 24
    assert passes == {"1. gaussian_blur": (2 * 3600, 2 * 3600), "2. augment": (pixels, pixels)}
    assert found.floor_bytes == 2 * pixels


@pytest.mark.parametrize(
    ("pipeline", "read", "written"),
    [
        ([T.ColorJitter(contrast=0.5)], 2 * 7200, 7200),  # the mean first
        ([FLOAT, T.MixUp()], 2 * 7200, 4 * 7200),
        ([T.MixUp()], 2 * 7200, 7200),
        ([T.CutMix()], 7200, 7200),
        ([T.RandomApply([T.RandomEqualize(1.0)], 0.0)], 0, 0),
        ([T.Resize((10, 10))], 7200, 600),
        ([T.Grayscale(1)], 7200, 2400),
        ([T.Pad(5)], 7200, 2 * 3 * 40 * 50),
    ],
)
def test_bytes_of_a_pass(pipeline, read, written):
    assert list(moved(pipeline)[1].values()) == [(read, written)]


def test_a_blend_counts_its_copies():
    plan = T.Compose([T.AugMix(mixture_width=2, chain_depth=1)]).plan([(30, 40)] * 2, epoch=0)
    (blend,) = plan.passes
    inner = [bytes_moved(step, step.sizes, 3, 3) for step in blend.passes]
    read, written = (sum(column) for column in zip(*inner, strict=True))
    assert read > 0
    assert bytes_moved(blend, plan.sizes, 3, 3) == (read + 3 * 7200, written + 7200)
    assert floor_bytes(plan, 3, 3) == 2 * 7200


def test_a_map_sees_the_box_about_its_corners():
    turned = np.array([[[0.8, -0.6, 10.0], [0.6, 0.8, 10.0], [0, 0, 1]]])
    # The corner (0, 0) of an output of 10 x 5 is at (10.4, 9.8). From there, x extends from -3 to 8 and y
    # from 0 to 10: columns 7 to 18 and rows 9 to 19.
    assert seen_pixels(turned, np.array([[5, 10]]), np.array([[99, 99]])) == 12 * 11
    assert seen_pixels(turned, np.array([[5, 10]]), np.array([[15, 12]])) == 5 * 6
    past_horizon = np.array([[[1.0, 0, 0], [0, 1, 0], [-0.5, 0, 1]]])
    assert seen_pixels(past_horizon, np.array([[5, 10]]), np.array([[7, 6]])) == 42


@pytest.mark.parametrize("kind", ["tensor", "list", "ragged", "single"])
def test_any_images_are_profiled_with_the_bytes_of_a_call(kind):
    images = photographs(2, 3, 30, 40)
    arrays = [image.permute(1, 2, 0).numpy() for image in images]
    batch = {
        "tensor": images,
        "list": list(images.float() / 255),
        "ragged": orbbec.ImageBatch.from_images([arrays[0], arrays[1][:20, :30].copy()]),
        "single": arrays[0],
    }[kind]
    found = orbbec.profile(T.Compose([T.RandomInvert()]), batch, rounds=7)
    written = {"tensor": 7200, "list": 4 * 7200, "ragged": 3600 + 1800, "single": 3600}[kind]
    assert [cost.written_bytes for cost in found.costs if cost.holds] == [written]


def test_parts_add_up_to_the_whole_and_the_whole_to_less_than_the_clock():
    began = perf_counter()
    found, _ = moved([CENTER, T.GaussianBlur(5)])
    elapsed = perf_counter() - began
    for number, wall in enumerate(found.wall_seconds):
        assert 0 < sum(cost.seconds[number] for cost in found.costs if cost.holds) < wall
    assert 0 < sum(found.wall_seconds) + sum(found.copy_seconds) < elapsed
    assert len(found.wall_seconds) == 7


def made_up(**seconds):
    """A profile with the given times."""
    costs = [
        Cost("read the images", (), "", 0, 0, (seconds.get("read", 0.1),)),
        Cost("draw the plan", (), "", 0, 0, (seconds.get("draw", 0.1),)),
        Cost("1. augment", ("CenterCrop",), "", 500, 500, (seconds.get("augment", 0.1),)),
        Cost("2. equalize", ("RandomEqualize",), "it reads all", 500, 500, (seconds.get("operator", 0.1),)),
        Cost("return the results", (), "", 0, 0, (seconds.get("back", 0.1),)),
    ]
    total = sum(cost.seconds[0] for cost in costs)
    return Profile(4, "cpu", 1, tuple(costs), (total,), 1000, (0.5,))


@pytest.mark.parametrize(
    ("part", "advice"),
    [
        (
            "read",
            "read the images takes 71 %: a list is copied to one buffer; give an ImageBatch or a tensor",
        ),
        ("draw", "draw the plan takes 71 %: this cost is per batch, so larger batches spread it"),
        ("augment", "1. augment takes 71 %, at 50 % of the rate of a copy: the rest is arithmetic"),
        ("operator", "2. equalize takes 71 %. It is a separate pass because it reads all"),
        ("back", "return the results takes 71 %: results are laid out anew; give tensors to get tensors"),
    ],
)
def test_advice_names_what_takes_longest(part, advice):
    found = made_up(**{part: 1.0})
    assert found.advice == str(found).splitlines()[-1] == advice


def test_a_pass_as_fast_as_a_copy_is_said_to_be():
    found = replace(made_up(augment=1.0), copy_seconds=(1.0,))
    assert (
        found.advice
        == "1. augment takes 71 %, at 100 % of the rate of a copy: only fewer bytes make it faster"
    )
    assert (found.copy_rate, found.moved_bytes) == (1000, 2000)
    assert round(found.fraction_of_copy, 3) == round(1 / 1.4, 3)


@pytest.mark.parametrize(
    ("count", "rounds", "message"),
    [
        (2, 6, "profile: expected rounds of at least 7, but got 6"),
        (0, 7, "profile: expected at least 1 image"),
    ],
)
def test_profile_names_the_bad_argument(count, rounds, message):
    with pytest.raises(ValueError, match=message):
        orbbec.profile(T.Compose([CENTER]), photographs(count, 3, 30, 40), rounds=rounds)


def test_profile_refuses_planes():
    with pytest.raises(TypeError, match="profile: expected images, but got planes"):
        orbbec.profile(T.Compose([CENTER]), orbbec.YCbCrBatch.of_sizes([(30, 40)], ["420"]))


def test_passes_are_told_to_whoever_asks_and_stay_the_same():
    images, pipeline = photographs(2, 3, 30, 40), T.Compose([CENTER, T.GaussianBlur(3)])
    plan, seen = pipeline.plan([(30, 40)] * 2, epoch=0), []
    result = orbbec.plan.run_passes(
        plan,
        orbbec.plan.read_images(images),
        after=lambda number, work: seen.append((plan.passes[number].name, work)),
    )
    assert torch.equal(result, pipeline(images, epoch=0))
    assert [name for name, _ in seen] == ["augment", "gaussian_blur"]
    assert torch.equal(seen[0][1], T.Compose([CENTER])(images, epoch=0))


def invoke(tmp_path, *arguments):
    path = tmp_path / "pipeline.json"
    path.write_text(T.Compose([CENTER, FLOAT]).to_json())
    return run_command("profile", "--pipeline", path, "--rounds", 7, *arguments)


def test_the_command_prints_a_table_and_writes_json(tmp_path):
    result = invoke(tmp_path, "--batch", "2", "--size", "30x40", "--json", tmp_path / "found.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 images on cpu, ")
    written = json.loads((tmp_path / "found.json").read_text())
    assert written["floor_bytes"] == 5 * 2 * 3 * 20 * 24
    assert [cost["name"] for cost in written["costs"]] == [
        "read the images",
        "draw the plan",
        "1. augment",
        "return the results",
    ]


def test_the_command_takes_image_files(tmp_path):
    image = pytest.importorskip("PIL.Image").new("RGB", (40, 30))
    image.save(tmp_path / "a.png")
    result = invoke(tmp_path, tmp_path / "a.png")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("1 image on cpu, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--size", "30"), "profile: expected --size like 375x500, but got 30"),
        (("--device", "nowhere"), "nowhere"),
    ],
)
def test_the_command_names_the_bad_argument(tmp_path, arguments, message):
    result = invoke(tmp_path, "--batch", "2", *arguments)
    assert result.exit_code == 1
    assert message in result.stderr
