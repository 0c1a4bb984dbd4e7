"""For the tests of operators: photographs from a seed, equality of bytes, and OpenCV under orbbec's names."""

from orbbec.testing.compare import assert_same_bytes, same_bytes
from orbbec.testing.device import Device
from orbbec.testing.meetings import Meetings
from orbbec.testing.recorder import Recorder
from orbbec.testing.samples import photograph, photographs, similarity

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
