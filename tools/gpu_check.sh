#!/usr/bin/env bash
# On a machine with a GPU: builds, runs the whole suite on CUDA, a memory checker on every kernel of a sample, and the
# benchmarks; writes docs/benchmarks/<gpu>/. Under 10 minutes, without a network, with torch, NumPy and pytest alone.
#
#   tools/gpu_check.sh              PYTHON=... chooses the interpreter (else .venv's, or python3)
#   tools/gpu_check.sh --dry-run    what needs no GPU: the binary loads, and all tests are found without other packages
#
# Where nvidia-nvimgcodec-cu13[nvjpeg] is installed, it is compared with its codecs of the CPU.
# That the CPU equals OpenCV is shown by `make test`; here CUDA is compared with the CPU, bit for bit.
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

# Tests of what never touches a GPU.
host_only=(--ignore=orbbec/opencv --ignore=orbbec/data --ignore=orbbec/preview --ignore=tests/emulation --ignore=tests/project --ignore=tests/test_scripts.py)
# Without the doctests, which import modules that need cv2.
pytest=("$python" -m pytest -q -p no:cacheprovider -o "addopts=-ra --import-mode=importlib" "${host_only[@]}")

# phase NAME SECONDS COMMAND...: runs it within that time; what fails is reported, and the rest still runs.
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

# Stands for a machine that has none of what only the tests elsewhere need.
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

cat > "$work/sample.py" <<'PYTHON'
import itertools, torch
from orbbec.testing import photographs
from orbbec.testing.warps import ARITHMETICS, BORDERS, DTYPES, INTERPOLATIONS, WARPS, random_maps, warp
for op, dtype, how, arithmetic in itertools.product(WARPS, DTYPES, INTERPOLATIONS, ARITHMETICS):
    images = photographs(2, 3, 33, 47, dtype).cuda()
    out = torch.zeros(2, 3, 29, 131, dtype=dtype, device="cuda")
    maps = random_maps(op, (33, 47), (29, 131), 2).cuda()
    for border in BORDERS:
        warp(op, images, maps, (29, 131), interpolation=how, arithmetic=arithmetic, border=border, out=out)
from orbbec import batched_nms, box_iou, box_iou_rotated, matrix_nms, nms, nms_rotated, soft_nms
from orbbec import roi_align, roi_align_rotated, roi_pool
from orbbec.testing.boxes import random_boxes, random_rotated_boxes
for dtype in (torch.float32, torch.float64):
    boxes, scores = (values.cuda() for values in random_boxes(1500, dtype=dtype))
    turned = random_rotated_boxes(1500, dtype=dtype)[0].cuda()
    groups = torch.arange(1500, device="cuda") % 3
    nms(boxes, scores, 0.5), batched_nms(boxes, scores, groups, 0.5), nms_rotated(turned, scores, 0.5)
    soft_nms(boxes, scores), matrix_nms(boxes, scores), box_iou(boxes, boxes), box_iou_rotated(turned, turned)
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    maps = torch.rand(2, 20, 30, 31, dtype=dtype, device="cuda", requires_grad=True)
    index = torch.arange(40, device="cuda", dtype=torch.float32)[:, None] % 2
    upright = torch.cat((index, random_boxes(40)[0].cuda() / 40), dim=1)
    turned = torch.cat((index, random_rotated_boxes(40)[0].cuda() / 40), dim=1)
    for pooled in (roi_align(maps, upright, 7), roi_pool(maps, upright, 7), roi_align_rotated(maps, turned, 7)):
        pooled.sum().backward()
torch.cuda.synchronize()
print("every kernel ran")
PYTHON

if [ "${1:-}" = --dry-run ]; then
  hide_packages
  sed -i s/DEVICE/cpu/ "$work/loads.py"
  phase loads 60 "$python" "$work/loads.py"
  phase tests 120 "${pytest[@]}" -p no:hypothesispytest --device cpu --collect-only -qq
  phase sanitizer 30 "$python" -m py_compile "$work/sample.py"
  phase sink 60 "$python" tools/check_sink.py --device cpu
  phase benchmarks 60 "$python" tools/bench.py --help
  echo "== no GPU was used: run tools/gpu_check.sh where there is one"
else
  sed -i s/DEVICE/cuda/ "$work/loads.py"
  if timeout 60 "$python" "$work/loads.py" 2> /dev/null; then
    report+=("build       the binary that came along works here")
  else
    ORBBEC_CUDA=1 phase build 170 "$python" setup.py build_ext --inplace
    phase loads 60 "$python" "$work/loads.py" || exit 1
  fi
  export ORBBEC_REQUIRE_CUDA=1
  phase tests 170 "${pytest[@]}" --device cuda
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
  if [ -n "$sanitizer" ]; then
    phase sanitizer 60 "$sanitizer" --tool memcheck --error-exitcode 9 "$python" "$work/sample.py"
  else
    report+=("sanitizer   not run: there is no compute-sanitizer")
  fi
  phase sink 60 "$python" tools/check_sink.py
  if "$python" -c 'import nvidia.nvimgcodec' 2> /dev/null; then
    phase nvimgcodec 30 "$python" tools/check_nvimgcodec.py
  else
    report+=("nvimgcodec  not run: nvidia-nvimgcodec-cu13 is not installed")
  fi
  phase benchmarks 80 "$python" tools/bench.py --device cuda
fi

printf '%s\n' "${report[@]}"
exit $failed
