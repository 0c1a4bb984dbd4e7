"""setuptools' build backend; missing tools are named first, isolated builds see the environment's torch."""

import importlib.util
import os
import re
import shlex
import shutil
import site
import sys
import sysconfig
from pathlib import Path

from setuptools import build_meta
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


def missing() -> str:
    """What the build needs and does not find, with the command that fixes it; empty if nothing."""
    install = f"run `{sys.executable} -m pip install 'torch>=2.10'`, then build again"
    torch = importlib.util.find_spec("torch")
    if torch is None or torch.origin is None:
        return f"the build needs torch, which is not installed: {install}"
    stated = Path(torch.origin).with_name("version.py").read_text()
    version = re.search(r"__version__ = '((\d+)\.(\d+).*)'", stated)
    if version and (int(version[2]), int(version[3])) < (2, 10):
        return f"torch {version[1]} is too old: {install}"
    compiler = shlex.split(os.environ.get("CXX") or "c++")[0]
    if shutil.which(compiler) is None:
        return f"no C++ compiler `{compiler}`: run `sudo apt install g++` or set CXX, then build again"
    return ""


def stop_if_missing() -> None:
    if found := missing():
        raise SystemExit(f"orbbec: {found}")


def get_requires_for_build_wheel(config_settings=None):
    stop_if_missing()
    return build_meta.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    stop_if_missing()
    return build_meta.get_requires_for_build_editable(config_settings)


def get_requires_for_build_sdist(config_settings=None):
    stop_if_missing()
    return build_meta.get_requires_for_build_sdist(config_settings)
