"""A capture on a device that is not the current one."""

from contextlib import contextmanager

import torch

from orbbec.data.device.capture import CudaCapture


def test_everything_is_asked_of_the_device_of_the_work(monkeypatch):
    current, asked = [0], []

    @contextmanager
    def on_device(device):
        current.append(device.index)
        yield
        current.pop()

    @contextmanager
    def capturing(graph, stream, capture_error_mode):
        asked.append(("capture", current[-1], stream.device))
        yield

    @contextmanager
    def on_stream(stream):
        asked.append(("stream", current[-1], stream.device))
        yield

    class Stream:
        def __init__(self):
            self.device = current[-1]

        def wait_stream(self, other):
            assert other.device == self.device

    class Graph:
        def replay(self):
            asked.append(("replay", current[-1]))

    class Result(torch.Tensor):
        def record_stream(self, stream):
            asked.append(("record_stream", stream.device))

    for name, fake in {
        "device": on_device,
        "graph": capturing,
        "stream": on_stream,
        "Stream": Stream,
        "current_stream": Stream,
        "CUDAGraph": Graph,
    }.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    capture, result = CudaCapture(torch.device("cuda", 1)), torch.zeros(1).as_subclass(Result)
    assert capture.warm_up(lambda: result) is capture.record(lambda: result) is result
    capture.replay()
    assert asked == [("stream", 1, 1), ("record_stream", 1), ("capture", 1, 1), ("replay", 1), ("replay", 1)]
