# The commands of a developer. Each command does its own set-up, most of them in .venv.

PYTHON ?= python3
# Test files run in parallel, one more than there are CPUs, because tests also wait. The tests of one
# file run in one process, because they share crawls. Files begin in the order of their names: by the
# number of tests, which is the default, the longest file would begin last.
PARALLEL := --numprocesses $(shell expr $$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN) + 1) --dist loadfile --no-loadscope-reorder
# If /dev/shm has 2 GB of room, temporary files are in memory: this is faster, and spares disks.
IN_MEMORY := $(shell [ "$$(df --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 2000000 ] 2>/dev/null \
	&& echo TMPDIR=/dev/shm)
# For the thorough ring: crawls start worker processes, as by default, and hypothesis tries more
# examples. In the quick ring, crawls start no workers, to save time.
THOROUGHLY := CRAWL_WITH_WORKERS=1 HYPOTHESIS_PROFILE=ci
# Container images often set this. Then each child process of the tests compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo demo-shared test test-thorough test-changed test-oldest test-ecosystem test-spark lint lint-workflows docs dist format clean

# The installed package must have the version in __init__.py: a test compares the two.
.venv/ready: pyproject.toml scrapy_simhash/__init__.py
	$(PYTHON) -m venv .venv
	# Without --no-compile, pip compiles thousands of modules that no test imports.
	.venv/bin/pip install --quiet --no-compile --editable ".[test]"
	# A separate command: pip 23.2 cannot resolve trafilatura and readability-lxml together.
	.venv/bin/pip install --quiet --no-compile trafilatura resiliparse
	touch $@

.venv/ready-lint: .venv/ready
	.venv/bin/pip install --quiet --editable ".[lint]"
	touch $@

.venv/ready-docs: .venv/ready
	.venv/bin/pip install --quiet --editable ".[docs]"
	touch $@

.venv-oldest/ready: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet uv
	# The lowest versions of all dependencies that pyproject.toml allows. jieba has no wheels.
	.venv-oldest/bin/uv pip install --quiet --system-certs --python .venv-oldest --resolution lowest-direct \
		--only-binary :all: --no-binary jieba --requirement pyproject.toml --extra test "httpx>=0.27"
	.venv-oldest/bin/uv pip install --quiet --system-certs --python .venv-oldest --no-deps --editable .
	touch $@

# Crawl the demo site of the example project, which has planted near-duplicates.
demo: .venv/ready
	cd example_project && ../.venv/bin/python -m example.demo

.venv/ready-shared: .venv/ready
	.venv/bin/pip install --quiet scrapy-redis
	touch $@

# Crawl the same site with two processes that share a queue and an index in Redis.
demo-shared: .venv/ready-shared
	cd example_project && ../.venv/bin/python -m example.demo_shared

# Run the quick ring of tests. CONTRIBUTING.md describes the rings.
test: .venv/ready
	$(IN_MEMORY) .venv/bin/python -m pytest $(PARALLEL)

# Run both rings, with temporary files on the disk, as before a release.
test-thorough: .venv/ready .venv-oldest/ready
	$(THOROUGHLY) .venv/bin/python -m pytest $(PARALLEL) -m ""
	$(THOROUGHLY) .venv-oldest/bin/python -m pytest $(PARALLEL) -m "" tests/crawl

# Run the tests of the thorough ring that this commit needs most and that begin within SECONDS.
SECONDS := 600
test-changed: .venv/ready
	$(THOROUGHLY) .venv/bin/python -m pytest $(PARALLEL) -m thorough \
		--begin-within $(SECONDS) $$(.venv/bin/python -m tests.rings)

# Run the quick ring of the crawls with the oldest supported Scrapy and dependencies.
CRAWLS := tests/crawl
test-oldest: .venv-oldest/ready
	$(IN_MEMORY) .venv-oldest/bin/python -m pytest $(PARALLEL) $(CRAWLS)

.venv-ecosystem/ready: pyproject.toml
	$(PYTHON) -m venv .venv-ecosystem
	# Scrapyd and scrapy-redis need pkg_resources, which newer setuptools do not have.
	.venv-ecosystem/bin/pip install --quiet --editable ".[test]" "setuptools<81" scrapy-playwright \
		scrapy-poet scrapy-redis scrapy-zyte-api scrapyd spidermon zyte-common-items
	touch $@

# Run crawls with other packages, in a separate environment of 100 MB.
test-ecosystem: .venv-ecosystem/ready
	$(THOROUGHLY) .venv-ecosystem/bin/python -m pytest -m "" tests/ecosystem

.venv-spark/ready: pyproject.toml
	$(PYTHON) -m venv .venv-spark
	.venv-spark/bin/pip install --quiet --editable ".[test,spark]"
	touch $@

# Run all tests with Spark, in a separate environment of 600 MB. Needs Java.
test-spark: .venv-spark/ready
	.venv-spark/bin/python -m pytest -m "" tests/extras/spark tests/test_documentation.py -k "spark"

lint: .venv/ready-lint
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# Check the files that GitHub, Dependabot and Read the Docs read, without the network.
lint-workflows: .venv/ready-lint
	.venv/bin/pip install --quiet "check-jsonschema>=0.30" "zizmor>=1.5"
	.venv/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-forms \
		$(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	.venv/bin/check-jsonschema --builtin-schema vendor.github-issue-config \
		.github/ISSUE_TEMPLATE/config.yml
	.venv/bin/check-jsonschema --builtin-schema vendor.readthedocs .readthedocs.yaml
	.venv/bin/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	.venv/bin/zizmor --quiet --offline .github

# Build the documentation in site/; a warning is an error. Open site/index.html.
docs: .venv/ready-docs
	# With --quiet, mkdocs would ignore warnings. The search plugin uses jieba, which leaves its
	# dictionary in TMPDIR.
	TMPDIR=$(CURDIR)/.venv NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict

.venv/ready-dist: .venv/ready
	.venv/bin/pip install --quiet --editable ".[dist]"
	touch $@

# Build the sdist and the wheel in dist/, with the time of the commit: the same bytes for everybody.
dist: .venv/ready-dist
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) .venv/bin/python -m build
	.venv/bin/python -m twine check --strict dist/*
	.venv/bin/python -m pytest -m "" tests/test_distribution.py

format: .venv/ready-lint
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

clean:
	rm -rf .venv .venv-oldest .venv-ecosystem build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
