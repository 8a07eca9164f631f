# Development tasks in a clone; `make help` lists them.
#
# Targets automatically set up what they need (virtual environment, packages, the compiled core),
# and repeat this only if an input has changed. Each step prints one line, and logs to
# target/setup-STAGE.log.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
STAMPS := $(VENV)/stamps
PYTHON := $(VENV)/bin/python
PYTHON_SOURCES := python tests/python $(wildcard bench tools tests/fidelity tests/conformance tests/links)
STUDY ?= studies/demo.toml
ARGS ?=
BROWSER ?= $(shell command -v chromium || command -v firefox-esr || command -v firefox)
SECONDS ?= 60

# In a shell that is not a login shell, PATH may lack cargo's folder. If HOME is not the home into
# which rustup was installed, cargo does not find its toolchain: it is in .rustup beside .cargo.
export PATH := $(PATH):$(HOME)/.cargo/bin
ifeq ($(shell cargo --version 2>/dev/null),)
  RUSTUP_BESIDE_CARGO := $(wildcard $(dir $(patsubst %/,%,$(dir $(patsubst %/,%,$(dir \
    $(shell command -v cargo))))))/.rustup)
  ifneq ($(RUSTUP_BESIDE_CARGO),)
    export RUSTUP_HOME := $(RUSTUP_BESIDE_CARGO)
  endif
endif
# Random tests draw the same values in every run. To search for new failures, run
# `PROPTEST_RNG_SEED=$RANDOM make test-rust` and
# `.venv/bin/python -m pytest --hypothesis-profile=search`.
export PROPTEST_RNG_SEED ?= 1
# PyO3's build script queries this interpreter, so tests and the extension use the same one.
export PYO3_PYTHON := $(CURDIR)/$(PYTHON)

RUST_INPUTS := Cargo.toml Cargo.lock $(shell find crates algorithms -type f 2>/dev/null \
  \( -name '*.rs' -o -name '*.toml' -o -name '*.c' -o -name '*.h' \) -not -path '*/tests/*')

# Without libelf's headers, the kernel backend is left out; everything else is built as usual.
CRATES = $(shell tools/setup crates)

# Python's processes share bytecode, even if the environment forbids writing it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test rust-tests test-rust test-python test-unprivileged test-page golden golden-builds golden-page check check-macos format lint lint-rust \
  lint-python docs bench bench-algorithms bench-c4 bench-campaign bench-fit bench-l4s bench-light-heavy bench-links bench-open bench-page bench-peers bench-scale \
  bench-verdicts bench-calibration bench-emulator bench-ledger bench-presets bench-trial conformance fidelity \
  validate-links validate-vm \
  fuzz images \
  setup site page wheel wheel-file wheel-test wheel-aarch64 clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

# The demo uses an existing core; without one, it builds only the parts that it needs.
demo: $(STAMPS)/$(if $(wildcard $(STAMPS)/core),core,demo) ## run a small real study and print the path of its report
	@$(VENV)/bin/cwndlab run $(STUDY) --results results/demo
	@$(VENV)/bin/cwndlab report results/demo

test: test-rust test-python ## run every test

rust-tests: $(STAMPS)/packages # compiles the tests without running them
	@cargo test $(CRATES) --no-run --quiet

test-rust: $(STAMPS)/packages
	@cargo test $(CRATES) --quiet

# Two processes: one runs all tests that load algorithms, make namespaces or measure real time.
test-python: $(STAMPS)/core
	@$(PYTHON) -m pytest --quiet --numprocesses 2 --dist loadgroup

# Tests of the kernel backends, and of the parts that must work without them.
UNPRIVILEGED_TESTS := $(addprefix tests/python/,kernel/ backends/test_testbed.py backends/test_kernel_studies.py \
  cli/test_shell.py cli/test_cli.py study/test_study_errors.py results/test_store.py)
UNPRIVILEGED_CRATES := -p cwndlab-emu -p cwndlab-testbed $(if $(findstring exclude,$(CRATES)),,\
  -p cwndlab-kernel)

test-unprivileged: $(STAMPS)/core ## run the kernel tests without privileges, TUN and kernel types, if called by root
	@tools/unprivileged cargo test $(UNPRIVILEGED_CRATES) --quiet
	@tools/unprivileged $(PYTHON) -m pytest --quiet -rs $(UNPRIVILEGED_TESTS)

golden: $(STAMPS)/core ## check that results are the same bytes as before; ARGS=--write stores new hashes
	@$(PYTHON) tools/golden/run.py $(ARGS)

