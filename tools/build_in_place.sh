#!/usr/bin/env bash
# Builds what is out of date in place and prints one line per file. build/build.log has the complete output.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! nvidia-smi -L 2>/dev/null | grep -q ^GPU; then
  # No GPU runs the kernels here; one architecture shows that they build. This one runs on all newer ones.
  export TORCH_CUDA_ARCH_LIST=${TORCH_CUDA_ARCH_LIST:-7.5+PTX}
fi
mkdir -p build
log=build/build.log
.venv/bin/python setup.py build_ext --inplace 2>&1 | tee $log |
  sed -nuE -e 's/^(\[[0-9]+\/[0-9]+\]).* -c ([^ ]+).*/\1 \2/' -e "s|$PWD/||" -e '/^(\[|orbbec: )/p' || {
  tail -60 $log
  echo "The build failed; see $log." >&2
  exit 1
}
