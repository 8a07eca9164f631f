# What one does with cwndlab from a clone. `make help` lists it.
#
# Set-up (virtual environment, packages, the compiled core) happens by itself where a target needs
# it, in quiet steps whose log is target/setup.log, and again only where something has changed.

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

# A shell that is not a login shell may lack cargo's folder, and a HOME of its own hides the
# toolchain of a rustup whose programs are found all the same: it is beside them.
export PATH := $(PATH):$(HOME)/.cargo/bin
ifeq ($(shell cargo --version 2>/dev/null),)
  RUSTUP_BESIDE_CARGO := $(wildcard $(dir $(patsubst %/,%,$(dir $(patsubst %/,%,$(dir \
    $(shell command -v cargo))))))/.rustup)
  ifneq ($(RUSTUP_BESIDE_CARGO),)
    export RUSTUP_HOME := $(RUSTUP_BESIDE_CARGO)
  endif
endif
# Random tests draw the same in every run. To search: PROPTEST_RNG_SEED=$RANDOM make test-rust, and
# .venv/bin/python -m pytest --hypothesis-profile=search.
export PROPTEST_RNG_SEED ?= 1
# The build script of PyO3 asks this interpreter, so that tests and the extension agree on one.
export PYO3_PYTHON := $(CURDIR)/$(PYTHON)

RUST_INPUTS := Cargo.toml Cargo.lock $(shell find crates algorithms -type f 2>/dev/null \
  \( -name '*.rs' -o -name '*.toml' -o -name '*.c' -o -name '*.h' \) -not -path '*/tests/*')

# Without libelf's headers there is no kernel backend, and all else as usual.
CRATES = $(shell tools/setup crates)

.PHONY: help demo test rust-tests test-rust test-python test-unprivileged test-page golden golden-builds golden-page check check-macos format lint \
  docs bench bench-algorithms bench-c4 bench-campaign bench-fit bench-l4s bench-links bench-open bench-page bench-peers bench-scale \
  bench-verdicts bench-calibration bench-emulator bench-ledger bench-presets bench-trial conformance fidelity \
  validate-links validate-vm \
  fuzz images \
  setup site page wheel wheel-file wheel-test wheel-aarch64 clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

# Its two processes compile what they import once, even where the environment says otherwise.
demo: export PYTHONDONTWRITEBYTECODE :=
# A core that is there serves the demo, too; without one, only what the demo needs is built.
demo: $(STAMPS)/$(if $(wildcard $(STAMPS)/core),core,demo) ## run a small real study and print the path of its report
	@$(VENV)/bin/cwndlab run $(STUDY) --results results/demo
	@$(VENV)/bin/cwndlab report results/demo

test: test-rust test-python ## run every test

rust-tests: $(STAMPS)/packages # compiled, not run
	@cargo test $(CRATES) --no-run --quiet

test-rust: $(STAMPS)/packages
	@cargo test $(CRATES) --quiet

# Two processes: one for what loads algorithms, makes namespaces or measures in real time.
test-python: $(STAMPS)/core
	@$(PYTHON) -m pytest --quiet --numprocesses 2 --dist loadgroup

# What the kernel backends consist of, and what must go on without them.
UNPRIVILEGED_TESTS := $(addprefix tests/python/,kernel/ backends/test_testbed.py backends/test_kernel_studies.py \
  cli/test_shell.py cli/test_cli.py study/test_study_errors.py results/test_store.py)
UNPRIVILEGED_CRATES := -p cwndlab-emu -p cwndlab-testbed $(if $(findstring exclude,$(CRATES)),,\
  -p cwndlab-kernel)

test-unprivileged: $(STAMPS)/core ## the same without rights, TUN and kernel types, if called by root
	@tools/unprivileged cargo test $(UNPRIVILEGED_CRATES) --quiet
	@tools/unprivileged $(PYTHON) -m pytest --quiet -rs $(UNPRIVILEGED_TESTS)

golden: $(STAMPS)/core ## whether results are the same bytes as before; ARGS=--write holds new ones
	@$(PYTHON) tools/golden/run.py $(ARGS)

golden-builds: $(STAMPS)/packages ## the same of builds with checks on, of gcc and clang, and with sanitizers
	@tools/golden/builds $(ARGS)

page: $(STAMPS)/page ## build the page: target/page/site/index.html, which opens from disk

bench-page: $(STAMPS)/page ## from a slider's move to the new curves, in BROWSER
	@node target/page/test/bench.mjs target/page/site/index.html $(BROWSER) $(ARGS)

test-page: $(STAMPS)/page ## the page in BROWSER, as its users have it
	@tools/setup browser
	@node target/page/test/page.mjs target/page/site/index.html $$(command -v $(or $(BROWSER),chromium))

golden-page: $(STAMPS)/page ## the same of the page's module, in Node.js
	@$(PYTHON) tools/golden/page.py $(ARGS)

# What compiles on one processor for long goes side by side; tests, some of which measure, do not.
check: ## format, lints, documentation, types, results, then every test
	@$(MAKE) --jobs=2 --output-sync=target lint docs page
	@$(MAKE) --jobs=2 --output-sync=target wheel-file golden rust-tests
	@$(MAKE) golden-page test-page test test-unprivileged wheel-test

check-macos: $(STAMPS)/packages ## whether the Rust code compiles without Linux; needs rustup and clang
	@rustup target add x86_64-apple-darwin 2>/dev/null
	@CC_x86_64_apple_darwin=clang cargo check --workspace --target x86_64-apple-darwin --quiet

lint: $(STAMPS)/core $(STAMPS)/lint ## formatting, lints and types; changes nothing
	@cargo fmt --all --check
	@cargo clippy $(CRATES) --all-targets --quiet -- -D warnings
	@$(PYTHON) tools/file_circles.py
	@$(PYTHON) tools/rust_rules.py
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
	@rm -f target/site/404.html # its styles are found by a web server alone

