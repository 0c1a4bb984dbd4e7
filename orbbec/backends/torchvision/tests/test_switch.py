"""torchvision with the switch: the same results, and everything restored. Needs torchvision."""

import contextlib
import inspect

import numpy as np
import pytest
import torch

torchvision = pytest.importorskip("torchvision")
if hasattr(torch.ops.orbbec, "set_emulation"):
    pytest.skip("torchvision has no kernels for the emulated device", allow_module_level=True)

from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import orbbec.backends.torchvision as ot
from orbbec import ImageBatch, adjust_hue, gaussian_blur, resize
from orbbec.backends.torchvision import loading, switch
from orbbec.backends.torchvision.calls import Report
from orbbec.backends.torchvision.functions import FUNCTIONS
from orbbec.backends.torchvision.ops import OURS
from orbbec.backends.torchvision.replacements import replacements
from orbbec.data.decode import native
from tests.support.peers import switches
from tests.support.peers.switch_pipelines import pipelines
from tests.support.peers.switches import as_kind
from tests.support.samples import photograph

CASES = 12
F = v2.functional


@pytest.fixture(autouse=True)
def _put_back():
    yield
    ot.set_image_backend("pil")


def found():
    """The current values of everything that the switch replaces."""
    entries = [(owner, key) for owner, key, _ in replacements(True, Report())]
    return [owner.get(key) if isinstance(owner, dict) else getattr(owner, key) for owner, key in entries]


def test_everything_is_put_back():
    before = found()
    ot.set_image_backend("orbbec")
    within = found()
    ot.set_image_backend("orbbec", exact=False)
    ot.set_image_backend("pil")
    assert not any(one is other for one, other in zip(before, within, strict=True))
    assert all(one is other for one, other in zip(before, found(), strict=True))
    assert len(before) > len(FUNCTIONS)


def test_an_exception_and_an_inner_switch_are_no_matter():
    before = found()
    with contextlib.suppress(KeyError), ot.image_backend("orbbec"):
        with ot.image_backend("pil"):
            assert ot.get_image_backend() == "pil"
        assert ot.get_image_backend() == "orbbec"
        F.solarize(torch.zeros(3, 2, 2), 0.5)
        raise KeyError
    assert ot.report().ours == {"v2 solarize": 1}
    assert ot.get_image_backend() == "pil"
    assert all(one is other for one, other in zip(before, found(), strict=True))


def is_taken(cell):
    kind, image = ("RGB", "PIL") if cell.kind == "PIL" else (cell.kind, "tensor")
    return any(
        (each.api, each.image, each.op) == (cell.api, image, cell.op) and kind in each.exact
        for each in FUNCTIONS
    )


@pytest.mark.parametrize(
    "cell", list(filter(is_taken, switches.cells())), ids=lambda cell: f"{cell.api}-{cell.op}-{cell.kind}"
)
def test_a_function_keeps_its_bytes_and_is_ours(cell):
    rng, taken = np.random.default_rng(1), 0
    for _ in range(CASES):
        arguments = cell.draw(rng)
        expected = cell.theirs(*arguments)
        with ot.image_backend("orbbec") as report:
            actual = cell.theirs(*arguments)
        assert type(actual) is type(expected)
        assert np.array_equal(np.asarray(actual), np.asarray(expected))
        taken += sum(report.ours.values())
        gray_stays = cell.op in ("adjust_hue", "adjust_saturation") and expected.shape[0] == 1
        assert (actual is arguments[0]) == gray_stays
    assert taken > CASES / 3


@pytest.mark.parametrize("name", pipelines())
def test_a_pipeline_for_imagenet_keeps_its_bits(name):
    pipeline, image = pipelines()[name]
    torch.manual_seed(5)
    expected = pipeline(image)
    with ot.image_backend("orbbec") as report:
        torch.manual_seed(5)
        assert torch.equal(pipeline(image), expected)
    assert report is ot.report()


