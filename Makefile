# roller: build, test and install.  GNU make.
#
#   make                 libraries and tools, into $(BUILD)
#   make run             set up this machine, build, make and prove the example kernel
#   make test            set up this machine, build, run every test (test-long: the slow ones too)
#   make unit            unit tests only;  TEST=test_base_* picks some, DEBUG=1 with what gdb needs
#   make test-forms      spellings of one computation: the same plans, and right (all of them)
#   make asan            unit tests under AddressSanitizer and UBSan, in $(BUILD)-asan
#   make tsan            what has threads under ThreadSanitizer, in $(BUILD)-tsan
#   make fuzz            libFuzzer targets, FUZZ_SECONDS each, in $(BUILD)-fuzz (needs clang)
#   make fuzz-onnx       models of strangers for roller-onnx, in the environment of test-hosts
#   make golden          compare plans and sources of tests/cases (UPDATE=1 rewrites them)
#   make replay BASE=REV compare plans and sources of all cases with those of another commit;
#                        PROFILES=... others than one of each family of fragments, ALL=1 every case
#                        with run-time sizes on each, SHARE=0.1 SEED=1 a part of them
#   make same-code BASE=REV  their machine code where sources differ, a SHARE=0.1 of cases drawn by
#                        SEED=1 for PROFILES=...: identical but for names
#   make repriced BASE=REV  its plans for the workload sets and ours, both priced by our model; ARGS=...
#   make bench           construction figures over benchmarks/workloads; ARGS=...
#   make sizes           programs for run-time sizes against static plans; ARGS=...
#   make limits          how far predicted times are from what physics allows; ARGS=...
#   make measured        the model against published kernel times; ALL=1 all of them, not a sample,
#                        DATA=DIR other files, JSON=FILE every figure, GPU=NAME and OP=NAME those,
#                        RESULTS=1 with ALL=1 writes benchmarks/measured/RESULTS.md
#   make clocks          clocks that power leaves units, and products that last, beside published rates
#   make learn           how few measurements find a fast plan, on published times of many tiles;
#                        ARGS=..., RESULTS=1 writes benchmarks/measured/LEARNING.md
#   make gpu-kit         what benchmarks/gpu/run needs on a machine without a compiler
#   make test-hosts      hosts that PyPI has (TVM-FFI, JAX, tinygrad, ONNX), in a virtual environment
#   make test-torch      PyTorch, in a virtual environment of its own (LONG=1: all of its samples)
#   make foreign         other projects' tests on the simulated driver; SUITE=... TINYGRAD=DIR
#   make kernelbench     KernelBench's problems through PyTorch's graph: right, and how fast by
#                        prediction; KERNELBENCH=DIR a checkout, ARGS=...
#   make python          the Python package over this build, in $(BUILD)/python
#   make wheel           Python wheels for x86_64 and aarch64 (ARCH: one of them), into $(BUILD)/wheel
#   make wheel-test      the same, installed into an empty virtual environment and tested there
#   make lint wc         rules of the house; sizes of the modules
#   make nvrtc12         NVRTC 12.9 beside the newest one, for sm_70
#   make install         PREFIX= DESTDIR= LIBDIR=
#   make docs            runs the commands that README and docs show, and writes what they print
#   make gallery         $(BUILD)/gallery.html: expressions with plan, kernel and roofline
#   make deb             Debian packages of all this, into $(BUILD)/deb
#   make static          $(BUILD)/static/roller-gen: one file, profiles inside, needs libc alone
#
# V=1 prints every command; else what is compiled (CC), put into an archive (AR) and linked (LD).
#
# SIM=0 builds without the simulator and the simulated driver, in build-nosim: nothing is proved
# there but on a device, and its tests are those that run no kernel.
#
# BUILD=DIR builds elsewhere.  MODULES=NAME builds and tests only that module and those to its left
# (base te hal ...), so that work on one goes on while another is broken.  A unit test whose first
# line is `/* links: NAME */` sees only the libraries up to NAME.

SIM          ?= 1
BUILD        ?= $(if $(filter 0,$(SIM)),build-nosim,build)
PREFIX       ?= /usr/local
LIBDIR       ?= $(PREFIX)/lib
CFLAGS       ?= -O2 -g
JANSSON_LIBS ?= -ljansson
FUZZ_SECONDS ?= 60
JOBS         ?= $(shell nproc 2>/dev/null || echo 1)
VERSION      := $(shell sed -n 's/^.define ROLLER_VERSION "\(.*\)"/\1/p' include/roller.h)

