#!/usr/bin/env bash
# Creates .venv-NAME with requirements/NAME.txt and all packages of .venv, including torch.
#
#   tools/make_peer_venv.sh torchvision|loops|albumentations|albumentationsx|ray|mutate
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
  torchvision | mutate) ;;
  loops) pip+=(--no-deps) ;;
  *)
    "${pip[@]}" -r "requirements/$name.txt"
    exit
    ;;
esac

# torchvision 0.28 matches torch 2.13, and so on. PyPI has only CUDA builds.
release=$("$py" -c 'import torch; print(int(torch.__version__.split(".")[1]) + 15)')
"${pip[@]}" --no-deps "${TORCHVISION:-torchvision==0.$release.*}"
"${pip[@]}" -r "requirements/$name.txt"
if [ -n "$("$py" -c 'import torch; print(torch.version.cuda or "")')" ]; then
  exit
fi
# Without torch's CUDA libraries such a build does not load, not even its CPU operators. Stub libraries define the
# missing symbols; nothing calls them on a machine without a GPU.
stubs=$PWD/$venv/stubs
mkdir -p "$stubs"
{
  nm -D --undefined-only "$site"/torchvision/*.so | grep -oE '_ZNK?(3c10|2at)4cuda\w+' | sort -u |
    sed -E 's/.*/.globl &\n&:/'
  echo '.zero 64'
  echo '.section .note.GNU-stack,"",@progbits'
} > "$stubs/cuda.s"
compiler=${CXX:-g++}
"$compiler" -shared -o "$stubs/libc10_cuda.so" -Wl,-soname,libc10_cuda.so "$stubs/cuda.s"
"$compiler" -shared -o "$stubs/libtorch_cuda.so" -Wl,-soname,libtorch_cuda.so -x c /dev/null
{
  printf 'import ctypes'
  printf "; ctypes.CDLL('%s')" "$site"/torchvision.libs/libcudart* "$stubs"/*.so
} > "$site/stubs.pth"
"$py" -c 'import torch, torchvision; torch.ops.torchvision.nms; print("torchvision", torchvision.__version__)'
