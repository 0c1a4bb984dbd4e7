#!/usr/bin/env bash
# Creates .venv-NAME with requirements/NAME.txt and all packages of .venv, including torch.
#
#   tools/make_peer_venv.sh torchvision|video|loops|albumentations|albumentationsx|ray|mutate
#
#   TORCHVISION=torchvision==0.28.*    by default the release that matches the torch of .venv
set -euo pipefail
cd "$(dirname "$0")/.."

name=$1
venv=.venv-$name
py=$venv/bin/python
options=()
if grep -q 'include-system-site-packages = true' .venv/pyvenv.cfg; then
  options=(--system-site-packages)
fi
site_of() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

rm -rf "$venv"
.venv/bin/python -m venv --without-pip "${options[@]}" "$venv"
site=$(site_of "$py")
echo "import site; site.addsitedir('$(site_of .venv/bin/python)')" > "$site/beside.pth"
pip=("$py" -m pip install --quiet)

case $name in
  torchvision | video | mutate) ;;
  loops) pip+=(--no-deps) ;;
  *)
    "${pip[@]}" -r "requirements/$name.txt"
    exit
    ;;
esac

case $name in
  video) packages=torchcodec ;;
  mutate) packages='torchvision torchcodec' ;;
  *) packages=torchvision ;;
esac
if [ "$name" != video ]; then
  # torchvision 0.28 matches torch 2.13, and so on.
  release=$("$py" -c 'import torch; print(int(torch.__version__.split(".")[1]) + 15)')
  "${pip[@]}" --no-deps "${TORCHVISION:-torchvision==0.$release.*}"
fi
"${pip[@]}" -r "requirements/$name.txt"
if [ -n "$("$py" -c 'import torch; print(torch.version.cuda or "")')" ]; then
  exit
fi
# PyPI has only CUDA builds of both. Without torch's CUDA libraries they do not load, not even their CPU operators. Stub
# libraries define the missing symbols; nothing calls them on a machine without a GPU.
stubs=$PWD/$venv/stubs
mkdir -p "$stubs"
{
  for package in $packages; do nm -D --undefined-only "$site/$package"/*.so; done | { grep -oE '_ZNK?(3c10|2at)4cuda\w+|aoti_torch_get_current_cuda_stream' || true; } | sort -u |
    sed -E 's/.*/.globl &\n&:/'
  echo '.zero 64'
  echo '.section .note.GNU-stack,"",@progbits'
} > "$stubs/cuda.s"
compiler=${CXX:-g++}
"$compiler" -shared -o "$stubs/libc10_cuda.so" -Wl,-soname,libc10_cuda.so "$stubs/cuda.s"
for library in libtorch_cuda.so libnvrtc.so.13; do
  "$compiler" -shared -o "$stubs/$library" -Wl,-soname,$library -x c /dev/null
done
runtime=$(find "$site" -name 'libcudart*.so*' | head -n 1)  # in torchvision's wheel; torchcodec's has none
{
  printf 'import ctypes'
  printf "; ctypes.CDLL('%s')" "$runtime" "$stubs"/lib*
} > "$site/stubs.pth"
for package in $packages; do "$py" -c "import torch, $package; print('$package', $package.__version__)"; done
