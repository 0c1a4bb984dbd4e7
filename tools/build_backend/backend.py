"""setuptools' build backend, with the environment's own torch in sight when pip builds in isolation."""

import importlib.util
import sys
import sysconfig

from setuptools.build_meta import *  # noqa: F403  the hooks of PEP 517

if importlib.util.find_spec("torch") is None:
    # pip hides the environment's packages from an isolated build, but leaves the interpreter in place.
    sys.path.append(sysconfig.get_path("platlib"))