def test_less_exact_takes_more():
    image = as_kind(photograph(40, 50), "uint8")
    with ot.image_backend("orbbec") as strict:
        F.resize(image, [20, 30])
    with ot.image_backend("orbbec", exact=False) as loose:
        resized = F.resize(image, [20, 30])
    assert strict.others == {("v2 resize", "uint8, which differs slightly"): 1}
    assert loose.ours == {"v2 resize": 1}
    assert torch.equal(resized, resize(image, (20, 30), antialias=True))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_gray_lies_in_memory_as_torchvisions(channels, memory_format):
    image = as_kind(photograph(9, 12), "uint8")
    images = torch.stack([image, image.flip(0)]).to(memory_format=memory_format)
    expected = F.rgb_to_grayscale(images, channels)
    with ot.image_backend("orbbec") as report:
        gray = F.rgb_to_grayscale(images, channels)
        F.rgb_to_grayscale(image[:1], channels)
    assert torch.equal(gray, expected)
    assert gray.stride() == expected.stride()
    assert gray.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    assert report.ours == {"v2 rgb_to_grayscale": 1}
    assert report.others == {("v2 rgb_to_grayscale", f"{channels} of 1 channels"): 1}


@pytest.mark.parametrize("mode", ["L", "RGB"])
@pytest.mark.parametrize("functional", [torchvision.transforms.functional, F], ids=["v1", "v2"])
def test_sharpness_of_pillow_differs_by_one_at_most(mode, functional):
    image = as_kind(photograph(40, 50), "PIL").convert(mode)
    image.info["dpi"] = (72, 72)
    expected = functional.adjust_sharpness(image, 2.3)
    with ot.image_backend("orbbec", exact=False) as report:
        sharpened = functional.adjust_sharpness(image, 2.3)
    difference = np.abs(np.asarray(sharpened, int) - np.asarray(expected, int))
    assert difference.max() <= 1
    assert (sharpened.mode, sharpened.info) == (mode, expected.info)
    assert sum(report.ours.values()) == 1


def test_tv_tensors_stay_what_they_are():
    image = tv_tensors.Image(as_kind(photograph(20, 30), "uint8"))
    boxes = tv_tensors.BoundingBoxes([[1, 2, 8, 9]], format="XYXY", canvas_size=(20, 30))
    with ot.image_backend("orbbec") as report:
        turned, same = v2.ColorJitter(hue=(0.2, 0.2))(image, boxes)
    assert type(turned) is tv_tensors.Image
    assert torch.equal(turned.as_subclass(torch.Tensor), F.adjust_hue(image.as_subclass(torch.Tensor), 0.2))
    assert torch.equal(same, boxes)
    assert report.ours == {"v2 adjust_hue": 1}


def test_v1_gives_tensors_for_tv_tensors():
    image = tv_tensors.Image(as_kind(photograph(20, 30), "uint8"))
    with ot.image_backend("orbbec") as report:
        turned = torchvision.transforms.functional.adjust_hue(image, 0.2)
    assert type(turned) is torch.Tensor
    assert report.ours == {"v1 adjust_hue": 1}


def test_errors_are_those_of_torchvision():
    image = as_kind(photograph(5, 5), "uint8")
    with ot.image_backend("orbbec"), pytest.raises(ValueError, match=r"hue_factor \(0.7\) is not in"):
        F.adjust_hue(image, 0.7)


def test_thresholds_below_0_and_fractions_of_a_size_are_torchvisions():
    image, size = torch.arange(256, dtype=torch.uint8).view(1, 16, 16), [10.5, 3]
    expected = v2.functional.solarize(image, -1)
    with ot.image_backend("orbbec"):
        assert torch.equal(v2.functional.solarize(image, -1), expected)
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            v2.functional.resize(Image.new("RGB", (9, 12)), size)


def test_an_image_with_alpha_and_what_is_known_of_an_image():
    image = as_kind(photograph(9, 9), "PIL")
    image.info["dpi"] = (72, 72)
    with ot.image_backend("orbbec") as report:
        assert F.resize(image, [5, 5]).info == {"dpi": (72, 72)}
        F.resize(image.convert("RGBA"), [5, 5])
    assert report.ours == {"v2 resize of PIL": 1}
    assert report.others == {("v2 resize of PIL", "RGBA, which is not covered"): 1}


