# `make` lists what there is to do. Settings, as in `make test PYTHON=python3.12`:
#   PYTHON                 the interpreter, 3.10 or newer (python3)
#   TORCH                  what pip installs where that interpreter has no torch >= 2.10 (torch==2.13.0)
#   TORCHVISION            what `make test-torchvision` tests with (the release that goes with that torch)
#   TORCHVISION_TESTS      the folder `test` of its source, whose tests that runs too, without the switch and with it
#   MUTATE                 options of tools/mutate.py for `make mutate`
#   MAX_JOBS               compilers at a time (one a core)
#   TORCH_CUDA_ARCH_LIST   what CUDA is compiled for (the GPUs present; without any, 9.0 alone, to save time)

export PYTHON ?= python3
export TORCH ?= torch==2.13.0
export PIP_DISABLE_PIP_VERSION_CHECK = 1

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
py := .venv/bin/python
py_peers := .venv-peers/bin/python

# Names what the recipe does, and says how long it took.
phase = @trap 'echo "== $(1): $$SECONDS s"' EXIT; echo "== $(1)";
# So the build itself checks what it compiles for, 9.0 or the GPUs present, and `cuda` need not compile that again.
no_spill = -Xptxas -warn-spills,-Werror
# Tests of what no device runs, and those of its folders that one does run.
host_only = --ignore=orbbec/opencv --ignore=orbbec/data --ignore=orbbec/cli/preview --ignore=tests/project --ignore=tests/attack --ignore=tests/test_scripts.py
on_device = orbbec/data/tests/test_loader.py orbbec/data/tests/test_planes.py orbbec/data/tests/test_sink.py
# The tests of $(2) that need the library $(1), and the pages that show it.
with_library = $(call phase,test-$(1)) .venv-$(1)/bin/python -m pytest -q $(2) \
  tests/project/test_docs.py::test_what_a_page_shows_of_another_library_runs
clang_format = $(py) -c 'import clang_format; clang_format.clang_format()'
cpp_files = find orbbec tests tools -name '*.h' -o -name '*.cpp' -o -name '*.cu'

.PHONY: help venv build demo test checked opencv lint format cuda emulated gpu-dry-run pytest test-peers test-torchvision test-albumentations test-ray bench peers gpu parity corpus attack docs mutate wheel clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/demo build ## See it work: train on real photographs, beside cv2 (needs no OpenCV source)
	$(call phase,demo) $(py) scripts/train_demo.py

# Two at a time: the emulated device takes as long as all the rest.
test: .venv/tests ## Build and check everything: what CI runs
	@$(MAKE) -j2 emulated checked

checked: .venv/tests
	@$(MAKE) opencv
	@$(MAKE) lint
	@NVCC_APPEND_FLAGS="$${NVCC_APPEND_FLAGS:-} $(no_spill)" $(MAKE) build
	@$(MAKE) cuda CUDA_ARCHS=75
	@$(MAKE) gpu-dry-run
	@$(MAKE) pytest
	@$(MAKE) test-peers

venv: .venv/ready ## Make .venv: torch and what the build needs

.venv/ready: requirements/build.txt requirements/runtime.txt tools/make_venv.sh
	$(call phase,venv) tools/make_venv.sh; touch $@

.venv/demo: .venv/ready requirements/demo.txt
	$(call phase,install requirements/demo.txt) $(py) -m pip install --quiet -r requirements/demo.txt; touch $@

.venv/tests: .venv/demo requirements/tests.txt requirements/docs.txt
	$(call phase,install requirements/tests.txt) $(py) -m pip install --quiet -r requirements/tests.txt; touch $@

build: .venv/ready ## Build what is out of date, in place
	$(call phase,build) tools/build_in_place.sh

opencv: .venv/ready ## Fetch and build the OpenCV that orbbec.opencv links, once a machine
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

cuda: .venv/ready ## Compile every kernel for every architecture; a spill or a warning fails
	$(call phase,cuda) $(py) tools/check_cuda.py $(addprefix --arch ,$(CUDA_ARCHS))

emulated: .venv/tests ## Test the CUDA kernels on the emulated device, under AddressSanitizer and UBSan
	$(call phase,emulated) $(py) tests/emulation/run.py -q $(host_only); \
	$(py) tests/emulation/run.py -q $(on_device)