golden-builds: $(STAMPS)/packages ## like golden, for builds with debug assertions, gcc, clang and sanitizers
	@tools/golden/builds $(ARGS)

page: $(STAMPS)/page ## build the page: target/page/site/index.html, which opens from disk

bench-page: $(STAMPS)/page ## time from a slider's move to the new curves, in BROWSER
	@node target/page/test/bench.mjs target/page/site/index.html $(BROWSER) $(ARGS)

test-page: $(STAMPS)/page ## test the page in BROWSER as users see it
	@tools/setup browser
	@node target/page/test/page.mjs target/page/site/index.html $$(command -v $(or $(BROWSER),chromium))

golden-page: $(STAMPS)/page ## like golden, for the page's module in Node.js
	@$(PYTHON) tools/golden/page.py $(ARGS)

# Targets that spend long on one processor run in parallel. The tests proper do not, as some measure
# times.
check: ## check format, lints, documentation, types and results, then run every test
	@$(MAKE) --jobs=2 --output-sync=target lint-rust docs page lint-python
	@$(MAKE) --jobs=2 --output-sync=target wheel-file golden rust-tests
	@$(MAKE) --jobs=2 --output-sync=target golden-page test-page
	@$(MAKE) test
	@$(MAKE) --jobs=2 --output-sync=target test-unprivileged wheel-test

check-macos: $(STAMPS)/packages ## check that the Rust code compiles for macOS; needs rustup and clang
	@rustup target add x86_64-apple-darwin 2>/dev/null
	@CC_x86_64_apple_darwin=clang cargo check --workspace --target x86_64-apple-darwin --quiet

lint: lint-rust lint-python ## check formatting, lints and types; changes nothing

lint-rust: $(STAMPS)/packages $(STAMPS)/lint
	@cargo fmt --all --check
	@cargo clippy $(CRATES) --all-targets --quiet -- -D warnings
	@$(PYTHON) tools/file_circles.py
	@$(PYTHON) tools/rust_rules.py

lint-python: $(STAMPS)/core
	@$(VENV)/bin/ruff format --quiet --check $(PYTHON_SOURCES)
	@$(VENV)/bin/ruff check --quiet $(PYTHON_SOURCES)
	@$(VENV)/bin/mypy --no-error-summary
	@$(PYTHON) tools/python_house.py
	@$(PYTHON) tools/prose.py
	@$(VENV)/bin/lint-imports --no-logo --no-cache >target/layers.log || { cat target/layers.log; exit 1; }

docs: $(STAMPS)/core site ## build the site and the Rust documentation; a warning is an error
	@RUSTDOCFLAGS="-D warnings" cargo doc $(CRATES) --no-deps --document-private-items --quiet

site: $(STAMPS)/core ## build the documentation: target/site/index.html
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet --strict
	@rm -f target/site/404.html # its styles load only from a web server

format: $(STAMPS)/packages ## format Rust and Python
	@cargo fmt --all
	@$(VENV)/bin/ruff format --quiet $(PYTHON_SOURCES)
	@$(VENV)/bin/ruff check --quiet --fix $(PYTHON_SOURCES)

bench: $(STAMPS)/packages ## speed of the simulator: instructions and time per delivered segment
	@$(PYTHON) bench/run.py $(ARGS)

bench-algorithms: $(STAMPS)/packages ## instructions per ACK of each algorithm, compared with reno
	@$(PYTHON) bench/algorithms.py $(ARGS)

bench-c4: $(STAMPS)/core ## the published tests of C4: the worst of 100 runs of each
	@$(PYTHON) bench/c4.py $(ARGS)

bench-l4s: $(STAMPS)/core ## Prague and DualPI2 at different rates, round trips and bursts; ARGS="--figure FILE"
	@$(PYTHON) bench/l4s.py $(ARGS)

bench-campaign: $(STAMPS)/core ## overhead of a campaign over its simulation, and results lost by SIGKILL
	@$(PYTHON) bench/campaign.py $(ARGS)

bench-trial: $(STAMPS)/core ## error rates of trials in simulated worlds, and of comparisons flow by flow
	@$(PYTHON) bench/trial.py $(ARGS)

bench-ledger: $(STAMPS)/core ## predictions for published measurements, and their scores; ARGS="score --pantheon CLONE"
	@$(PYTHON) bench/public_ledger.py $(ARGS)

bench-light-heavy: $(STAMPS)/core ## errors of replays of recorded cells, with and without packet trains
	@$(PYTHON) bench/light_heavy.py $(ARGS)

