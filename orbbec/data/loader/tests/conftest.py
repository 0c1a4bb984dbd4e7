"""Fixtures of tests that count threads."""

import threading
import time

import pytest


@pytest.fixture
def no_earlier_threads():
    """Wait until the threads of earlier tests have ended: a Loader that ends does not wait for its own."""
    latest = time.monotonic() + 10
    while time.monotonic() < latest:
        if not any(thread.name.startswith("orbbec-data") for thread in threading.enumerate()):
            return
        time.sleep(0.01)
