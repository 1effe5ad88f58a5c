# The commands of this project. `make help` lists them; the work is in scripts/, and CMake builds (CMakePresets.json).
MPI ?= auto
export MPI

.DEFAULT_GOAL := help

# Only ARCH of the command line is meant: shells and containers set variables of that name.
ifeq ($(origin ARCH),environment)
unexport ARCH
endif

.PHONY: gpu gpu-test gpu-bench gpu-all help demo figures test test-all fuzz soak torture test-conformance test-exhaustive test-xpmem test-peers test-install test-wheel test-site test-recipes test-deb test-first-hour test-twice deb site bench setup build install uninstall wheel asan asan-mpi tsan format tidy clean

help: ## this list
	@echo "make TARGET [MPI=auto|openmpi|mpich|none|DIR] [ARGS='...']   (ARGS go to the program of demo and bench-NAME)"
	@sed -n 's/^\([a-z%-]*\):.*## \(.*\)/  \1@\2/p' Makefile | column -t -s@ 2>/dev/null || sed -n 's/^\([a-z%-]*\):.*## /  \1  /p' Makefile

demo: ## set up, build, and stack seismic images on 4 ranks: a table, a picture, an HTML page
	@scripts/demo $(ARGS)

test: ## set up, build, and pass the tests: what a newcomer runs; ARCH=aarch64: for 64-bit Arm, emulated
	@scripts/test

test-all: ## the same, then under the sanitizers, with 60 s of fuzzing a target, and on the other MPI
	@TEST_PARTS=all scripts/test

fuzz: ## HOURS=n (or a fraction): every fuzz target in turns over all cores; FUZZ_CORPUS=DIR keeps what they find
	@HOURS="$(HOURS)" FUZZ_CORPUS="$(FUZZ_CORPUS)" scripts/tests/fuzz

soak: ## HOURS=n (or a fraction): jobs of random collectives, communicators and deaths; memory and descriptors stay flat
	@HOURS="$(HOURS)" scripts/tests/soak $(ARGS)
torture: ## HOURS=n (or a fraction): random MPI programs of several threads, each result compared, plain MPI as the control
	@HOURS="$(HOURS)" scripts/tests/torture $(ARGS)

test-exhaustive: ## every one of the 2^32 float32 patterns, for ten bounds (hours)
	@scripts/tests/exhaustive

test-conformance: ## the profiling library on 1 to 9 ranks, every way that it can be made to go (minutes)
	@scripts/tests/conformance

test-xpmem: ## XPMEM=DIR (xpmem.ko and libxpmem.so.0, built for a kernel of Debian): tests through that module, in a virtual machine
	@scripts/tests/xpmem "$(XPMEM)" $(ARGS)

test-peers: ## MPICH's and mpi4py's own suites, plain and under the profiling library (PEERS_MPICH=DIR, PEERS_MPI4PY=DIR: their sources)
	@scripts/tests/peers $(ARGS)

bench: ## run all benchmarks; rows in build/bench/NAME.jsonl
	@scripts/bench

bench-%: ## run one benchmark: bench-codec, -ratio, -arithmetic, -hosts, -moves, -device, -node, -streams, -call, -carriers, -overlap, -preload, -training, -programs, -small, -short, -choose, -choose_cost, -python, -waits, -files, -frontier, -torch, -smpi
	@scripts/bench $* -- $(ARGS)

gpu: ## build the CUDA plugin, its tests and its benchmark; needs no GPU (nvcc, or CUDA's wheels in .venv)
	@scripts/gpu build

gpu-test: ## on a GPU: exactness against the host, compute-sanitizer
	@scripts/gpu test

gpu-bench: ## on a GPU: GB/s of every operation over sizes, bounds and fields (PEER_CUSZP=DIR, its sources; PEER_NVCOMP=DIR, its wheel: beside these)
	@scripts/gpu bench

gpu-all: ## on a GPU: build, then test and time everything in parts of 4 minutes; a run goes on where the last one ended
	@scripts/gpu all

figures: ## draw the pictures of docs/ that compute again: stacking (where its images are), bounds, comparison, model; in minutes
	@scripts/figures

setup: ## install what is missing: system packages, Python tools, an MPI (but for MPI=none)
	@scripts/setup test

build: ## what programs and users need, without tests, in build/release-MPI; all of it: scripts/build release
	@scripts/build release stretto_installed

install: ## PREFIX=DIR: headers, libraries, programs and the command `stretto` into one directory
	@PREFIX="$(PREFIX)" scripts/install

uninstall: ## PREFIX=DIR: delete what `make install` put there, and nothing else
	@PREFIX="$(PREFIX)" scripts/install remove

test-install: ## make install into a new directory, a program that uses it, make uninstall
	@TEST_PARTS=install scripts/test

test-wheel: ## the wheel in empty environments, with and without mpi4py: the package's tests; ARCH=aarch64: emulated
	@TEST_PARTS=wheel scripts/test

test-site: ## the documentation's site: every link, and a reference that lacks nothing
	@TEST_PARTS=site scripts/test

test-recipes: ## conda-forge's recipe, Spack's package and CITATION.cff: rendered and linted, compiled, validated
	@TEST_PARTS=recipes scripts/test

test-deb: ## the Debian packages in a new chroot of Debian: autopkgtest
	@TEST_PARTS=deb scripts/test

test-first-hour: ## make demo and make test as a newcomer does, in new chroots of Debian 12 and 13 (mmdebstrap; an hour); FIRST_HOUR_SUITES=noble: Ubuntu 24.04 (or jammy, resolute)
	@TEST_PARTS=first-hour-long scripts/test

test-twice: ## two builds of the last commit, source distribution and wheel, have one hash
	@TEST_PARTS=twice scripts/test

deb: ## Debian packages in build/deb, built and checked by lintian in a new chroot of Debian (mmdebstrap)
	@scripts/deb

site: ## the documentation as a site: build/site/html
	@scripts/site

wheel: ## the Python package as one wheel in build/wheel, with every library that it needs but an MPI's and UCX's; ARCH=aarch64: for 64-bit Arm
	@scripts/wheel

asan: ## tests under AddressSanitizer and UndefinedBehaviorSanitizer, with fuzzing
	@TEST_PARTS="asan fuzz" scripts/test

asan-mpi: ## the profiling library's conformance suite under AddressSanitizer and UndefinedBehaviorSanitizer
	@TEST_PARTS=asan-mpi scripts/test

tsan: ## tests under ThreadSanitizer
	@TEST_PARTS=tsan scripts/test

format: ## lay out all sources with clang-format
	@scripts/format

tidy: ## static checks with clang-tidy
	@scripts/tidy

clean: ## remove build/ and .venv/
	@scripts/clean