bench-fit: $(STAMPS)/core ## links inferred from one flow, and their predictions, for hidden links
	@$(PYTHON) bench/fit.py $(ARGS)

bench-links: $(STAMPS)/core ## instructions per simulated second of each radio link
	@$(PYTHON) bench/links.py $(ARGS)

bench-open: $(STAMPS)/page ## cwndlab open on 200 studies and 100,000 runs: first screen, memory
	@$(PYTHON) bench/open.py $(ARGS)

bench-presets: $(STAMPS)/core ## simulated seconds and segments per CPU second on every preset
	@$(PYTHON) bench/presets.py $(ARGS)

bench-peers: $(STAMPS)/packages ## the same dumbbell in ns-2, if installed, and in cwndlab, with ratios
	@$(PYTHON) bench/peers.py $(ARGS)

bench-scale: $(STAMPS)/packages ## many flows, fast links and short runs
	@$(PYTHON) bench/scale.py $(ARGS)

bench-verdicts: $(STAMPS)/core ## compare decisions with the truth on all presets; ARGS=--traces FOLDER
	@$(PYTHON) bench/verdicts.py $(ARGS)

bench-calibration: $(STAMPS)/core ## compare stated probabilities with frequencies where the truth is known
	@$(PYTHON) bench/calibration.py $(ARGS)

bench-emulator: $(STAMPS)/core ## the emulator's rates and delays on this machine, as root
	@$(PYTHON) bench/emulator.py $(ARGS)

validate-vm: $(STAMPS)/core ## compare with stock kernels on every preset, in virtual machines
	@$(PYTHON) tests/fidelity/presets.py $(ARGS)

fidelity: $(STAMPS)/core ## compare with the measured Linux kernel; ROWS=FILE.csv adds rows
	@$(PYTHON) tests/fidelity/run.py $(if $(ROWS),--rows $(ROWS)) $(ARGS)

validate-links: $(STAMPS)/packages ## compare links with their targets; TRACES=FOLDER adds recorded traces
	@$(PYTHON) tests/links/run.py $(if $(TRACES),--traces $(TRACES)) $(ARGS)

conformance: $(STAMPS)/core ## compare every congestion control of Debian's Linux with ours; ARGS="--kernel 6.12"
	@$(PYTHON) tests/conformance/run.py $(ARGS)

fuzz: $(STAMPS)/core $(STAMPS)/fuzz ## search for inputs that make a parser fail, SECONDS per parser
	@tools/fuzz $(SECONDS) $(ARGS)

images: demo ## redraw the pictures of the documentation
	@$(PYTHON) tools/make_images.py results/demo docs/images

setup: $(STAMPS)/core ## only set up what the other targets need

$(STAMPS)/fuzz: $(STAMPS)/packages tools/setup
	@tools/setup fuzz

$(STAMPS)/system: tools/setup
	@tools/setup system

$(STAMPS)/packages: $(STAMPS)/system pyproject.toml
	@tools/setup packages

$(STAMPS)/helpers: $(STAMPS)/system $(RUST_INPUTS)
	@tools/setup helpers

$(STAMPS)/core: $(STAMPS)/packages $(STAMPS)/helpers $(RUST_INPUTS)
	@tools/setup core

PAGE_INPUTS := tools/page_data.py \
  $(wildcard python/cwndlab/report/assets/* python/cwndlab/judge/*.py python/cwndlab/data/*.toml) \
  $(shell find page -type f -not -path '*/node_modules/*' 2>/dev/null)

$(STAMPS)/page: $(STAMPS)/core tools/setup $(RUST_INPUTS) $(PAGE_INPUTS)
	@tools/setup page

$(STAMPS)/demo: pyproject.toml tools/setup $(RUST_INPUTS)
	@tools/setup demo

$(STAMPS)/lint: $(STAMPS)/packages tools/setup
	@tools/setup lint

wheel: wheel-file ## build dist/*.whl, then install and use it in an empty environment
	@$(MAKE) wheel-test

wheel-file: $(STAMPS)/packages
	@tools/wheel

wheel-test:
	@tools/wheel-test

wheel-aarch64: $(STAMPS)/core ## build the wheel for 64-bit ARM and try it under qemu-user (not in make check)
	@tools/wheel aarch64
	@tools/wheel-test-aarch64

clean: ## remove everything that was built; results stay
	@rm -rf $(VENV) target .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find python -name '*.abi3.so' -delete
