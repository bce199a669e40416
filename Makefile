# You need Python >= 3.11 and make. Every target sets up the rest, except lock, which needs uv.
#   make demo    train, evaluate and compare both learners (under 10 minutes on 2 idle cores; continues if it was stopped)
#   make test    the fast tests;  make test-slow  the slow ones;  make check  format, lint, types
#   make test-cluster  submit on a real SLURM, which it installs and starts (root, Debian)
#   make test-browser  the pages in a real Chromium, which it installs (root, Debian), driven by playwright
#   make test-agents   MaskablePPO of sb3-contrib on the gymnasium environment, in an environment that it makes
#   make test-mutants  faults put into the code one at a time: the fast tests must catch each (15 minutes on a core);
#                      JOBS=2 tries two at a time
#   make bench   the environment against pgx and jumanji, n-tuples against TDL2048+ if the variable TDL2048 names its
#                binary, the search against mctx
#   make docs    build the documentation into site/, which needs no network to be read; every mistake ends the build
#   make release  the wheel, the source archive and the documentation in dist/
#   make trained  train the networks of the package again
#   make lock    resolve requirements.lock and the other requirements-*.lock again from pyproject.toml

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
RUN := $(BIN)/muzero2048
# One worker more than cores, at most 8: some tests wait for processes and signals.
WORKERS = $(shell $(BIN)/python -c 'import os; print(min(8, (os.cpu_count() or 1) + 1))')
JOBS := 1
DEMO := runs/quick-ntuple runs/quick-muzero

.PHONY: demo test fast-tests test-slow test-cluster test-browser test-agents test-mutants check bench docs release trained lock clean

demo: $(READY)
	$(RUN) train configs/quick/ntuple.yaml --resume
	$(RUN) train configs/quick/muzero.yaml --resume
	$(RUN) compare $(DEMO) --x wall_hours --out runs/quick-comparison
	@echo "open runs/quick-comparison/index.html"

# The checks run at the same time as the tests.
test: $(READY)
	$(MAKE) --no-print-directory -j2 check fast-tests
	@echo "left out: make test-cluster (a real SLURM), make test-browser (a real Chromium), make test-slow"

# Tests start a hundred processes: without bytecode on disk each one compiles the modules of this project again.
fast-tests: $(READY)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 20

# The slow tests, and those of the n-tuple kernels as a training run compiles them: the fast tests optimise less.
test-slow: $(READY)
	NUMBA_OPT=3 $(BIN)/python -m pytest -m slow
	NUMBA_OPT=3 $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile tests/ntuple

# Installs SLURM if needed, and starts a cluster of two nodes on this machine: needs root on Debian.
CLUSTER := $(CURDIR)/.cache/cluster
test-cluster: $(READY)
	command -v slurmctld && command -v munged || { apt-get update && apt-get install -y --no-install-recommends slurm-wlm munge; }
	tests/cluster/up.sh $(CLUSTER)
	SLURM_CONF=$(CLUSTER)/slurm.conf $(BIN)/python -m pytest -m cluster tests/cluster; \
		code=$$?; tests/cluster/down.sh $(CLUSTER); exit $$code

# Installs Debian's Chromium and playwright if needed.
test-browser: $(READY)
	command -v chromium || { apt-get update && apt-get install -y --no-install-recommends chromium; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-browser.lock
	$(BIN)/python -m pytest -m browser tests/browser

# The agents need torch, so they get an environment of their own, which reads all other packages from .venv.
AGENTS := $(CURDIR)/.cache/agents
test-agents: $(READY)
	$(PYTHON) -m venv $(AGENTS)
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > $(AGENTS)/purelib
	cp $(AGENTS)/purelib "$$($(AGENTS)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/shared.pth"
	$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(AGENTS)/bin/python -m pip install --quiet --disable-pip-version-check --group agents
	$(AGENTS)/bin/python -m pytest -n 0 -s -m slow tests/agents

test-mutants: $(READY)
	$(BIN)/python tests/mutants.py --jobs $(JOBS)

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(READY)
	$(RUN) bench env
	$(RUN) bench ntuple
	$(RUN) bench search

# The wheel and the source archive of this commit in dist/, with the documentation as an archive. Both are built twice:
# the same commit gives the same bytes.
release: $(READY) docs
	git diff --quiet HEAD || { echo "commit first: a release is a commit"; exit 1; }
	rm -rf dist .cache/release
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m hatchling build -d .cache/release
	diff -r dist .cache/release
	tar --sort=name --owner=0 --group=0 --mtime=@0 -czf dist/docs.tar.gz -C site .
	@ls -l dist; echo "then: git tag v$$($(BIN)/python -m hatchling version)"

# The networks that are installed with the package (launch/trained/README.md has the cards): n-tuples in 12 minutes on a
# CPU, MuZero in 22 minutes on an H200, and 3 more of compiling.
TRAINED := launch/trained
trained: $(READY)
	$(RUN) train configs/ntuple/packaged.yaml --resume
	$(RUN) train configs/muzero/h100.yaml muzero.env_steps=17_825_792 --resume
	$(RUN) train configs/muzero/h100.yaml run.name=h100-more run.begin_from=runs/h100 run.seed=2 \
		muzero.learning_starts=3_145_728 muzero.optimizer.learning_rate=6e-4 muzero.env_steps=23_363_584 --resume
	rm -rf $(TRAINED)/ntuple $(TRAINED)/muzero
	$(RUN) network convert runs/packaged-ntuple --half --out $(TRAINED)/ntuple
	$(RUN) network convert runs/h100-more --half --out $(TRAINED)/muzero

# The message that is switched off is about a later version of mkdocs.
docs: $(VENV)/docs-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@echo "open site/index.html"

$(VENV)/docs-ready: requirements-docs.lock $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-docs.lock
	touch $@

# The environment is built from the lock file alone, and rebuilt when that file changes. `packages` is written last, so an
# environment whose build was interrupted is built again. All cores compile the packages' bytecode, without their tests;
# pip would use one.
$(VENV)/packages: requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r requirements.lock
	-$(BIN)/python -m compileall -qq -j 0 -x '/tests/|/plotly/|/pip/' $(VENV)/lib
	touch $@

# The project itself: its commands, and the extras that an error message names.
$(READY): $(VENV)/packages pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

lock:
	uv pip compile pyproject.toml --group dev --extra view --extra tune --extra bench --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header --upgrade -o requirements.lock
	uv pip compile pyproject.toml --extra gpu --extra view --constraints requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header -o requirements-gpu.lock
	uv pip compile --group browser --constraints requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header -o requirements-browser.lock
	uv pip compile --group docs --constraints requirements.lock --universal --python-version 3.11 \
		--generate-hashes --no-annotate --no-header -o requirements-docs.lock

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis comparison site
