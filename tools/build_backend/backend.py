"""setuptools' build backend; an isolated build also sees the torch of the environment."""

import importlib.util
import site
import sys
import sysconfig

from setuptools.build_meta import *  # noqa: F403  the hooks of PEP 517

# pip hides the environment's packages from an isolated build, but leaves the interpreter in place. Torch may
# be in the environment's own folder, or in one that a virtual environment inherits.
for folder in (
    sysconfig.get_path("platlib"),
    site.getusersitepackages(),
    *site.getsitepackages([sys.base_prefix]),
):
    if importlib.util.find_spec("torch") is not None:
        break
    site.addsitedir(folder)