def test_script_and_compile_go_on_to_torchvision():
    image = as_kind(photograph(9, 12), "uint8")
    pipeline = torch.nn.Sequential(torchvision.transforms.ColorJitter((1.5, 1.5)))
    with ot.image_backend("orbbec") as report:
        scripted = torch.jit.script(pipeline)(image)
        compiled = torch.compile(lambda x: F.solarize(x, 100), backend="aot_eager", fullgraph=True)(image)
    assert torch.equal(scripted, pipeline(image))
    assert torch.equal(compiled, F.solarize(image, 100))
    assert str(report) == "no calls"


def folder_of_images(root):
    (root / "kind").mkdir()
    image = as_kind(photograph(20, 30), "PIL")
    image.save(root / "kind" / "0.jpg")
    image.convert("L").save(root / "kind" / "1.jpg")
    image.save(root / "kind" / "2.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    image.save(root / "kind" / "3.jpg", exif=turned)
    image.convert("CMYK").save(root / "kind" / "4.jpg")
    return torchvision.datasets.ImageFolder(root)


@pytest.mark.parametrize("absent", [[], ["_library"]], ids=["this machine", "without libjpeg-turbo"])
def test_image_folder_decodes_by_orbbec(tmp_path, monkeypatch, absent):
    for name in absent:
        monkeypatch.setattr(native, name, lambda: None)
    dataset = folder_of_images(tmp_path)
    expected = [np.asarray(image) for image, _ in dataset]
    with ot.image_backend("orbbec") as report:
        images = [image for image, _ in dataset]
    assert all(image.mode == "RGB" for image in images)
    assert all(np.array_equal(image, other) for image, other in zip(images, expected, strict=True))
    assert images[3].getexif()[0x0112] == 6
    assert report.ours == {"datasets pil_loader": 2}
    assert sum(report.others.values()) == 3


def test_decode_jpeg_on_a_gpu_has_the_bytes_of_the_cpu(tmp_path, monkeypatch):
    folder_of_images(tmp_path)
    paths = [tmp_path / "kind" / f"{name}.jpg" for name in (0, 1, 3)]
    files = [torchvision.io.read_file(str(path)) for path in paths]
    if not torch.cuda.is_available():  # the same function on the CPU
        on_cpu = loading.decode_jpeg
        monkeypatch.setattr(loading, "decode_jpeg", lambda *a, **k: on_cpu(*a, **(k | {"device": "cpu"})))
    for mode in ("RGB", torchvision.io.ImageReadMode.UNCHANGED):
        expected = torchvision.io.decode_jpeg(files, mode)
        with ot.image_backend("orbbec") as report:
            images = torchvision.io.decode_jpeg(files, mode, device="cuda")
            one = torchvision.io.image.decode_jpeg(files[1], mode, "cuda")
            on_host = torchvision.io.decode_jpeg(files[0], mode)
        assert report.ours == {"io decode_jpeg": 2}
        assert report.others == {("io decode_jpeg", "not on a GPU"): 1}
        assert all(torch.equal(image.cpu(), other) for image, other in zip(images, expected, strict=True))
        assert torch.equal(one.cpu(), expected[1])
        assert torch.equal(on_host, expected[0])


@pytest.mark.parametrize(("name", "mode", "reason"), [(4, "RGB", "not a JPEG of"), (0, "GRAY", "mode GRAY")])
def test_files_that_decode_jpeg_leaves_to_torchvision_have_a_reason(tmp_path, name, mode, reason):
    folder_of_images(tmp_path)
    data = torchvision.io.read_file(str(tmp_path / "kind" / f"{name}.jpg"))
    with pytest.raises(ValueError, match=reason):
        loading.decode_on_device(data, mode, "cuda")


def test_forked_workers_have_the_switch(tmp_path):
    dataset = folder_of_images(tmp_path)
    dataset.transform = torchvision.transforms.Compose(
        [torchvision.transforms.Resize((9, 9)), lambda image: ot.report().ours["v1 resize of PIL"]]
    )
    with ot.image_backend("orbbec"):
        loader = torch.utils.data.DataLoader(dataset, num_workers=1, multiprocessing_context="fork")
        assert [counted.item() for counted, _ in loader] == [1, 2, 3, 4, 5]
    assert ot.report().ours == {}


def test_a_batch_of_variable_size_images_goes_through_v2():
    images = [photograph(20, 30), photograph(25, 9, seed=1)]
    batch = ImageBatch.from_images(images)
    pipeline = v2.Compose([v2.ColorJitter(hue=(0.2, 0.2)), v2.GaussianBlur(3, (1, 1)), v2.Resize((8, 8))])
    with ot.image_backend("orbbec") as report:
        result = pipeline(batch)
        with pytest.raises(TypeError, match="got an ImageBatch"):
            v2.RandomHorizontalFlip(1.0)(batch)
        with pytest.raises(ValueError, match=r"expected size as \(height, width\)"):
            v2.Resize(8)(batch)
    blurred = [gaussian_blur(adjust_hue(image, 0.2), 3, 1.0) for image in images]
    expected = [resize(image, (8, 8), antialias=True) for image in blurred]
    assert np.array_equal(result.permute(0, 2, 3, 1), np.stack(expected))
    assert report.ours == {f"v2 {op} of ImageBatch": 1 for op in ("adjust_hue", "gaussian_blur", "resize")}


def test_a_backend_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="expected backend as one of pil, orbbec"):
        ot.set_image_backend("accimage")


