#!/usr/bin/env bash
# On a machine with a GPU: runs the device tests, compute-sanitizer on a sample of all kernels, and the benchmarks.
# Takes at most 12 minutes. Needs torch, NumPy and pytest, but no network; pytest-xdist, Pillow, torchvision, py-spy,
# compute-sanitizer and the rivals of benchmarks/peers are used if they are installed.
#
#   tools/gpu_check.sh [--seconds 720] [--output build/gpu_check]    PYTHON=... selects the interpreter
#   tools/gpu_check.sh --dry-run    checks all of this on the CPU at small sizes, without those packages
#
# The interpreter is that of .venv, else python3. A binary that works on this GPU is not built again. Each phase writes
# OUTPUT/NAME.log as it runs, and OUTPUT/summary.txt gets a line when it ends: a phase that fails or is not done in time
# does not stop the others. The exit status is 1 if one failed.
set -uo pipefail
cd "$(dirname "$0")/.."

python=python3
[ -x .venv/bin/python ] && python=.venv/bin/python
python=${PYTHON:-$python}
export PYTHONPATH=$PWD PYTHONUNBUFFERED=1
device=cuda budget=720 output=build/gpu_check
while [ $# -gt 0 ]; do
  case $1 in
    --dry-run) device=cpu output=build/gpu_dry_run; shift ;;
    --seconds) budget=$2; shift 2 ;;
    --output) output=$2; shift 2 ;;
    *) echo "gpu_check.sh: unknown argument $1"; exit 2 ;;
  esac
