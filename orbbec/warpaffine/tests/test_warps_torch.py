"""The operators inside torch: schemas, the compiler, CUDA graphs."""

import pytest
import torch

from orbbec import ImageBatch
from tests.support import assert_same_bytes, photograph, photographs
from tests.support.warps import INTERPOLATIONS, WARPS, random_warps, raw_arguments, warp

SOURCE, TARGET = (8, 9), (5, 6)


def overload(op):
    return getattr(torch.ops.orbbec, op).default


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("last", [False, True])
def test_opcheck_finds_nothing(device, op, dtype, last):
    images, maps = device.put(photographs(2, 3, *SOURCE, dtype)), random_warps(op, SOURCE, TARGET, 2)
    if last:
        images = images.contiguous(memory_format=torch.channels_last)
    for given in (maps, device.put(maps)):
        torch.library.opcheck(overload(op), raw_arguments(op, images, given, TARGET))


@pytest.mark.parametrize("op", WARPS)
def test_opcheck_finds_nothing_with_variable_size_images(device, op):
    batch = ImageBatch.from_images([photograph(8, 9), photograph(4, 3)])
    buffer, layout = device.put(batch.buffer.clone()), device.put(batch.layout.clone())
    maps = random_warps(op, SOURCE, TARGET, 2)
    torch.library.opcheck(overload(op), raw_arguments(op, buffer, maps, TARGET, layout=layout, channels=3))


@pytest.mark.parametrize("op", WARPS)
def test_opcheck_finds_nothing_in_the_form_that_writes(device, op):
    images, maps = device.put(photographs(2, 3, *SOURCE)), random_warps(op, SOURCE, TARGET, 2)
    out = device.put(photographs(2, 3, *TARGET))
    torch.library.opcheck(overload(f"{op}_out"), (*raw_arguments(op, images, maps, TARGET), out))


@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_function_that_warps_compiles_as_one_graph(device, op, dynamic):
    def augment(images, maps):
        warped = warp(op, images, maps, TARGET, border="reflect101")
        return warped.float().div(255).sub(0.5)

    compiled = torch.compile(augment, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for count, source in ((2, SOURCE), (3, (11, 12))):
        images, maps = (
            device.put(photographs(count, 3, *source)),
            random_warps(op, source, TARGET, count),
        )
        assert_same_bytes(compiled(images, maps), augment(images, maps))
    torch._dynamo.reset()


@pytest.mark.parametrize("op", WARPS)
def test_a_function_that_writes_into_out_compiles_as_one_graph(device, op):
    def augment(images, maps, canvas):
        out = canvas + 1
        warp(op, images, maps, TARGET, border="transparent", out=out)
        return out * 2

    compiled = torch.compile(augment, fullgraph=True, backend="aot_eager")
    images, maps = device.put(photographs(2, 3, *SOURCE)), random_warps(op, SOURCE, TARGET, 2)
    canvas = device.put(photographs(2, 3, *TARGET))
    assert_same_bytes(compiled(images, maps, canvas), augment(images, maps, canvas))
    torch._dynamo.reset()


@pytest.mark.parametrize("op", WARPS)
def test_the_fake_kernel_gives_the_strides_of_the_real_one(op):
    for images in (photographs(2, 3, *SOURCE), photographs(2, 1, *SOURCE), photographs(1, 3, 8, 1)):
        for given in (images, images.contiguous(memory_format=torch.channels_last), images.transpose(2, 3)):
            maps = random_warps(op, SOURCE, TARGET, len(images))
            real = warp(op, given, maps, TARGET)
            meta = warp(op, given.to("meta"), maps.to("meta"), TARGET)
            assert (meta.shape, meta.stride(), meta.dtype) == (real.shape, real.stride(), real.dtype)
            assert meta.device.type == "meta"


@pytest.mark.cuda
@pytest.mark.parametrize("op", WARPS)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_a_cuda_graph_replays_a_warp_with_new_pixels_and_new_maps(op, interpolation):
    images, maps = photographs(2, 3, *SOURCE).cuda(), random_warps(op, SOURCE, TARGET, 2).cuda()
    warp(op, images, maps, TARGET, interpolation=interpolation)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = warp(op, images, maps, TARGET, interpolation=interpolation)
    for seed in (1, 2):
        new_images = photographs(2, 3, *SOURCE, seed=seed)
        new_maps = random_warps(op, SOURCE, TARGET, 2, seed)
        images.copy_(new_images)
        maps.copy_(new_maps)
        graph.replay()
        assert_same_bytes(captured, warp(op, new_images, new_maps, TARGET, interpolation=interpolation))


@pytest.mark.cuda
@pytest.mark.parametrize("op", WARPS)
def test_a_warp_runs_on_the_current_stream_and_device(op):
    images, maps = photographs(64, 3, 300, 300), random_warps(op, (300, 300), (280, 290), 64)
    expected = warp(op, images, maps, (280, 290))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # the pixels arrive late: another stream would read them too early
        moved = images.cuda(non_blocking=True)
        warped = warp(op, moved, maps, (280, 290))
    stream.synchronize()
    assert_same_bytes(warped, expected)