def test_torchvision_is_as_before_if_it_cannot_be_switched(monkeypatch):
    def broken(*arguments):
        yield from list(replacements(*arguments))[:-1]
        raise AttributeError("renamed")

    before = found()
    monkeypatch.setattr(switch, "replacements", broken)
    with pytest.raises(AttributeError, match="renamed"):
        ot.set_image_backend("orbbec")
    assert found() == before
    assert ot.get_image_backend() == "pil"


def test_a_version_that_nobody_tested_warns(monkeypatch):
    monkeypatch.setattr(torchvision, "__version__", "9.9")
    with pytest.warns(UserWarning, match=r"0\.26.* are tested, but this is 9\.9"):
        ot.set_image_backend("orbbec")


def test_the_installed_version_warns_unless_it_was_tested(recwarn):
    ot.set_image_backend("orbbec")
    warned = any("are tested, but this is" in str(warning.message) for warning in recwarn)
    assert warned != torchvision.__version__.startswith(switch.TESTED)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"size": [5, 7], "interpolation": v2.InterpolationMode.NEAREST}, "interpolation nearest"),
        ({"size": [5, 7], "interpolation": v2.InterpolationMode.BICUBIC}, "interpolation bicubic"),
        ({"size": [9, 12]}, "to the size that it has"),
        ({"size": [5, 7], "antialias": False}, "without antialias"),
        ({"size": [1, 7]}, "to a single row or column, which torchvision reads from elsewhere"),
    ],
)
def test_resizes_that_are_left_to_torchvision_say_why(options, reason):
    image = as_kind(photograph(9, 12), "uint8")
    expected = F.resize(image, **options)
    with ot.image_backend("orbbec", exact=False) as report:
        assert torch.equal(F.resize(image, **options), expected)
    assert report.others == {("v2 resize", reason): 1}


def defaults(function):
    arguments = inspect.signature(function).parameters.values()
    return {each.name: getattr(each.default, "value", each.default) for each in arguments}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: f"{each.api}-{each.image}-{each.op}")
def test_a_function_has_the_defaults_of_torchvision(function):
    theirs = defaults(getattr({"v1": torchvision.transforms.functional, "v2": F}[function.api], function.op))
    ours = defaults(function.run)
    assert ours == {**ours, **{name: value for name, value in theirs.items() if name in ours}}


@pytest.mark.parametrize("name", OURS)
def test_an_operator_has_the_defaults_of_torchvision(name):
    assert defaults(OURS[name]) == defaults(getattr(torchvision.ops, name))