# What is tested and timed here is compiled here, and of the plans that are meant.
export ROLLER_CACHE_DIR =
export ROLLER_REFUSED = fail

, := ,

# What a command makes, in the place of the command.
silent = $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
quiet = $(if $(V),,@)
does = $(if $(V),,@$(if $(silent),,echo '  $1  $@';))

# A module includes only itself and modules to its left, te and hal not each other.
all_modules := base te hal rtile rprogram microperf codegen sim profiler driver
upto = $(if $2,$(firstword $2) $(if $(filter $1,$(firstword $2)),,$(call \
         upto,$1,$(wordlist 2,$(words $2),$2))))
reverse = $(if $1,$(call reverse,$(wordlist 2,$(words $1),$1)) $(firstword $1))
libs_upto = $(patsubst %,$(BUILD)/lib%.a,$(call reverse,$(call upto,$1,$(all_modules))))
ifneq ($(filter-out $(all_modules),$(MODULES)),)
  $(error MODULES is one of $(all_modules))
endif
modules := $(if $(MODULES),$(call upto,$(MODULES),$(all_modules)),$(all_modules))
# Without the simulator one source stands for all of it.
absent := src/sim/absent.c
# Files of a module lie in its folder, or in one of its rooms (tools/rooms.txt).
sources = $(wildcard src/$1/*.c src/$1/*/*.c)
left_out := $(if $(filter 0,$(SIM)),$(filter-out $(absent),$(call sources,sim)),$(absent))
objects = $(patsubst src/%.c,$(BUILD)/obj/%.o,$(filter-out $(left_out),$(sort \
            $(call sources,$1))))

flags := -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Wshadow -Wvla -Wconversion \
         -fPIC -fvisibility=hidden -Isrc -Iinclude -MMD -MP
ldlibs = $(JANSSON_LIBS) -lm -lpthread -ldl

tools := $(if $(MODULES),,$(patsubst src/cli/%.c,%,$(wildcard $(addprefix \
           src/cli/,roller-gen.c roller-profile.c $(if $(filter 0,$(SIM)),,roller-sim.c)))))
worker := $(if $(MODULES),,$(BUILD)/roller-worker)
products := $(modules:%=$(BUILD)/lib%.a) $(if $(MODULES),,$(BUILD)/libroller.a \
            $(BUILD)/libroller.so.0 $(tools:%=$(BUILD)/%)) $(worker)
simdriver := $(if $(filter 0,$(SIM)),,$(if $(filter sim,$(modules)),\
               $(BUILD)/simdriver/libcuda.so.1))
tvmffi := $(if $(MODULES),,$(BUILD)/libroller_tvm_ffi.so)
products += $(simdriver) $(tvmffi)

.PHONY: all run test test-long test-forms unit asan tsan fuzz fuzzers golden replay same-code \
        repriced bench \
        learn limits measured clocks sizes gpu-kit foreign test-hosts test-torch fuzz-onnx kernelbench package python \
        wheel wheel-test lint objects wc setup nvrtc12 install static manuals deb docs gallery clean
.DELETE_ON_ERROR:

all: $(products) $(BUILD)/share/roller/profiles

# -- compilation ---------------------------------------------------------------------------------
$(BUILD)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) $(defines) $(CPPFLAGS) $(CFLAGS) $(optimise) -c -o $@ $<
$(BUILD)/obj/hal/installed.o: defines += -DROLLER_DATADIR='"$(PREFIX)/share/roller"' \
    -DROLLER_LIBEXECDIR='"$(PREFIX)/libexec"'
$(BUILD)/obj/hal/installed.o: $(BUILD)/prefix
# Manual pages bear the date of the version.
$(BUILD)/obj/cli/sheet_man.o: defines += -DROLLER_VERSION_DATE='"$(shell sed -n \
    '1s/.*(\(.*\)).*/\1/p' ChangeLog)"'
