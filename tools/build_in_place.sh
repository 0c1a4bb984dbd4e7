#!/usr/bin/env bash
# Builds what is out of date beside its sources, a line a file. All that the compilers say is in build/build.log.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! nvidia-smi -L 2>/dev/null | grep -q ^GPU; then
  # Nothing here runs it: one architecture shows that it builds.
  export TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST:-9.0+PTX}
fi
mkdir -p build
log=build/build.log
.venv/bin/python setup.py build_ext --inplace 2>&1 | tee $log |
  sed -nuE -e 's/^(\[[0-9]+\/[0-9]+\]).* -c ([^ ]+).*/\1 \2/' -e "s|$PWD/||" -e '/^(\[|orbbec: )/p' || {
  tail -60 $log
  echo "The build failed; all of it is in $log." >&2
  exit 1
}
