"""Shared by the tests: random photographs, comparison of bytes, references, OpenCV under orbbec's names."""

from tests.support.compare import assert_same_bytes, same_bytes
from tests.support.device import Device
from tests.support.meetings import Meetings
from tests.support.recorder import Recorder
from tests.support.samples import photograph, photographs, similarity

__all__ = [
    "Device",
    "Meetings",
    "Recorder",
    "assert_same_bytes",
    "photograph",
    "photographs",
    "same_bytes",
    "similarity",
]
