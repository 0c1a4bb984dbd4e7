"""A forked process does not wait for threads that it does not have."""

import os
import signal
import subprocess
import sys

# NumPy compares, since torch's own operators do wait.
SCRIPT = """
import os, numpy as np, torch, orbbec
torch.set_num_threads(2)
images = np.random.default_rng(0).integers(0, 256, (8, 300, 400, 3), np.uint8)
def resized():
    return orbbec.resize(images, (200, 100), antialias=True)
expected = resized()
child = os.fork()
if child == 0:
    grandchild = os.fork()
    fits = np.array_equal(resized(), expected)
    if grandchild:
        fits = fits and os.waitpid(grandchild, 0)[1] == 0
    os._exit(0 if fits else 1)
fits = os.waitpid(child, 0)[1] == 0 and np.array_equal(resized(), expected)
os._exit(0 if fits else 1)
"""


def test_a_forked_process_computes_what_its_parent_did():
    child = subprocess.Popen([sys.executable, "-c", SCRIPT], start_new_session=True)
    try:
        assert child.wait(60) == 0
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