format: $(STAMPS)/packages ## format Rust and Python
	@cargo fmt --all
	@$(VENV)/bin/ruff format --quiet $(PYTHON_SOURCES)
	@$(VENV)/bin/ruff check --quiet --fix $(PYTHON_SOURCES)

bench: $(STAMPS)/packages ## speed of the simulator: instructions and time a delivered segment
	@$(PYTHON) bench/run.py $(ARGS)

bench-algorithms: $(STAMPS)/packages ## instructions an ACK of each algorithm, over reno
	@$(PYTHON) bench/algorithms.py $(ARGS)

bench-c4: $(STAMPS)/core ## the published tests of C4, each by the worst of 100 runs
	@$(PYTHON) bench/c4.py $(ARGS)

bench-l4s: $(STAMPS)/core ## Prague and DualPI2 over rates, round trips and links with bursts; ARGS="--figure FILE"
	@$(PYTHON) bench/l4s.py $(ARGS)

bench-campaign: $(STAMPS)/core ## what a campaign costs beside its simulation, and what SIGKILL loses
	@$(PYTHON) bench/campaign.py $(ARGS)

bench-trial: $(STAMPS)/core ## error rates of trials in simulated worlds, beside a comparison flow by flow
	@$(PYTHON) bench/trial.py $(ARGS)

bench-ledger: $(STAMPS)/core ## predictions for published measurements, and their scores; ARGS="score --pantheon CLONE"
	@$(PYTHON) bench/public_ledger.py $(ARGS)

bench-fit: $(STAMPS)/core ## links inferred from one flow, and what they predict, on hidden wires
	@$(PYTHON) bench/fit.py $(ARGS)

bench-links: $(STAMPS)/core ## instructions a simulated second of each radio link
	@$(PYTHON) bench/links.py $(ARGS)

bench-open: $(STAMPS)/page ## cwndlab open over 200 studies and 100,000 runs: first screen, memory
	@$(PYTHON) bench/open.py $(ARGS)

bench-presets: $(STAMPS)/core ## simulated seconds, and segments, a CPU second on every preset
	@$(PYTHON) bench/presets.py $(ARGS)

bench-peers: $(STAMPS)/packages ## the same dumbbell in ns-2, where it is installed, beside ours, and the ratios
	@$(PYTHON) bench/peers.py $(ARGS)

bench-scale: $(STAMPS)/packages ## many flows, fast paths and short runs
	@$(PYTHON) bench/scale.py $(ARGS)

bench-verdicts: $(STAMPS)/core ## the decision beside the truth, over all presets; ARGS=--traces FOLDER
	@$(PYTHON) bench/verdicts.py $(ARGS)

bench-calibration: $(STAMPS)/core ## whether stated probabilities are met, where the truth is known
	@$(PYTHON) bench/calibration.py $(ARGS)

bench-emulator: $(STAMPS)/core ## the emulator's rates and delays on this machine, as root
	@$(PYTHON) bench/emulator.py $(ARGS)

validate-vm: $(STAMPS)/core ## compare with stock kernels on every preset, in virtual machines
	@$(PYTHON) tests/fidelity/presets.py $(ARGS)

fidelity: $(STAMPS)/core ## compare with the Linux reference; ROWS=FILE.csv adds rows
	@$(PYTHON) tests/fidelity/run.py $(if $(ROWS),--rows $(ROWS)) $(ARGS)

validate-links: $(STAMPS)/packages ## links beside their targets; TRACES=FOLDER adds recorded traces
	@$(PYTHON) tests/links/run.py $(if $(TRACES),--traces $(TRACES)) $(ARGS)

conformance: $(STAMPS)/core ## run every congestion control of Debian's Linux beside ours: ARGS="--kernel 6.12"
	@$(PYTHON) tests/conformance/run.py $(ARGS)

fuzz: $(STAMPS)/core $(STAMPS)/fuzz ## search for input that a parser does not survive, SECONDS each
	@tools/fuzz $(SECONDS) $(ARGS)

images: demo ## make the pictures of the documentation again
	@$(PYTHON) tools/make_images.py results/demo docs/images

setup: $(STAMPS)/core ## only the set-up that the other targets do by themselves

$(STAMPS)/fuzz: $(STAMPS)/packages tools/setup
	@tools/setup fuzz

$(STAMPS)/packages: pyproject.toml tools/setup
	@tools/setup packages

$(STAMPS)/core: $(STAMPS)/packages $(RUST_INPUTS)
	@tools/setup core

PAGE_INPUTS := tools/page_data.py $(wildcard python/cwndlab/report/assets/*) $(shell find page -type f -not -path '*/node_modules/*' 2>/dev/null)

$(STAMPS)/page: $(STAMPS)/core tools/setup $(RUST_INPUTS) $(PAGE_INPUTS)
	@tools/setup page

$(STAMPS)/demo: pyproject.toml tools/setup $(RUST_INPUTS)
	@tools/setup demo

$(STAMPS)/lint: $(STAMPS)/packages tools/setup
	@tools/setup lint

wheel: wheel-file ## build dist/*.whl, and install and use it where nothing else is
	@$(MAKE) wheel-test

wheel-file: $(STAMPS)/packages
	@tools/wheel

wheel-test:
	@tools/wheel-test

wheel-aarch64: $(STAMPS)/core ## the wheel for 64-bit ARM, tried under qemu-user (not a part of make check)
	@tools/wheel aarch64
	@tools/wheel-test-aarch64

clean: ## remove everything that is built; results stay
	@rm -rf $(VENV) target .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find python -name '*.abi3.so' -delete
