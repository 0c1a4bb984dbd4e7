#!/usr/bin/env bash
# On a machine with a GPU: builds, runs the whole test suite on CUDA, compute-sanitizer on a sample of all kernels, the
# benchmarks, and the cases of docs/project/gpu_model.md, measured next to predicted; writes docs/benchmarks/. Takes about 10 minutes
# and needs torch, NumPy and pytest, but no network.
#
#   tools/gpu_check.sh              PYTHON=... selects the interpreter (default: .venv, else python3)
#   tools/gpu_check.sh --dry-run    checks without a GPU that the binary loads and that all tests can be collected
#
# If nvidia-nvimgcodec-cu13[nvjpeg] is installed, its GPU codecs are compared with its CPU codecs.
# This script compares CUDA with the CPU, bit for bit; `make test` compares the CPU with OpenCV.
set -uo pipefail
cd "$(dirname "$0")/.."

python=python3
[ -x .venv/bin/python ] && python=.venv/bin/python
python=${PYTHON:-$python}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
report=()
failed=0

# Tests that never use a GPU.
host_only=(--ignore=orbbec/opencv --ignore=orbbec/data --ignore=orbbec/cli/preview --ignore=orbbec/cli/tests/test_bench_data.py --ignore=orbbec/cli/tests/test_commands.py --ignore=tests/attack --ignore=tests/emulation --ignore=tests/project --ignore=tests/test_scripts.py)
# No doctests: they import modules that need cv2.
pytest=("$python" -m pytest -q -p no:cacheprovider -o "addopts=-ra --import-mode=importlib" "${host_only[@]}")

# phase NAME SECONDS COMMAND...: runs a command with a time limit. A failure is reported; later phases still run.
phase() {
  local name=$1 limit=$2 start=$SECONDS status
  shift 2
  echo "== $name"
  timeout --kill-after=5 "$limit" "$@"
  status=$?
  local result=ok
  [ $status = 0 ] || { result="FAILED ($status)"; failed=1; }
  [ $status = 124 ] && result="FAILED (not done after $limit s)"
  report+=("$(printf '%-10s %4d s  %s' "$name" $((SECONDS - start)) "$result")")
  return $status
}

# Hides the packages that only other tests need, as on a machine without them.
hide_packages() {
  mkdir "$work/hidden"
  for name in cv2 hypothesis typer rich PIL skimage sklearn scipy; do
    echo "raise ModuleNotFoundError('$name is hidden by gpu_check.sh --dry-run', name='$name')" > "$work/hidden/$name.py"
  done
  export PYTHONPATH=$work/hidden:$PYTHONPATH
}

cat > "$work/loads.py" <<'PYTHON'
import torch, orbbec
image = torch.arange(4, dtype=torch.uint8, device="DEVICE").reshape(1, 1, 4)
moved = orbbec.warp_affine(image, torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), size=(1, 4))
assert moved.flatten().tolist() == [0, 0, 1, 2], moved
print(f"the binary works: torch {torch.__version__}, DEVICE")
PYTHON

if [ "${1:-}" = --dry-run ]; then
  hide_packages
  sed -i s/DEVICE/cpu/ "$work/loads.py"
  phase loads 60 "$python" "$work/loads.py"
  phase tests 120 "${pytest[@]}" -p no:hypothesispytest --device cpu --collect-only -qq
  phase kernels 90 "$python" tools/sample_kernels.py --device cpu --unchecked
  phase sink 60 "$python" tools/check_sink.py --device cpu
  phase benchmarks 60 "$python" tools/bench.py --help
  phase model 60 "$python" tools/gpu_model.py --measure --device cpu --small
  echo "== no GPU was used: run tools/gpu_check.sh on a machine with one"
else
  sed -i s/DEVICE/cuda/ "$work/loads.py"
  if timeout 60 "$python" "$work/loads.py" 2> /dev/null; then
    report+=("build       not needed: the existing binary works")
  else
    ORBBEC_CUDA=1 phase build 170 "$python" setup.py build_ext --inplace
    phase loads 60 "$python" "$work/loads.py" || exit 1
  fi
  export ORBBEC_REQUIRE_CUDA=1
  phase tests 170 "${pytest[@]}" --device cuda
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
  if [ -n "$sanitizer" ]; then
    # Without torch's cache each tensor is a separate allocation, so that reads past its end are found.
    export PYTORCH_NO_CUDA_MEMORY_CACHING=1
    sample=(--error-exitcode 9 "$python" tools/sample_kernels.py --unchecked)
    phase memcheck 80 "$sanitizer" --tool memcheck "${sample[@]}"
    phase racecheck 40 "$sanitizer" --tool racecheck "${sample[@]}" --blocks
    phase synccheck 30 "$sanitizer" --tool synccheck "${sample[@]}" --blocks
    unset PYTORCH_NO_CUDA_MEMORY_CACHING
  else
    report+=("sanitizer   not run: compute-sanitizer is not installed")
  fi
  phase sink 60 "$python" tools/check_sink.py
  if "$python" -c 'import nvidia.nvimgcodec' 2> /dev/null; then
    phase nvimgcodec 30 "$python" tools/check_nvimgcodec.py
  else
    report+=("nvimgcodec  not run: nvidia-nvimgcodec-cu13 is not installed")
  fi
  phase benchmarks 80 "$python" tools/bench.py --device cuda
  phase model 120 "$python" tools/gpu_model.py --measure --json "docs/benchmarks/gpu_model_measured.json"
fi

printf '%s\n' "${report[@]}"
exit $failed