$(BUILD)/obj/cli/sheet_man.o: ChangeLog
# A kernel in the cache is one of these very sources.
sources_id := $(BUILD)/sources
$(BUILD)/obj/driver/build/build_id.o: defines += -DROLLER_SOURCES='"$(shell cat $(sources_id))"'
$(BUILD)/obj/driver/build/build_id.o: $(sources_id)
$(sources_id): $(sort $(wildcard src/*/*.[ch] src/*/*/*.[ch])) include/roller.h $(sort $(wildcard include/roller/*.h))
	@mkdir -p $(@D)
	@cat $^ | sha256sum | cut -c1-16 >$@
# Loops over the lanes of a strip.
$(BUILD)/obj/te/eval/%.o: optimise = $(subst -O2,-O3,$(filter -O2,$(CFLAGS))) -ffp-contract=off \
                                     -fno-math-errno -fno-trapping-math

# The simulator reads registers as any type, rounds where it says so, and has no errno and no traps.
$(BUILD)/obj/sim/%.o: optimise = $(subst -O2,-O3,$(filter -O2,$(CFLAGS))) -fno-strict-aliasing \
                                 -ffp-contract=off -fno-math-errno -fno-trapping-math

# Changes when PREFIX does, so that what knows the installation folder is compiled again.
$(BUILD)/prefix: .FORCE
	@mkdir -p $(@D)
	@echo '$(PREFIX)' | cmp -s - $@ || echo '$(PREFIX)' >$@
.FORCE:

# The lines of a launcher's part that is the same for all kernels, as an array.
lines = sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/    "&\\n",/' $1
launchers := $(addprefix src/driver/artefact/launcher/,launch.c launch.py tvm_ffi.c tvm_ffi.h)
as_lines = echo 'const char *const launcher_$1_lines[] = {'; $(call lines,$(word $2,$(launchers))); echo '    NULL};'
$(BUILD)/launcher_lines.c: $(launchers) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "driver/artefact/launcher.h"'; \
	   $(call as_lines,c,1); $(call as_lines,python,2); \
	   $(call as_lines,tvm_ffi,3); $(call as_lines,tvm_ffi_abi,4); } >$@
$(BUILD)/obj/driver/launcher_lines.o: $(BUILD)/launcher_lines.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/libdriver.a: $(BUILD)/obj/driver/launcher_lines.o

# A kernel as text.
$(BUILD)/flush_ptx.c: src/hal/flush.ptx Makefile
	@mkdir -p $(@D)
	@{ echo '/* $< */'; echo 'extern const char cuda_flush_ptx[];'; \
	   echo 'const char cuda_flush_ptx[] ='; \
	   sed -e 's/.*/    "&\\n"/' $<; echo '    "";'; } >$@
$(BUILD)/obj/hal/flush_ptx.o: $(BUILD)/flush_ptx.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/libhal.a: $(BUILD)/obj/hal/flush_ptx.o

# The folder is a prerequisite so that a deleted source leaves the archive.
define module_rule
$(BUILD)/lib$1.a: $(call objects,$1) $(wildcard src/$1 src/$1/*/)
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call does,AR)$$(AR) rcsD $$@ $$(filter %.o,$$^)
endef
$(foreach m,$(modules),$(eval $(call module_rule,$m)))

$(BUILD)/roller.o: $(modules:%=$(BUILD)/lib%.a)
	$(call does,LD)$(LD) -r -o $@.tmp --whole-archive $^ --no-whole-archive
	$(quiet)objcopy --localize-hidden $@.tmp $@
	@rm -f $@.tmp
$(BUILD)/libroller.a: $(BUILD)/roller.o
	@rm -f $@
	$(call does,AR)$(AR) rcsD $@ $<
$(BUILD)/libroller.so.0: $(modules:%=$(BUILD)/lib%.a) packaging/roller.map
	$(call does,LD)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,libroller.so.0 -Wl,-z,defs \
	    -Wl,--version-script=packaging/roller.map -o $@ \
	    -Wl,--whole-archive $(filter %.a,$^) -Wl,--no-whole-archive $(ldlibs)

# roller for hosts of TVM-FFI: a library over libroller.so.0, which lies beside it.
$(BUILD)/libroller_tvm_ffi.so: $(call objects,tvmffi) $(BUILD)/libroller.so.0 packaging/tvmffi.map
	$(call does,LD)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-z,defs -Wl,-rpath,'$$ORIGIN:$$ORIGIN/..' \
	    -Wl,--version-script=packaging/tvmffi.map -o $@ $(filter %.o %.so.0,$^) -ldl

# The simulated driver: a library of its own, by the name of the real one.
$(BUILD)/simdriver/libcuda.so.1: packaging/simdriver-run
$(BUILD)/simdriver/libcuda.so.1: $(call objects,simdriver) $(patsubst %,$(BUILD)/lib%.a,sim hal base)
	@mkdir -p $(@D)
	$(call does,LD)$(CC) -shared $(CFLAGS) $(LDFLAGS) -Wl,-soname,libcuda.so.1 -Wl,-z,defs -Wl,--exclude-libs,ALL \
	    -o $@ $(filter %.o %.a,$^) $(ldlibs)
	@ln -sf libcuda.so.1 $(@D)/libcuda.so
	@cp packaging/simdriver-run $(@D)/run
	@ln -sfn $(CURDIR)/profiles $(@D)/profiles

# What the tools share is an archive, so that each takes only what it uses.
cli_shared := $(filter-out $(BUILD)/obj/cli/roller-%.o,$(call objects,cli))
$(BUILD)/libcli.a: $(cli_shared)
	@rm -f $@
	$(call does,AR)$(AR) rcsD $@ $^
$(tools:%=$(BUILD)/%) $(worker): $(BUILD)/%: $(BUILD)/obj/cli/%.o $(BUILD)/libcli.a $(call libs_upto,driver)
	$(call does,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ldlibs)

# One file that needs nothing but libc (docs/packages.md says why that), with the profiles inside.
jansson = $(shell $(CC) -print-file-name=libjansson.a 2>/dev/null)
profiles := $(wildcard profiles/*.json)
$(BUILD)/builtin.c: $(profiles) Makefile
	@mkdir -p $(@D)
	@{ echo '#include "hal/device.h"'; \
	   id() { echo profile_$$(basename $$1 .json | tr - _); }; \
	   for f in $(sort $(profiles)); do \
	       echo "static const char $$(id $$f)[] = {"; od -An -v -tu1 $$f | sed 's/[0-9]\{1,\}/&,/g'; \
	       echo '0};'; done; \
	   echo 'const HalBuiltin hal_builtin[] = {'; \
	   for f in $(sort $(profiles)); do \
	       echo "{\"$$(basename $$f .json)\", $$(id $$f)},"; done; \
	   echo '{NULL, NULL}};'; } >$@
$(BUILD)/obj/builtin.o: $(BUILD)/builtin.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/static/%: $(BUILD)/obj/cli/%.o $(BUILD)/obj/builtin.o $(BUILD)/libcli.a $(call libs_upto,driver)
	@mkdir -p $(@D)
	$(call does,LD)$(CC) $(CFLAGS) $(LDFLAGS) -s -static-libgcc -o $@ $^ $(jansson) -lm -lpthread -ldl
static: $(BUILD)/static/roller-gen

# -- benchmarks: a program for each of bench_*.c, construct.c, expressions.c; the rest is shared --
benchmarks := $(if $(MODULES),,$(patsubst benchmarks/%.c,$(BUILD)/benchmarks/%,$(wildcard \
                benchmarks/construct.c benchmarks/expressions.c benchmarks/learn.c \
                benchmarks/limits.c benchmarks/measured.c benchmarks/sizes.c benchmarks/bench_*.c)))
bench_shared := $(if $(MODULES),,$(patsubst %.c,$(BUILD)/obj/%.o,$(filter-out \
                  benchmarks/construct.c benchmarks/expressions.c benchmarks/learn.c \
                  benchmarks/limits.c benchmarks/measured.c benchmarks/sizes.c benchmarks/bench_%.c,$(sort \
                  $(wildcard benchmarks/*.c)))))
$(BUILD)/obj/benchmarks/%.o: benchmarks/%.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) -Ibenchmarks $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/libbenchmarks.a: $(bench_shared)
	@mkdir -p $(@D)
	@rm -f $@
	$(call does,AR)$(AR) rcsD $@ $^
$(benchmarks): $(BUILD)/benchmarks/%: $(BUILD)/obj/benchmarks/%.o $(BUILD)/libbenchmarks.a \
                                      $(call libs_upto,driver)
	@mkdir -p $(@D)
	$(call does,LD)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(ldlibs)

# -- tests ---------------------------------------------------------------------------------------
# NAME:MODULE for every file of a folder, MODULE being the rightmost one that it links.
links = $(filter $(addprefix %:,$(modules)),$(shell awk '\
    FNR == 1 { m = "driver"; if ($$1 == "/*" && $$2 == "links:") m = $$3; \
               n = FILENAME; sub(/.*\//, "", n); sub(/\.c$$/, "", n); print n ":" m }' \
    $(wildcard $1/*.c) /dev/null))
units := $(call links,tests/unit)
# Without the simulator there is nothing to run what is generated.
units := $(if $(filter 0,$(SIM)),$(filter $(addprefix %:,$(call upto,codegen,$(modules))),$(units)),\
           $(units))
tests := $(basename $(subst :,.,$(filter test_%,$(units))))
helpers := $(basename $(subst :,.,$(filter-out test_%,$(units))))

asks_nvrtc := $(sort $(wildcard src/hal/nvrtc*.[ch]))
$(BUILD)/obj/tests/unit/kept.o: defines += -DNVRTC_SOURCES='"$(shell cat $(asks_nvrtc) | sha256sum)"'
$(BUILD)/obj/tests/unit/kept.o: $(asks_nvrtc)
$(BUILD)/obj/tests/%.o: tests/%.c
	@mkdir -p $(@D)
	$(call does,CC)$(CC) $(flags) $(defines) -Itests/unit -Ibenchmarks $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/libtest.a: $(helpers:%=$(BUILD)/obj/tests/unit/%.o) tests/unit
	@rm -f $@
	$(call does,AR)$(AR) rcsD $@ $(filter %.o,$^)
# What NVRTC makes is kept (tests/unit/kept.c), but where it is tested itself.
compiles_anew := test_hal_nvrtc% test_watch test_threads test_simdriver_cubins
kept = $(if $(filter $(compiles_anew),$1)$(filter base te,$2),,-Wl,--wrap=nvrtc_compile \
         -Wl,-u,__wrap_nvrtc_compile)
# Most of the time of a link is that of debug information, and there are hundreds of links; DEBUG=1
# has it, and sanitizers do.
unless_debug = $(if $(DEBUG)$(findstring sanitize,$(CFLAGS)),,-Wl,--strip-debug)
define test_rule
$(BUILD)/tests/$1: $(BUILD)/obj/tests/unit/$1.o $(BUILD)/libtest.a \
                  $(if $(filter driver,$2),$(BUILD)/libbenchmarks.a) $(call libs_upto,$2)
	@mkdir -p $$(@D)
	$$(call does,LD)$$(CC) $$(CFLAGS) $$(LDFLAGS) $$(unless_debug) $(call kept,$1,$2) -o $$@ $$^ -lcmocka $$(ldlibs)
endef
$(foreach t,$(filter test_%,$(units)),$(eval $(call test_rule,$(firstword \
    $(subst :, ,$t)),$(lastword $(subst :, ,$t)))))

$(addprefix $(BUILD)/tests/,$(filter test_simdriver% test_profiler% \
    test_bind test_hal_cuda test_measure test_calibrate test_check_proof test_exec test_kernel_read test_worker \
    test_beside test_special test_threads,\
    $(tests))): | $(simdriver) $(worker)

TEST ?= test_*
chosen := $(filter $(subst *,%,$(TEST)),$(tests))
unit: $(chosen:%=$(BUILD)/tests/%)
	@BUILD=$(BUILD) tests/run -j $(JOBS) $(chosen:%=$(BUILD)/tests/%)

submake = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
everything = $(if $(filter 0,$(SIM)),tests/nosim.sh,$(sort $(wildcard tests/*.sh))) \
             $(tests:%=$(BUILD)/tests/%)
test test-long: setup
	@$(if $(filter test-long,$@),tools/setup --nvdisasm || true)
	@+$(submake) all python $(tests:%=$(BUILD)/tests/%) $(filter %/expressions,$(benchmarks))
	@BUILD=$(BUILD) $(if $(filter test-long,$@),LONG=1) tests/run -j $(JOBS) $(everything)

test-forms: setup
	@+LONG=1 $(submake) unit TEST="test_forms test_te_canon"

asan: setup
	@+$(submake) BUILD=$(BUILD)-asan unit CFLAGS="-O1 -g -fno-omit-frame-pointer \
	    -fsanitize=address,undefined -fno-sanitize-recover=all"

threaded := test_threads test_base_pool test_build_code test_workers test_simdriver_thread
tsan: setup
	@+TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan.supp" $(submake) BUILD=$(BUILD)-tsan unit \
	    TEST="$(threaded)" CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=thread"

fuzz_links := $(call links,tests/fuzz)
fuzz_targets := $(basename $(subst :,.,$(fuzz_links)))
define fuzz_rule
$(BUILD)/fuzz/$1: $(BUILD)/obj/tests/fuzz/$1.o $(call libs_upto,$2)
	@mkdir -p $$(@D)
	$$(call does,LD)$$(CC) $$(CFLAGS) -fsanitize=fuzzer -o $$@ $$^ $$(ldlibs)
endef
$(foreach t,$(fuzz_links),$(eval $(call fuzz_rule,$(firstword \
    $(subst :, ,$t)),$(lastword $(subst :, ,$t)))))
fuzzers: $(fuzz_targets:%=$(BUILD)/fuzz/%)
fuzz:
	@tools/setup --fuzz
	@+$(submake) BUILD=$(BUILD)-fuzz fuzzers CC=clang CFLAGS="-O1 -g -fno-omit-frame-pointer \
	    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all"
	@BUILD=$(BUILD)-fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run $(fuzz_targets)

golden: all
	@BUILD=$(BUILD) UPDATE=$(UPDATE) tests/golden.sh
replay: all
	@BUILD=$(BUILD) SHARE='$(SHARE)' SEED='$(SEED)' PROFILES='$(PROFILES)' ALL='$(ALL)' \
	    tools/replay $(BASE)
same-code: all nvrtc12
	@BUILD=$(BUILD) SHARE='$(SHARE)' SEED='$(SEED)' PROFILES='$(PROFILES)' tools/same-code $(BASE)
repriced: all $(BUILD)/benchmarks/expressions
	@BUILD=$(BUILD) tools/repriced $(ARGS) $(BASE)
sizes: $(BUILD)/benchmarks/sizes
	@$< $(ARGS)
limits: $(BUILD)/benchmarks/limits
	@$< $(ARGS)
bench: $(filter-out %/bench_planning %/expressions %/learn %/limits %/measured %/sizes,$(benchmarks))
	@for b in $^; do $$b $(ARGS) || exit 1; done

DATA         ?= benchmarks/measured/data
measured: $(BUILD)/benchmarks/measured
	@$< $(if $(ALL),,--sample 2000 --seed $$(printf %d 0x$$(git rev-parse --short=8 HEAD))) \
	    $(if $(GPU),--gpu '$(GPU)') $(if $(OP),--op '$(OP)') \
	    $(sort $(wildcard $(DATA)/*.csv)) >$(BUILD)/measured.jsonl
	@benchmarks/measured/report $(if $(JSON),--json $(JSON)) --svg $(BUILD)/measured.svg \
	    $(BUILD)/measured.jsonl
	@$(if $(RESULTS),$< --boards benchmarks/measured/sustained/boards.json \
	    benchmarks/measured/sustained/products.csv >$(BUILD)/sustained.jsonl && \
	    benchmarks/measured/results --predictions $(BUILD)/measured.jsonl --clocks $(BUILD)/sustained.jsonl)

# Clocks that power leaves units, and products that last, beside published rates.
clocks: $(BUILD)/benchmarks/measured
	@$< --boards benchmarks/measured/sustained/boards.json benchmarks/measured/sustained/products.csv \
	    >$(BUILD)/sustained.jsonl
	@benchmarks/measured/clocks --predictions $(BUILD)/sustained.jsonl
learn: $(BUILD)/benchmarks/learn
	@$< $(ARGS) benchmarks/measured/data/cutlass_tiles.csv >$(BUILD)/learn.md
	@cat $(BUILD)/learn.md $(if $(RESULTS),&& cp $(BUILD)/learn.md benchmarks/measured/LEARNING.md)

# Other projects' tests on the simulated driver (tests/foreign/README.md).  SUITE, MATCH, FROM, EVERY, JOBS
# and LIMIT choose; TINYGRAD names a checkout.
foreign: $(simdriver)
	@tests/foreign/setup $(BUILD)/foreign
	@MATCH='$(MATCH)' FROM='$(FROM)' EVERY='$(EVERY)' JOBS='$(JOBS)' LIMIT='$(LIMIT)' TINYGRAD='$(TINYGRAD)' \
	    $(BUILD)/foreign/venv/bin/python tests/foreign/run.py $(BUILD) $(SUITE)

docs: all python $(simdriver)
	@python3 tools/reference $(BUILD)
	@python3 -c 'import numpy' 2>/dev/null || PATH=/usr/bin:$$PATH; tools/docs $(BUILD)

# Hosts that PyPI has, on the simulated driver and in the simulator: tests/hosts.
test-hosts: package $(simdriver)
	@+BUILD=$(BUILD) MATCH='$(MATCH)' LONG='$(LONG)' tests/hosts/run
fuzz-onnx: package $(simdriver)
	@BUILD=$(BUILD) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/hosts/run fuzz

# PyTorch, without a GPU and without NVIDIA's libraries: tests/torch.
test-torch: package
	@+BUILD=$(BUILD) MATCH='$(MATCH)' LONG='$(LONG)' tests/torch/run

# benchmarks/kernelbench/README.md: in the Python of `test-torch`.
kernelbench: package
	@[ -d '$(KERNELBENCH)/KernelBench' ] || { \
	    echo "please name a checkout of github.com/ScalingIntelligence/KernelBench: KERNELBENCH=DIR" >&2; exit 2; }
	@tests/torch/setup $(BUILD)/torch
	@PYTHONPATH=$(BUILD)/python LD_LIBRARY_PATH=$(BUILD)/torch/stubs ROLLER_CACHE_DIR=$(BUILD)/kernelbench/cache \
	    $(BUILD)/torch/venv/bin/python benchmarks/kernelbench/run.py '$(KERNELBENCH)' $(BUILD) $(ARGS)

# What runs on a machine that has neither jansson nor a compiler: tools with jansson inside,
# libraries that find theirs beside them; and what is needed to build all of it there.
kit := $(BUILD)/gpu-kit
kit_files := $(tools:%=$(kit)/bin/%) $(kit)/libexec/roller-worker $(kit)/lib/libroller.so.0 $(kit)/lib/simdriver/libcuda.so.1 \
             $(kit)/rows.jsonl $(kit)/lib/libjansson.so.4
kit_link = @mkdir -p $(@D); $(CC) $(CFLAGS) $(LDFLAGS) -s
$(kit)/bin/%: $(BUILD)/obj/cli/%.o $(BUILD)/libcli.a $(call libs_upto,driver)
	$(kit_link) -o $@ $^ $(jansson) -lm -lpthread -ldl
$(kit)/libexec/%: $(kit)/bin/%
	@mkdir -p $(@D)
	@cp $< $@
$(kit)/lib/libroller.so.0: $(modules:%=$(BUILD)/lib%.a) packaging/roller.map
	$(kit_link) -shared -Wl,-soname,libroller.so.0 -Wl,-z,defs -Wl,-rpath,'$$ORIGIN' \
	    -Wl,--version-script=packaging/roller.map -o $@ \
	    -Wl,--whole-archive $(filter %.a,$^) -Wl,--no-whole-archive $(ldlibs)
$(kit)/lib/simdriver/libcuda.so.1: $(call objects,simdriver) $(patsubst %,$(BUILD)/lib%.a,sim hal base)
	$(kit_link) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs -Wl,--exclude-libs,ALL \
	    -Wl,-rpath,'$$ORIGIN/..' -o $@ $^ $(ldlibs)
$(kit)/rows.jsonl: $(BUILD)/benchmarks/expressions $(wildcard benchmarks/workloads/*.csv)
	@mkdir -p $(@D)
	$(quiet)$< >$@
$(kit)/lib/libjansson.so.4: $(jansson:.a=.so.4)
	@mkdir -p $(@D) $(kit)/jansson
	$(quiet)cp $(jansson) $(addprefix $(dir $(shell echo '#include <jansson.h>' | $(CC) -E - | \
	    sed -n 's|^. 1 "\(.*/jansson\)\.h".*|\1|p')),jansson.h jansson_config.h) $(kit)/jansson
	$(quiet)cp $< $@
gpu-kit: $(kit_files)
	@benchmarks/gpu/kit $(kit)

# Objects tell who calls whom however well they are compiled.  Whoever compiles them has warned.
objects: $(foreach m,$(notdir $(wildcard src/*)),$(call objects,$m))
warned = $(if $(findstring clang,$(shell $(CC) --version)),clang,gcc)
lint:
	@tools/lint
	@tools/functions
	@tools/numbers
	@+$(submake) -s BUILD=$(BUILD)/lint CFLAGS='-O0 -Werror' objects
	@tools/circles $(BUILD)/lint
	@for cc in gcc clang; do \
	    if command -v $$cc >/dev/null; then echo "$$cc -fsyntax-only"; \
	        { [ $$cc = $(warned) ] || printf '%s\n' $(wildcard src/*/*.c src/*/*/*.c); \
	          printf '%s\n' $(wildcard tests/unit/*.c benchmarks/*.c); } | xargs -P $(JOBS) -n 64 \
	            $$cc $(filter-out -MMD -MP,$(flags)) -DROLLER_SOURCES='""' -DNVRTC_SOURCES='""' -Itests/unit -Ibenchmarks \
	            -fsyntax-only -Werror || exit 1; fi; done
wc:
	@tools/wc

# -- Python --------------------------------------------------------------------------------------
# The package over this build's library, laid out as where it is installed; the layout of structs
# comes from the header.
package := $(BUILD)/python/roller
package_files := $(patsubst python/roller/%,$(package)/%,$(wildcard python/roller/*.py* \
                   python/roller/*/*.py python/roller/*/*.c python/roller/py.typed)) $(package)/_abi.py $(package)/lib/libroller.so.0 \
                 $(package)/lib/libroller_tvm_ffi.so \
                 $(package)/libexec/roller-worker \
                 $(package)/share/roller/profiles
$(package)/_abi.py: python/abi.py include/roller.h $(wildcard include/roller/*.h)
	@mkdir -p $(@D)
	$(quiet)python3 python/abi.py include/roller.h >$@
# A process that has the old file mapped keeps it.
replace = cp $< $@.new && mv -f $@.new $@
$(package)/lib/libroller.so.0: $(BUILD)/libroller.so.0
	@mkdir -p $(@D)
	@$(replace)
$(package)/lib/libroller_tvm_ffi.so: $(BUILD)/libroller_tvm_ffi.so
	@mkdir -p $(@D)
	@$(replace)
$(package)/libexec/%: $(BUILD)/%
	@mkdir -p $(@D)
	@$(replace)
$(package)/share/roller/profiles $(BUILD)/share/roller/profiles:
	@mkdir -p $(@D)
	@ln -sfn $(CURDIR)/profiles $@
$(package)/%: python/roller/%
	@mkdir -p $(@D)
	@$(replace)
package: $(package_files)
python: all package
wheel:
	@+python/wheels $(BUILD) $(ARCH)
wheel-test: all wheel
	@BUILD=$(BUILD) tests/run python/test-wheels

# -- this machine --------------------------------------------------------------------------------
setup:
	@tools/setup
nvrtc12:
	@tools/setup --nvrtc12

# The example kernel, proved; until the tool is there, a build is all there is to run.
run: setup
	@+$(submake) all
	@$(if $(filter roller-gen,$(tools)),mkdir -p $(BUILD)/out && $(BUILD)/roller-gen \
	    examples/matmul.te --check -o $(BUILD)/out/matmul.cu --emit=cu$(,)ptx$(,)cubin$(,)json)

# Made by the tools from their option tables.
manuals := $(foreach t,$(tools),$(addprefix $(BUILD)/manual/$t.,man bash zsh))
define manual_rule
$(BUILD)/manual/$1.%: $(BUILD)/$1
	@mkdir -p $$(@D)
	$$(quiet)$$< --generate $$* >$$@
endef
$(foreach t,$(tools),$(eval $(call manual_rule,$t)))

manuals: $(manuals)

install: all $(manuals)
	packaging/install "$(BUILD)" "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" "$(VERSION)"
gallery: all
	@tools/gallery $(BUILD) $(BUILD)/gallery.html
deb:
	@tools/setup --deb
	@packaging/deb "$(BUILD)"
clean:
	rm -rf $(BUILD) build-nosim $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