done
mkdir -p "$output"
rm -f "$output"/*.log "$output"/summary.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# result NAME SECONDS TEXT: a line of the summary.
result() { printf '%-10s %4d s  %s\n' "$@" | tee -a "$output/summary.txt"; }

# phase NAME SECONDS COMMAND...: runs a command with a time limit.
phase() {
  local name=$1 limit=$2 start=$SECONDS left=$((budget - SECONDS)) log=$output/$1.log status
  shift 2
  if [ $left -le 5 ]; then
    result "$name" 0 "FAILED (no time left)"
    return 1
  fi
  [ $limit -gt $left ] && limit=$left
  timeout --kill-after=5 "$limit" "$@" > "$log" 2>&1
  status=$?
  local last
  last=$(grep -v '^ *$' "$log" | tail -n 1 | cut -c 1-100)
  case $status in
    0) result "$name" $((SECONDS - start)) "ok: $last" ;;
    124 | 137) result "$name" $((SECONDS - start)) "FAILED (not done after $limit s; see $log): $last" ;;
    *) result "$name" $((SECONDS - start)) "FAILED ($status; see $log): $last" ;;
  esac
  return $status
}

# has MODULE...: whether Python imports them.
has() { "$python" -c "import $(IFS=,; echo "$*")" > /dev/null 2>&1; }

# Runs tools/sample_kernels.py under compute-sanitizer. Without torch's cache each tensor is a separate allocation, so
# that reads past its end are found.
sanitize() {
  local tool=$1 seconds=$2
  shift 2
  phase "$tool" $((seconds + 60)) env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$sanitizer" --tool "$tool" --error-exitcode 9 \
    "$python" tools/sample_kernels.py --unchecked --seconds "$seconds" "$@"
}

# Hides the packages that are not needed, as on a machine without them.
hide_packages() {
  mkdir "$work/hidden"
  for name in cv2 hypothesis typer rich skimage sklearn scipy "$@"; do
    echo "raise ModuleNotFoundError('$name is hidden by gpu_check.sh --dry-run', name='$name')" > "$work/hidden/$name.py"
  done
  export PYTHONPATH=$work/hidden:$PYTHONPATH
}

cat > "$work/loads.py" << PYTHON
import torch, orbbec
image = torch.arange(4, dtype=torch.uint8, device="$device").reshape(1, 1, 4)
warped = orbbec.warp_affine(image, torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]), size=(1, 4))
assert warped.flatten().tolist() == [0, 0, 1, 2], warped
print(f"the binary works: torch {torch.__version__}, $device")
PYTHON

# Tests that use no device are in folders that need more packages. No doctests: they import modules that need cv2.
host_only=(--ignore=orbbec/opencv --ignore=orbbec/data --ignore=orbbec/cli --ignore=tests/attack --ignore=tests/emulation --ignore=tests/project --ignore=tests/test_scripts.py)
tests=("$python" -m pytest -v -p no:cacheprovider -o "addopts=-rfEs --import-mode=importlib" "${host_only[@]}" --device "$device")

# What times nothing, side by side.
checks() {
  local cores workers=()
  cores=$(nproc)
  has xdist && [ "$cores" -gt 6 ] && workers=(-n $((cores - 5)))
  if [ $device = cpu ]; then
    phase tests 110 "${tests[@]}" -p no:hypothesispytest --collect-only -qq &
    phase kernels 60 "$python" tools/sample_kernels.py --device cpu --unchecked --seconds 4 &
  else
    ORBBEC_REQUIRE_CUDA=1 phase tests 200 "${tests[@]}" "${workers[@]}" &
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
    if [ -n "$sanitizer" ]; then
      sanitize memcheck 120 &
      sanitize racecheck 120 --blocks &
      sanitize synccheck 60 --blocks &
    else
      result sanitizer 0 "not run: compute-sanitizer is not installed"
    fi
    if has nvidia.nvimgcodec PIL; then
      phase nvimgcodec 60 "$python" tools/check_nvimgcodec.py &
    else
      result nvimgcodec 0 "not run: needs nvidia-nvimgcodec-cu13 and Pillow"
    fi
  fi
  phase sink 60 "$python" tools/check_sink.py --device $device &
  wait
}

# What is timed, alone.
timings() {
  local small=() few=() brief=() steps=(--steps 15)
  [ $device = cpu ] && small=(--small) few=("W5 nms, 1,000" --apart --rounds 7) brief=(--seconds 0.002 --case crop) steps=(--batch 4 --steps 2)
  phase pipelines 60 "$python" tools/host_cost.py --device $device --json "$output/pipelines.json" "${brief[@]}"
  if [ $device = cuda ] && command -v py-spy > /dev/null; then
    phase py-spy 30 py-spy record --duration 10 --format raw --output "$output/py-spy.txt" -- \
      "$python" tools/host_cost.py --device cuda --case crop --seconds 1
  fi
  if has PIL; then
    local epochs=2 count=1024
    [ $device = cpu ] && epochs=1 count=16
    "$python" -m tests.support.timing.jpegs "$work/jpegs" $count
    local drawn=1000
    [ $device = cpu ] && drawn=20
    phase jpeg 60 "$python" tools/check_jpeg.py "$work/jpegs" --device $device --drawn $drawn --json "$output/jpeg.json"
    phase feed 60 "$python" tools/feed_speed.py "$work/jpegs" --device $device --epochs $epochs --batch $((count / 4)) \
      --json "$output/feed.json"
    [ $device = cpu ] || phase feed-device 60 "$python" tools/feed_speed.py "$work/jpegs" --decode device --epochs $epochs \
      --json "$output/feed_device.json"
    if has torchvision; then
      phase resnet50 90 "$python" -m benchmarks.resnet50 "$work/jpegs" --device $device "${steps[@]}" --output "$output"
    else
      result resnet50 0 "not run: torchvision is not installed"
    fi
  else
    result jpeg 0 "not run: Pillow is not installed"
    result feed 0 "not run: Pillow is not installed"
  fi
  phase model 90 "$python" tools/gpu_model.py --measure --device $device "${small[@]}" --json "$output/model.json"
  phase peers 150 "$python" -m benchmarks.peers --device $device "${few[@]}" --output "$output"
  [ $device = cpu ] || phase benchmarks 90 "$python" tools/bench.py --device cuda --output "$output"
}

if [ $device = cpu ]; then
  hide_packages
  phase loads 60 "$python" "$work/loads.py"
elif timeout 60 "$python" "$work/loads.py" > "$output/loads.log" 2>&1; then
  result loads $SECONDS "ok: $(tail -n 1 "$output/loads.log")"
else
  ORBBEC_CUDA=1 phase build 170 "$python" setup.py build_ext --inplace
  phase loads 60 "$python" "$work/loads.py" || exit 1
fi
checks
timings
[ $device = cuda ] || echo "== no GPU was used: run tools/gpu_check.sh on a machine with one"
! grep -q FAILED "$output/summary.txt"
