"""torchvision pipelines as orbbec pipelines, with unconverted steps in between. Needs torchvision."""

import numpy as np
import pytest
import torch

pytest.importorskip("torchvision")
if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("torchvision has no kernels for the emulated device", allow_module_level=True)

import torchvision.transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from orbbec import Compose, ImageBatch
from orbbec.backends.torchvision import convert
from tests.support.peers.switches import as_kind
from tests.support.samples import photograph

PIXELS = photograph(40, 60)
NORMALIZE = {"mean": [0.5] * 3, "std": [0.2] * 3}


def kinds(pipeline):
    return [type(step).__name__ for step in pipeline.steps]


def test_a_pipeline_that_is_known_is_one_part_and_does_the_same():
    steps = [v1.Resize((20, 30)), v1.CenterCrop(16), v1.ToTensor(), v1.Normalize(**NORMALIZE)]
    pipeline, image = convert(v1.Compose(steps), exact=True), as_kind(PIXELS, "PIL")
    assert kinds(pipeline) == ["Compose"]
    actual, expected = pipeline(image), v1.Compose(steps)(image)
    assert actual.dtype == expected.dtype
    assert (actual - expected).abs().max() <= 4.8e-7  # measured: 2.4e-7; ToTensor divides, ToDtype multiplies


def test_unknown_steps_stay_between_and_inner_pipelines_are_opened():
    inner = v2.Compose([v2.RandomCrop(30), v2.Lambda(lambda image: image.flip(-1))])
    pipeline = convert(v2.Compose([v2.Resize(32), inner, v2.RandomHorizontalFlip(1.0)]))
    assert kinds(pipeline) == ["Compose", "Lambda", "Compose"]
    turned_twice = pipeline(as_kind(PIXELS, "uint8"), sample_ids=[3])
    once = convert([v2.Resize(32), v2.RandomCrop(30)])(as_kind(PIXELS, "uint8"), sample_ids=[3])
    assert torch.equal(turned_twice, once)


def test_an_image_of_pillow_stays_one_until_a_step_makes_a_tensor():
    seen = []
    steps = [v1.CenterCrop(20), lambda image: seen.append(image) or image, v1.ToTensor()]
    result = convert(v1.Compose(steps))(as_kind(PIXELS, "PIL"))
    assert np.array_equal(np.asarray(seen[0]), PIXELS[10:30, 20:40])
    assert torch.allclose(result, as_kind(PIXELS[10:30, 20:40], "uint8") / 255, rtol=0, atol=6e-8)
    gray = convert([v1.CenterCrop((1, 4))])(as_kind(PIXELS[..., :1], "PIL"))
    assert (gray.mode, gray.size) == ("L", (4, 1))


def test_a_step_that_leaves_pixels_alone_is_a_part_without_passes():
    assert convert([v2.PILToTensor()])(as_kind(PIXELS, "PIL")).shape == (3, 40, 60)


def test_images_of_a_batch_have_draws_of_their_own():
    batch = ImageBatch.from_images([PIXELS] * 6)
    pipeline = convert(v2.Compose([v2.RandomCrop(8), v2.Lambda(torch.clone), v2.RandomVerticalFlip(0.5)]))
    result = pipeline(batch, sample_ids=range(6), epoch=2)
    assert result.shape == (6, 3, 8, 8)
    assert len({image.numpy().tobytes() for image in result}) > 1
    alone = pipeline(as_kind(PIXELS, "uint8"), sample_ids=[4], epoch=2)
    assert torch.equal(result[4], alone)


def test_variable_size_images_go_through_an_unknown_step_one_by_one():
    batch = ImageBatch.from_images([PIXELS, PIXELS[:20]])
    first, second = convert([v2.Lambda(lambda image: image + 1)])(batch)
    assert (first.shape, second.shape) == ((3, 40, 60), (3, 20, 60))


def test_labels_are_mixed():
    batch = torch.stack([as_kind(PIXELS, "uint8")] * 4)
    mixing = v2.RandomChoice([v2.CutMix(num_classes=5), v2.MixUp(num_classes=5)])
    pipeline = convert(v2.Compose([v2.RandomHorizontalFlip(), v2.Lambda(torch.clone, torch.Tensor), mixing]))
    images, labels = pipeline(batch, torch.tensor([0, 1, 2, 3]))
    assert images.shape == batch.shape
    assert labels.sum(1) == pytest.approx(np.ones(4))


def test_targets_follow_through_a_step_of_torchvision():
    pipeline = convert([v2.RandomHorizontalFlip(1.0), v2.Lambda(torch.clone, torch.Tensor)])
    images = ImageBatch.from_images([PIXELS, PIXELS[:20]])
    boxes = torch.tensor([[0.0, 0, 10, 10]])
    _, targets = pipeline(images, [{"boxes": boxes}, {"boxes": boxes}], epoch=0)
    assert [target["boxes"].tolist() for target in targets] == 2 * [[[50, 0, 60, 10]]]


def test_parts_draw_from_seeds_of_their_own():
    flip = v2.RandomHorizontalFlip(0.5)
    pipeline = convert([flip, v2.Lambda(torch.clone), flip], seed=9)
    seeds = [step.seed for step in pipeline.steps if isinstance(step, Compose)]
    assert seeds == [9, 11]
    assert pipeline.steps[0] == Compose.from_torchvision([flip], seed=9)


def test_a_palette_is_cropped_as_rgb():
    palette = as_kind(PIXELS, "PIL").convert("P")
    cropped = convert([v1.CenterCrop(5)])(palette)
    assert np.array_equal(cropped, v1.CenterCrop(5)(palette.convert("RGB")))


def test_steps_that_ask_for_a_kind_of_image_get_that_of_torchvision():
    image = as_kind(PIXELS, "PIL")
    for step in (
        v2.Lambda(lambda image: image // 2, tv_tensors.Image),
        v2.Lambda(lambda image: image // 2, tv_tensors.Mask),
        v2.UniformTemporalSubsample(1),  # of pure tensors and videos
    ):
        for kind in ([v2.ToImage()], [v2.ToImage(), v2.ToPureTensor(), v2.ToImage()]):
            pipeline = v2.Compose([*kind, v2.RandomHorizontalFlip(1.0), step])
            assert torch.equal(convert(pipeline)(image), pipeline(image))
    pipeline = v2.Compose([v2.ToImage(), v2.ToPureTensor(), v2.Lambda(torch.neg, tv_tensors.Image)])
    assert torch.equal(convert(pipeline)(image), pipeline(image))


def test_images_of_pillow_are_made_for_functions_and_results():
    image = as_kind(PIXELS, "uint8")
    steps = [v1.ToPILImage(), v1.CenterCrop(20), v1.ToTensor()]
    assert kinds(convert(steps)) == ["Compose"]
    gray = [v1.ToPILImage(), lambda image: image.convert("L"), v1.PILToTensor()]
    assert torch.equal(convert(gray)(image), v1.Compose(gray)(image))
    last = [v1.CenterCrop(20), v1.ToPILImage()]
    assert np.array_equal(np.asarray(convert(last)(image)), PIXELS[10:30, 20:40])
