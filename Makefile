# Every task of the project. `make` alone lists them.

PYTHON ?= python3
LOWTIDE := target/release/lowtide
# Interpreters for the zoo, separated by commas; those without torch are left out. Empty: the one of `make venv`, and
# the system's.
PYTHONS ?= $(LOWTIDE_ZOO_PYTHONS)
# Beginnings of names of zoo programs or benches, separated by commas; empty: all.
ONLY ?=
# How many zoo programs run at a time.
JOBS ?= 2

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(LOWTIDE) ## Watch a leaking training run on this machine, and see it found (under two minutes after the build).
	$(LOWTIDE) demo

.PHONY: test
test: ## All that CI runs: format, lints, Rust and Python tests, six training programs live.
	PYTHON=$(PYTHON) scripts/test.sh

.PHONY: test-frameworks
test-frameworks: ## Marks and callbacks against real HF Trainer and Lightning; not part of `make test` (another environment of 5 GB).
	venv=$$($(PYTHON) scripts/venv.py frameworks) && \
	PYTHONDONTWRITEBYTECODE=1 $$venv -m pytest -q -p no:cacheprovider crates/lowtide/agent/tests/test_frameworks.py && \
	PYTHONDONTWRITEBYTECODE=1 $$venv -m pytest -q -p no:cacheprovider python/lowtide/tests

.PHONY: test-page
test-page: $(LOWTIDE) ## Pages in a headless Chromium: no error, no request, curve, toggles, zoom, keys (part of `make test`; skipped without Chromium).
	venv=$$($(PYTHON) scripts/venv.py) && \
	PYTHONDONTWRITEBYTECODE=1 $$venv -m pytest -q -rs -p no:cacheprovider crates/report/tests/browser

.PHONY: vendor
vendor: ## What pages carry of others (uPlot), as npm has it: `scripts/vendor.sh --check` tells drift, `--latest` a newer one.
	scripts/vendor.sh

.PHONY: venv
venv: ## Install what the Python tests and the zoo need into the user's cache folder; prints the Python to use.
	@$(PYTHON) scripts/venv.py

.PHONY: zoo
zoo: $(LOWTIDE) ## Run every zoo program live and judge the verdicts (about an hour; resumes; ONLY=10,22 PYTHONS=a,b JOBS=2).
	venv=$$($(PYTHON) scripts/venv.py) && \
	$(PYTHON) zoo/run.py --pythons "$(or $(PYTHONS),$$venv,/usr/bin/python3)" --only "$(ONLY)" --jobs $(JOBS) $(if $(ONLY),,--publish)

.PHONY: zoo-compare
zoo-compare: $(LOWTIDE) ## What `lowtide compare` says of every program's repair, live; takes the runs of `make zoo` where there are any (ONLY=10,22 JOBS=2).
	venv=$$($(PYTHON) scripts/venv.py) && \
	$(PYTHON) zoo/compare.py live --python "$(or $(PYTHONS),$$venv)" --only "$(ONLY)" --jobs $(JOBS) $(if $(ONLY),,--publish)

.PHONY: zoo-heaps
zoo-heaps: $(LOWTIDE) ## Look into every zoo program with `lowtide heap` and judge holder and line (half an hour each Python; resumes; ONLY=10,22).
	venv=$$($(PYTHON) scripts/venv.py) && \
	$(PYTHON) zoo/heaps.py --pythons "$(or $(PYTHONS),$$venv,/usr/bin/python3)" --only "$(ONLY)" $(if $(ONLY),,--publish)

.PHONY: zoo-traces
zoo-traces: $(LOWTIDE) ## Judge the zoo's recorded traces, and the rules of others on them (ONLY=10,22).
	$(PYTHON) zoo/traces.py --only "$(ONLY)" $(if $(ONLY),,--publish)

.PHONY: zoo-fixes
zoo-fixes: $(LOWTIDE) ## Make the fixes of `lowtide check` in the leaking zoo programs and run them: no longer growing (ten minutes; ONLY=08,10 NOTE=busy).
	venv=$$($(PYTHON) scripts/venv.py) && \
	$(PYTHON) zoo/fixes.py --python "$(or $(PYTHONS),$$venv)" --only "$(ONLY)" --note "$(NOTE)" $(if $(ONLY),,--publish)

.PHONY: harm
harm: ## A thousand looks into a busy torch training, some of them killed: it must end in the same weights (half an hour or more; PYTHONS=a).
	venv=$$($(PYTHON) scripts/venv.py) && \
	LOWTIDE_TEST_PYTHONS=$(or $(PYTHONS),$$venv) cargo test --locked -p lowtide --test heap_harm -- --ignored --nocapture

.PHONY: bench
bench: ## Measure what lowtide costs and how soon it sees; ten minutes on an idle machine (ONLY=cost,recording).
	$(PYTHON) benches/run.py --only "$(ONLY)"

# Always asked for: cargo knows best whether anything is to be built.
.PHONY: $(LOWTIDE)
$(LOWTIDE):
	cargo build --release --locked