gpu-dry-run: .venv/tests
	$(call phase,gpu-dry-run) PYTHON=$(py) tools/gpu_check.sh --dry-run

pytest: .venv/tests ## Run the tests on the CPU, and on CUDA where there is a GPU
	$(call phase,pytest) $(py) -m pytest -q

test-peers: test-torchvision test-albumentations test-ray ## Run the tests that need another library, each in a venv of its own

test-torchvision: .venv-torchvision/ready build ## Test the switch and what is converted from torchvision
	$(call with_library,torchvision,orbbec/backends orbbec/transforms/tests/test_convert_torchvision.py orbbec/transforms/tests/test_functional.py orbbec/transforms/tests/test_tv_tensors.py \
	  tests/test_scripts.py::test_pipelines_of_torchvisions_users_run_with_another_import); \
	$(if $(TORCHVISION_TESTS),PYTHONPATH=. .venv-torchvision/bin/python tools/torchvision_tests.py $(TORCHVISION_TESTS) && \
	  PYTHONPATH=. .venv-torchvision/bin/python tools/torchvision_functional.py $(TORCHVISION_TESTS))

test-albumentations: .venv-albumentations/ready .venv-albumentationsx/ready build ## Test what is converted from Albumentations
	$(call with_library,albumentations,$(wildcard orbbec/transforms/tests/test_convert_albumentations*.py))
	$(call with_library,albumentationsx,$(wildcard orbbec/transforms/tests/test_convert_albumentations*.py))

test-ray: .venv-ray/ready build ## Test orbbec.data.ray on a real Ray of this machine
	$(call with_library,ray,orbbec/data/tests/test_ray.py)

.PRECIOUS: .venv-%/ready
.venv-%/ready: .venv/tests requirements/%.txt tools/make_peer_venv.sh
	$(call phase,install $*) tools/make_peer_venv.sh $*; touch $@

bench: .venv-peers/ready build ## Time the operators compared with their rivals, in a venv of several GB
	$(call phase,bench) $(py_peers) tools/bench.py; $(py_peers) tools/performance.py

peers: .venv-peers/ready build ## Time whole workloads compared with every rival, in a venv of several GB
	$(call phase,peers) $(py_peers) -m benchmarks.peers; $(py_peers) tools/performance.py

gpu: .venv-peers/ready ## On a machine with a GPU: test there, then time whatever a GPU changes
	$(call phase,gpu) PYTHON=$(py_peers) tools/gpu_check.sh; \
	$(py_peers) -m benchmarks.peers --device cuda; \
	$(py_peers) -m benchmarks.resnet50

.venv-peers/ready: benchmarks/peers/requirements.txt
	$(call phase,install $<) $(PYTHON) -m venv .venv-peers; \
	$(py_peers) -m pip install --quiet -r $<; touch $@

parity: .venv/tests build test-peers ## Compare with OpenCV at full length and write docs/parity.md
	$(call phase,parity) for name in torchvision albumentations albumentationsx ray; do \
	  .venv-$$name/bin/python scripts/record_peer.py $$name; done; \
	$(py) scripts/check_parity.py --full

corpus: .venv/tests build ## Give broken images, and Pillow's test images, to the decoder and the Loader
	$(call phase,corpus) $(py) scripts/check_images.py

attack: .venv/tests build ## Give hostile files to every reader and decoder, ORBBEC_ATTACK_SECONDS long (600)
	$(call phase,attack) ORBBEC_ATTACK_SECONDS=$${ORBBEC_ATTACK_SECONDS:-600} $(py) -m pytest -q -s tests/attack

docs: .venv/tests ## Build the site of docs/ in build/site
	$(call phase,docs) $(py) -m mkdocs build

mutate: .venv-mutate/ready build ## Make small faults, one at a time, and list those that no test finds
	$(call phase,mutate) .venv-mutate/bin/python tools/mutate.py $(MUTATE)

wheel: .venv/ready ## Build dist/*.whl for every architecture
	$(call phase,wheel) $(py) -m build --wheel --no-isolation

clean: ## Remove what was built; .venv stays
	rm -rf build dist outputs *.egg-info orbbec/*.so orbbec/*/*.so .pytest_cache .mypy_cache .ruff_cache .hypothesis
