#!/usr/bin/env bash
# Creates .venv with torch and the requirements of the build and the package.
#
#   PYTHON=python3         the interpreter; 3.10 or newer
#   TORCH=torch==2.13.0    the torch to install if that interpreter has none >= 2.10
#
# If the interpreter has torch, .venv uses it: it matches the machine, and another copy takes gigabytes.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
has_torch='
import torch
raise SystemExit(tuple(map(int, torch.__version__.split(".")[:2])) < (2, 10))'

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
  echo "$("$python" --version 2>&1) is too old: Python 3.10 or newer is needed (make PYTHON=python3.12 ...)" >&2
  exit 1
}

options=()
found=no
if "$python" -c "$has_torch" 2>/dev/null; then
  options=(--system-site-packages)
  found=yes
fi
purelib='import sysconfig; print(sysconfig.get_path("purelib"))'
if [ ! -x .venv/bin/python ] && ! "$python" -m venv "${options[@]}" .venv 2>/dev/null; then
  # Debian packages ensurepip separately; the pip of the interpreter installs pip instead.
  "$python" -m venv --without-pip "${options[@]}" .venv
  # PEP 668 protects the packages of the system; this writes only into .venv.
  PIP_BREAK_SYSTEM_PACKAGES=1 "$python" -m pip install --quiet --target "$(.venv/bin/python -c "$purelib")" pip
fi
site=$(.venv/bin/python -c "$purelib")
if [ $found = yes ] && ! .venv/bin/python -c "$has_torch" 2>/dev/null; then
  # The interpreter is itself in a virtual environment, which --system-site-packages ignores.
  "$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' > "$site/parent.pth"
fi
pwd > "$site/orbbec.pth"

if [ $found = no ]; then
  .venv/bin/python -m pip install "${TORCH:-torch==2.13.0}"
fi
# The interpreter's own copies may have their programs in another folder.
.venv/bin/python -m pip install --quiet --ignore-installed -r requirements/build.txt
.venv/bin/python -m pip install --quiet -r requirements/runtime.txt
.venv/bin/python -c 'import torch; print("torch", torch.__version__, "of", torch.__path__[0])'
