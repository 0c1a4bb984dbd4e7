# `make` lists the targets. Settings, with defaults in brackets, as in `make test PYTHON=python3.12`:
#   PYTHON                 the interpreter, 3.10 or newer (python3)
#   TORCH                  the torch to install if the interpreter has none >= 2.10 (torch==2.13.0)
#   CUDA_ARCHS             architectures of `make cuda`, as in "75 90" (every one that is supported)
#   TORCHVISION            the torchvision for `make test-torchvision` (the release that matches torch)
#   TORCHVISION_TESTS      the folder `test` of torchvision's source, to run its tests without and with the switch
#   MUTATE                 options of tools/mutate.py for `make mutate`
#   MAX_JOBS               number of parallel compilers (one per core)
#   TORCH_CUDA_ARCH_LIST   CUDA architectures (those of the GPUs present; without a GPU only 7.5+PTX, to save time)

export PYTHON ?= python3
export TORCH ?= torch==2.13.0
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The wrappers of ccache, where it is installed.
ccache := $(firstword $(wildcard /usr/lib/ccache /usr/lib64/ccache))
ifneq ($(ccache),)
export PATH := $(ccache):$(PATH)
# Objects of one checkout serve another.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
endif
# Of each grid of parameters a sample, another one each day; `make test-full` runs all.
sampled = --sampled

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
py := .venv/bin/python
py_peers := .venv-peers/bin/python

# Prints the name of a recipe and the time it took.
phase = @trap 'echo "== $(1): $$SECONDS s"' EXIT; echo "== $(1)";
# In `test`, warnings fail the build, as in `cuda`; `ptx` executes the kernels of this build.
strict = -lineinfo -Werror all-warnings
# Tests that use no device, and the tests within those folders that do.
host_only = --ignore=orbbec/opencv --ignore=orbbec/data --ignore=orbbec/cli/preview --ignore=orbbec/cli/tests/test_bench_data.py --ignore=orbbec/cli/tests/test_commands.py --ignore=orbbec/cli/tests/test_errors.py --ignore=tests/project --ignore=tests/attack --ignore=tests/test_scripts.py
on_device = orbbec/data/loader/tests/test_loader.py orbbec/data/loader/tests/test_by_kernels.py orbbec/data/loader/tests/test_pieces.py orbbec/data/decode/tests/test_on_device.py orbbec/data/decode/tests/test_planes.py orbbec/data/device/tests/test_sink.py
# Runs the tests $(2) that need the library $(1), and the examples of that library in the docs.
with_library = $(call phase,test-$(1)) .venv-$(1)/bin/python -m pytest -q $(2) \
  tests/project/test_docs.py::test_what_a_page_shows_of_another_library_runs
clang_format = $(py) -c 'import clang_format; clang_format.clang_format()'
cpp_files = find orbbec tests tools -name '*.h' -o -name '*.cpp' -o -name '*.cu'

.PHONY: help venv build demo test test-full quick opencv lint format cuda machine-code emulated emulated-data lazy kernels ptx races gpu-dry-run pytest test-peers test-torchvision test-loops test-albumentations test-ray test-video bench peers gpu parity corpus attack docs mutate wheels clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/demo build ## Train on photographs and compare with cv2 (needs no OpenCV source)
	$(call phase,demo) $(py) scripts/train_demo.py

# Two at a time, since most of them use one core, the long ones first. Waiting threads leave their core to others.
test: export OMP_WAIT_POLICY = passive
test: ## Build and check everything: what CI runs
	@$(MAKE) -j2 checked=1 emulated pytest ptx races machine-code gpu-dry-run lint test-peers emulated-data lazy

test-full: ## Build and check everything, with every case of every grid of parameters
	@$(MAKE) test sampled=

quick: .venv/tests build ## Test one family after a change: make quick FAMILY=nms
	$(call phase,quick) $(py) -m pytest -q $(sampled) orbbec/$(or $(FAMILY),$(error name a family, as in make quick FAMILY=nms))

venv: .venv/ready ## Create .venv with torch and the build requirements

.venv/ready: requirements/build.txt requirements/runtime.txt tools/make_venv.sh
	$(call phase,venv) tools/make_venv.sh; touch $@

.venv/demo: .venv/ready requirements/demo.txt
	$(call phase,install requirements/demo.txt) $(py) -m pip install --quiet -r requirements/demo.txt; touch $@

.venv/tests: .venv/demo requirements/tests.txt requirements/docs.txt
	$(call phase,install requirements/tests.txt) $(py) -m pip install --quiet -r requirements/tests.txt; touch $@

