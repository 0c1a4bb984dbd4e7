"""Transforms and pipelines as torch modules: called, copied, compared and printed."""

import copy
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest
import torch

from orbbec import transforms as T
from orbbec.transforms import functional
from orbbec.transforms.base.registry import known_transforms
from tests.support import photographs

IMAGES = photographs(2, 3, 20, 24)
PHOTOS = photographs(2, 3, 30, 36)
PIPELINE = T.Compose([T.RandomCrop(16), T.ToDtype(torch.float32, scale=True), T.Normalize()])


def test_they_stand_in_a_sequential_with_layers():
    model = torch.nn.Sequential(T.Resize((16, 16)), PIPELINE, torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU())
    torch.manual_seed(3)
    expected = model[2:](PIPELINE(T.Resize((16, 16))(IMAGES)))
    torch.manual_seed(3)
    assert torch.equal(model(IMAGES), expected)
    visited = []
    model.eval().to(torch.float64).float().train().apply(visited.append)
    assert len(visited) == 5
    assert [name for name, _ in model.named_parameters()] == ["2.weight", "2.bias"]
    assert not PIPELINE.eval().training
    assert PIPELINE.train().training


@pytest.mark.parametrize("one", [T.Resize((8, 9)), PIPELINE, T.MultiView([[T.Resize(8)]])], ids=type)
def test_their_mode_can_be_assigned_as_lightning_does_and_nothing_else(one):
    for mode in (False, True):
        for module in torch.nn.Sequential(one).modules():
            module.training = mode
        assert one.training is mode
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        one.size = 5


def test_hooks_see_a_call():
    seen = []
    flip = T.RandomHorizontalFlip(1.0)
    handle = flip.register_forward_hook(lambda module, inputs, output: seen.append(output))
    result = flip(IMAGES)
    handle.remove()
    assert seen == [result]


BY_PYTHON = T.Compose([T.CropNonEmptyMaskIfExists(8)])  # Python draws, by the target


@pytest.mark.parametrize(
    "one", [T.Resize((8, 9)), PIPELINE, BY_PYTHON], ids=["transform", "pipeline", "by Python"]
)
def test_copies_are_equal_and_do_the_same(one):
    expected = one(IMAGES, epoch=3)
    for other in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert other == one
        assert repr(other) == repr(one)
        assert torch.equal(other(IMAGES, epoch=3), expected)


def test_what_differs_is_unequal():
    assert T.Resize((8, 9)) != T.Resize((9, 8))
    assert T.Compose([T.Resize(8)]) != T.Compose([T.Resize(9)])
    assert repr(T.Resize((8, 9))).startswith("Resize(size=(8, 9), interpolation=")


def test_no_argument_hides_a_method_of_modules():
    for kind in (T.Compose, *known_transforms().values()):
        assert not {field.name for field in fields(kind)} & set(dir(torch.nn.Module)), kind


def test_compiled_models_hold_pipelines():
    model = torch.nn.Sequential(T.RandomCrop((16, 20)), PIPELINE, torch.nn.Conv2d(3, 4, 3))
    compiled = torch.compile(model, backend="aot_eager")
    results = []
    for seed, one in [(1, model), (1, compiled), (2, compiled)]:
        torch.manual_seed(seed)
        results.append(one(PHOTOS))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[1], results[2])


class Rotated(torch.nn.Module):
    def forward(self, images):
        return functional.rotate(functional.resize(images, (8, 9)), 30.0) + 1.0


class Resized(torch.nn.Module):
    def forward(self, images):
        return T.Compose([T.Resize((8, 9))])(images)


@pytest.mark.parametrize("model", [T.Resize((8, 9)), T.RandomVerticalFlip(1.0), Rotated(), Resized()])
def test_transforms_are_built_within_compiled_functions(model):
    compiled = torch.compile(torch.nn.Sequential(model, torch.nn.Identity()), backend="aot_eager")
    assert torch.equal(compiled(PHOTOS), model(PHOTOS))


class Noisy(torch.nn.Module):
    def forward(self, images):
        return functional.gaussian_noise(images)


@pytest.mark.parametrize("model", [T.CenterCrop(16), PIPELINE, Rotated(), Noisy()], ids=type)
def test_exported_models_cannot_hold_them(model):
    with pytest.raises(RuntimeError, match=r"orbbec\.transforms: expected a call outside of torch\.export"):
        torch.export.export(torch.nn.Sequential(model, torch.nn.Identity()), (PHOTOS,))


def test_nothing_is_imported_for_a_compiler_that_nobody_asked_for():
    code = (
        "import sys, torch; from orbbec import transforms as T; "
        "T.Compose([T.Resize(8)])(torch.zeros(3, 9, 9)); sys.exit('torch._dynamo' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_options_of_a_class_reach_its_other_bases():
    class Named:
        def __init_subclass__(cls, *, label):
            cls.label = label

    class Labelled(T.RandomInvert, Named, label="inverts"):
        pass

    assert Labelled.label == "inverts"
