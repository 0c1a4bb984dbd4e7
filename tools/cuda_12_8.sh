#!/usr/bin/env bash
# Makes a toolkit in a folder to compile the kernels with CUDA 12.8, from pip's packages and the installed nvcc 13:
#   tools/cuda_12_8.sh build/cuda-12.8
#   CUDA_HOME=$PWD/build/cuda-12.8 .venv/bin/python tools/check_cuda.py --arch 75
# Headers, libdevice and ptxas are those of 12.8. The packages lack nvcc, cudafe++ and cicc; they are those installed,
# with crt/host_runtime.h, which belongs to cudafe++. A real toolkit of 12.8 needs none of this: CUDA_HOME suffices.
set -euo pipefail
folder=${1:?usage: tools/cuda_12_8.sh FOLDER}
python=${PYTHON:-$(dirname "$0")/../.venv/bin/python}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
installed=$("$nvcc" --dryrun -x cu /dev/null 2>&1 | sed -n 's/^#\$ TOP=//p')

rm -rf "$folder"
mkdir -p "$folder"/{bin,include,lib64,nvvm,packages}
"$python" -m pip install --quiet --no-deps --target "$folder/packages" \
  nvidia-cuda-nvcc-cu12==12.8.93 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cuda-cccl-cu12==12.8.90
packages=$folder/packages/nvidia

cp -r "$packages"/cuda_{runtime,nvcc,cccl}/include/. "$folder/include/"
cp "$installed/include/crt/host_runtime.h" "$folder/include/crt/"
cp -r "$packages/cuda_nvcc/nvvm/libdevice" "$installed/nvvm/bin" "$folder/nvvm/"
cp -r "$installed"/bin/{nvcc,cudafe++,fatbinary,nvlink,bin2c,crt} "$folder/bin/"
cp "$packages"/cuda_runtime/lib/libcudart.so.12 "$folder/lib64/"
cp "$packages/cuda_nvcc/bin/ptxas" "$folder/bin/ptxas-12.8"

cat >"$folder/bin/ptxas" <<'PTXAS'
#!/bin/sh
# cicc 13 writes PTX of version 9.0; ptxas 12.8 reads 8.7, which has all that the kernels use.
for argument; do
  case "$argument" in *.ptx) sed -i 's/^\.version 9\.0/.version 8.7/' "$argument" ;; esac
done
exec "$(dirname "$0")/ptxas-12.8" "$@"
PTXAS
chmod +x "$folder"/bin/ptxas*

cat >"$folder/bin/nvcc.profile" <<'PROFILE'
TOP                = $(_HERE_)/..
CICC_PATH          = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH              += $(CICC_PATH):$(_HERE_):
INCLUDES          += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES         =+ $(_SPACE_) "-L$(TOP)/lib64"
PROFILE
"$folder/bin/ptxas" --version | tail -2