build: .venv/ready $(if $(checked),opencv) ## Build what is out of date, in place
	$(call phase,build) NVCC_APPEND_FLAGS="$${NVCC_APPEND_FLAGS:-} $(if $(checked),$(strict))" tools/build_in_place.sh

opencv: .venv/ready ## Fetch and build the OpenCV that orbbec.opencv links, once per machine
	$(call phase,opencv) $(py) 3rdparty/vendor.py

lint: .venv/tests ## Check format, names, types and layers
	$(call phase,lint) $(py) -m ruff check .; \
	$(py) -m ruff format --check .; \
	$(cpp_files) | xargs $(clang_format) --dry-run -Werror; \
	$(py) -m mypy; \
	$(py) tools/check_layers.py

format: .venv/tests ## Format Python and C++
	$(py) -m ruff check --fix --quiet .
	$(py) -m ruff format .
	$(cpp_files) | xargs $(clang_format) -i

cuda: .venv/tests ## Compile every kernel for every architecture; warnings and worse machine code fail
	$(call phase,cuda) $(py) tools/check_cuda.py $(addprefix --arch ,$(CUDA_ARCHS))

machine-code: .venv/tests build
	$(call phase,machine-code) $(py) tools/check_cuda.py --built

emulated: .venv/tests ## Test the CUDA kernels on the emulated device, under AddressSanitizer and UBSan
	$(call phase,emulated) $(py) tests/emulation/run.py -q $(sampled) $(if $(sampled),--share 2) $(host_only) --ignore=tests/test_sample_kernels.py

emulated-data: .venv/tests build ## Test what the Loader does on a device on the emulated device
	$(call phase,emulated-data) $(py) tests/emulation/run.py -q $(sampled) $(if $(sampled),--share 2) $(on_device)

# Tests that fail on CUDA for reasons that the emulated device does not have: it shares the memory of the host.
as_on_cuda = tests/test_streams.py tests/test_cuda_graphs.py tests/test_host_arguments.py orbbec/data/device \
  orbbec/jpeg/tests/test_jpeg.py orbbec/mix/tests/test_mix.py orbbec/filters/tests/test_gaussian.py \
  "tests/test_sample_kernels.py::test_every_kernel_gives_the_bits_of_the_cpu[cuda-detections]"
lazy: .venv/tests build ## Test streams, graphs and memory on the lazy device: no early free, no missing wait
	$(call phase,lazy) $(py) tests/emulation/run.py --flavour lazy -q $(sampled) -k "not compile and not opcheck" $(as_on_cuda)

kernels: ptx races ## Run every kernel as nvcc compiles it, and under the race detector

# The order of blocks and threads is another one each day.
order = --order shuffle:$(shell date +%Y%m%d)
launched = build/ptx/launched
ptx: .venv/tests build
	$(call phase,ptx $(order)) if ! PATH="$$PATH:/usr/local/cuda/bin" command -v nvcc > /dev/null; then \
	  echo "no nvcc: what it makes of the kernels is not executed"; exit; fi; \
	mkdir -p $(dir $(launched)); rm -f $(launched); \
	ORBBEC_PTX_LAUNCHED=$(launched) $(py) tests/emulation/run.py --flavour ptx -q $(order) tests/test_sample_kernels.py; \
	$(py) tests/gpu/ptx/launched.py $(launched); \
	$(py) tests/gpu/ptx/mutations.py $(sampled); \
	$(py) tests/emulation/run.py --flavour ptx -q $(sampled) $(if $(sampled),--share 4) $(host_only)

races: .venv/tests build
	$(call phase,races $(order)) $(py) tests/emulation/run.py --flavour races -q $(order) tests/test_sample_kernels.py

gpu-dry-run: .venv/tests build
	$(call phase,gpu-dry-run) PYTHON=$(py) tools/gpu_check.sh --dry-run

pytest: .venv/tests build ## Run the tests on the CPU, and on CUDA where there is a GPU
	$(call phase,pytest) $(py) -m pytest -q -n 2 --dist worksteal $(sampled)

test-peers: test-torchvision test-loops test-albumentations test-ray test-video ## Run the tests that need another library, each in its own venv

test-torchvision: .venv-torchvision/ready build ## Test the switch and the conversion from torchvision
	$(call with_library,torchvision,orbbec/backends orbbec/transforms/convert/tests/test_convert_torchvision.py orbbec/transforms/tests/test_functional.py orbbec/transforms/base/tests/test_tv_tensors.py \
	  tests/test_scripts.py::test_pipelines_of_torchvisions_users_run_with_another_import); \
	$(if $(TORCHVISION_TESTS),PYTHONPATH=. .venv-torchvision/bin/python tools/torchvision_tests.py $(TORCHVISION_TESTS) && \
	  PYTHONPATH=. .venv-torchvision/bin/python tools/torchvision_functional.py $(TORCHVISION_TESTS))

