"""exact=True: transforms have the bytes of their references, and pipelines those of the sequence.

OpenCV and Pillow run here; torchvision's results are recorded (exact.json, by record_exact.py).
"""

import json

import pytest
import torch

pytest.importorskip("cv2")
pytest.importorskip("PIL")

from orbbec import transforms as T
from orbbec.transforms.base.registry import known_transforms
from orbbec.transforms.tests.record_exact import PATH, PIPELINES, answers, digest, recorded_forms
from tests.support import assert_same_bytes, photographs
from tests.support.peers.references import PARITY
from tests.support.peers.sharpness import measure, measure_border
from tests.support.peers.transforms import FORMS, Pipeline

RECORDED = json.loads(PATH.read_text())
LIVE = [form for form in FORMS if form.promised and form.author != "torchvision"]


def names(forms):
    return [form.line().name for form in forms]


@pytest.mark.parametrize("form", LIVE, ids=names(LIVE))
def test_transform_has_the_bytes_of_its_author(form):
    for mine, theirs in answers(form):
        assert_same_bytes(mine(), theirs())


@pytest.mark.parametrize("form", recorded_forms(), ids=names(recorded_forms()))
def test_transform_has_the_recorded_bytes_of_torchvision(form):
    assert [digest(mine()) for mine, _ in answers(form)] == RECORDED["forms"][form.line().name]


@pytest.mark.parametrize("part", range(5))
def test_pipeline_is_its_authors_functions_in_turn(part):
    for seed in range(part, PIPELINES, 5):
        pipeline = Pipeline.drawn(seed)
        assert digest(pipeline.ours()) == RECORDED["pipelines"][seed], pipeline.transforms


@pytest.mark.parametrize(
    "pipeline",
    [
        T.RandomChoice([T.RandomInvert(1.0), T.GaussianBlur(3, 1.0)]),
        T.RandomOrder([T.RandomSolarize(99, 1.0), T.RandomEqualize(1.0)]),
    ],
    ids=lambda pipeline: pipeline.name,
)
def test_containers_change_images_by_what_they_hold(pipeline):
    images = photographs(8, 3, 20, 25)
    together = T.Compose([pipeline], seed=2, exact=True)(images, epoch=0)
    first, second = (T.Compose([transform], exact=True) for transform in pipeline.transforms)
    one, other = first(images), second(images)
    wanted = (one, other) if pipeline.name == "RandomChoice" else (second(one), first(other))
    chosen = [
        [torch.equal(image, each) for each in pair] for image, *pair in zip(together, *wanted, strict=True)
    ]
    assert {tuple(pair) for pair in chosen} == {(True, False), (False, True)}


def test_every_transform_says_what_its_numbers_are():
    known = {name: kind for name, kind in known_transforms().items() if kind.__module__.startswith("orbbec.")}
    assert {name for name, kind in known.items() if not kind.parity} == PARITY.keys()
    said = {
        (name, entry.author, entry.difference == "identical")
        for name, entries in PARITY.items()
        for entry in entries
        if entry.author
    }
    assert said == {(form.name, form.author, form.promised) for form in FORMS}


def test_resampling_once_is_sharper_than_step_by_step():
    fused_psnr, exact_psnr, fused_detail, exact_detail = measure()
    assert fused_psnr > exact_psnr + 8  # seen: 37.1 dB and 27.9 dB
    assert 0.68 < fused_detail < 1  # seen: 0.73
    assert exact_detail < 0.42  # seen: 0.37


def test_the_border_is_mixed_over_a_pixel_of_what_a_pass_reads():
    fused, exact = measure_border(4)
    assert 3.5 < fused < 4.2  # seen: 3.96, of 4
    assert 0.9 < exact < 1.1  # seen: 0.98
    assert max(measure_border(1)) < 1.1  # seen: 1.03
    turn = T.RandomRotation(20, "linear")
    plan = T.Compose([T.Resize(50, antialias=False), turn]).plan([(40, 40)], epoch=0)
    assert plan.notes == (
        "RandomRotation mixes its fill with the border over a pixel of what the pass reads",
    )
    assert T.Compose([T.CenterCrop(30), T.RandomHorizontalFlip()]).plan([(40, 40)], epoch=0).notes == ()
    assert T.Compose([T.Resize(50), turn]).plan([(40, 40)], epoch=0).notes == ()