test-loops: .venv-loops/ready build ## Test the training loops of other libraries, and compare recipes with their originals
	$(call phase,test-loops) .venv-loops/bin/python -m pytest -q \
	  "tests/project/test_docs.py::test_what_a_page_shows_of_another_library_runs[docs/how-to/loops.md]" \
	  orbbec/transforms/tests/test_policies.py::test_timms_operations_have_the_magnitudes_of_its_table \
	  orbbec/transforms/tests/families/test_tones.py::test_additions_are_those_of_timm \
	  tests/test_scripts.py::test_recipes_are_compared_with_their_originals

test-albumentations: .venv-albumentations/ready .venv-albumentationsx/ready build ## Test the conversion from Albumentations
	$(call with_library,albumentations,$(wildcard orbbec/transforms/convert/tests/test_convert_albumentations*.py))
	$(call with_library,albumentationsx,$(wildcard orbbec/transforms/convert/tests/test_convert_albumentations*.py))

test-ray: .venv-ray/ready build ## Test orbbec.data.ray with Ray on this machine
	$(call with_library,ray,orbbec/data/tests/test_ray.py)

test-video: .venv-video/ready build ## Test clips of video files with torchcodec; needs FFmpeg
	$(if $(shell command -v ffmpeg),$(call with_library,video,orbbec/data/readers/tests/test_videos.py),@echo "no ffmpeg: clips of video files are not tested")

.PRECIOUS: .venv-%/ready
.venv-%/ready: .venv/tests requirements/%.txt tools/make_peer_venv.sh
	$(call phase,install $*) tools/make_peer_venv.sh $*; touch $@

bench: .venv-peers/ready build ## Time the operators compared with their rivals, in a venv of several GB
	$(call phase,bench) $(py_peers) tools/bench.py; $(py_peers) tools/performance.py

peers: .venv-peers/ready build ## Time whole workloads compared with every rival, in a venv of several GB
	$(call phase,peers) $(py_peers) -m benchmarks.peers; $(py_peers) tools/performance.py

gpu: .venv-peers/ready ## On a machine with a GPU: run the tests and the GPU benchmarks
	$(call phase,gpu) PYTHON=$(py_peers) tools/gpu_check.sh; \
	$(py_peers) -m benchmarks.peers --device cuda; \
	$(py_peers) -m benchmarks.resnet50

.venv-peers/ready: benchmarks/peers/requirements.txt
	$(call phase,install $<) $(PYTHON) -m venv .venv-peers; \
	$(py_peers) -m pip install --quiet -r $<; touch $@

parity: .venv/tests build test-peers ## Run the full comparison with OpenCV and write docs/project/parity.md
	$(call phase,parity) for name in torchvision albumentations albumentationsx ray; do \
	  .venv-$$name/bin/python scripts/parity/record_peer.py $$name; done; \
	$(py) scripts/parity/check_parity.py --full

corpus: .venv/tests build ## Give broken images and Pillow's test images to the decoder and the Loader
	$(call phase,corpus) $(py) scripts/check_images.py

attack: .venv/tests build ## Give hostile files to every reader and decoder for ORBBEC_ATTACK_SECONDS (600)
	$(call phase,attack) ORBBEC_ATTACK_SECONDS=$${ORBBEC_ATTACK_SECONDS:-600} $(py) -m pytest -q -s tests/attack

docs: .venv/tests ## Build the documentation site in build/site
	$(call phase,docs) $(py) -m mkdocs build

mutate: .venv-mutate/ready build ## Insert small faults one at a time and list those that no test finds
	$(call phase,mutate) .venv-mutate/bin/python tools/mutate.py $(MUTATE)

.venv/wheels: .venv/ready requirements/wheels.txt
	$(call phase,install requirements/wheels.txt) $(py) -m pip install --quiet -r requirements/wheels.txt; touch $@

wheels: .venv/wheels ## Build dist/*.whl for a release, for every GPU architecture, and check it with auditwheel
	$(call phase,wheels) $(py) tools/wheels.py

clean: ## Remove build results; keep .venv
	rm -rf build dist outputs *.egg-info $$(find orbbec -name '*.so') .pytest_cache .mypy_cache .ruff_cache .hypothesis
