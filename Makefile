# halflife: the whole build. `make help` lists what can be asked for.

MODE    ?= release
PREFIX  ?= /usr/local
DESTDIR ?=
# The one place of the version is the file VERSION; REVISION is the commit that is built.
NUMBER   := $(shell cat VERSION)
ifndef REVISION
REVISION := $(shell git describe --always --dirty --exclude='*' --abbrev=40 2>/dev/null || echo unknown)
endif

# --- what is built, from what -----------------------------------------------------------------------------------------

# Another compiler than the system's has a folder of its own: build/debug-clang.
OUT      := build/$(MODE)$(addprefix -,$(filter-out cc gcc,$(notdir $(CC))))
MODULES  := base core ledger net objects manifest kube store prometheus snapshot deploy page rest http custom_metrics cache load_watcher notices plan safety learn scan apply serving control replay
LIB_SRC  := $(wildcard $(MODULES:%=src/%/*.c))
CLI_SRC  := $(wildcard src/cli/*.c)
CORE_SRC := $(wildcard src/core/*.c)
CORE_BASE := src/base/calendar.c
FAKE_SRC := $(wildcard test/fake/*.c)
HELP_SRC := $(wildcard test/support/*.c)
TEST_SRC := $(wildcard test/unit/*/test_*.c test/scenario/test_*.c test/fault/test_*.c)
FUZZ_SRC := $(wildcard test/fuzz/fuzz_*.c)
BENCH_SRC := $(wildcard bench/bench_*.c)

# The thread sanitizer is for what has threads; what lives on one thread alone is run by others that have them.
ifeq ($(MODE),tsan)
TEST_SRC := $(filter-out $(foreach m,core objects manifest kube prometheus snapshot deploy page rest plan replay cli docs,test/unit/$(m)/%),$(TEST_SRC))
FUZZ_SRC :=
# Stories in which the loop, the store's thread and the server's threads are all at work.
THREADED := $(foreach t,scenario/test_serve scenario/test_rest scenario/test_rotate fault/test_doors fault/test_operation,test/$(t).c)
ifdef THREADED_ONLY
TEST_SRC := $(filter test/unit/% $(THREADED),$(TEST_SRC))
endif
endif

obj       = $(1:%.c=$(OUT)/%.o)
TESTS    := $(TEST_SRC:%.c=$(OUT)/%)
FUZZERS  := $(FUZZ_SRC:%.c=$(OUT)/%)
BENCHES  := $(BENCH_SRC:%.c=$(OUT)/%)
PROGRAM  := $(OUT)/halflife
FAKE     := $(OUT)/fake-apiserver

LIBRARIES := libcurl jansson yaml-0.1 sqlite3 libmicrohttpd gnutls zlib
LIB_FLAGS := $(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null)
LIB_LINK  := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null) -lm -pthread

# --- how ---------------------------------------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
	-Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wformat=2 -Wundef -Wdouble-promotion -Wimplicit-fallthrough \
	-Wno-enum-float-conversion -Wno-enum-enum-conversion $(WERROR)

# -ffp-contract=off: the same histogram on every platform (a fused multiply-add rounds once instead of twice).
# -fdebug-prefix-map: debug information names files from the clone's root, so that two clones compile to the same bytes.
BASE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -Iinclude -pthread -fno-common -ffp-contract=off -g -fdebug-prefix-map=$(CURDIR)=. \
	$(WARN) $(LIB_FLAGS)
FLAGS_release = -O2 $(HARDEN)
FLAGS_debug   := -Og
FLAGS_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
FLAGS_tsan    := -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer
FLAGS_cov     := -O0 --coverage
FLAGS_fuzz    := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
LINK_release  := -pie -Wl,-z,relro,-z,now,-z,noexecstack
LINK_asan     := $(FLAGS_asan)
LINK_tsan     := $(FLAGS_tsan)
LINK_cov      := --coverage

ifeq ($(filter $(MODE),release debug asan tsan cov fuzz),)
$(error MODE is one of release debug asan tsan cov fuzz)
endif

# What hardens a release. Protection of control flow is by a flag for each architecture, which compilers for others
# refuse: each flag is tried. The highest level of _FORTIFY_SOURCE is the C library's. test/program reads what came of it.
ifeq ($(MODE),release)
hash    := \#
knows    = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -S -x c -o /dev/null - 2>/dev/null && echo '$(1)')
fortify := $(shell printf '%s\n' '$(hash)include <features.h>' __USE_FORTIFY_LEVEL | \
	$(CC) -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -E -P -x c - 2>/dev/null | grep -x 3 || echo 2)
HARDEN  := -fPIE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=$(fortify) \
	$(foreach flag,-fcf-protection -mbranch-protection=standard -fstack-clash-protection,$(call knows,$(flag)))
endif

# Where ccache is, text that was compiled before is not compiled again, in this clone or another.
CCACHE := $(shell command -v ccache)

# Hundreds of tests are linked: where LLVM's linker is, it takes a third of the default one's time, and less with one
# thread, for make keeps the processors busy. A release has the default one.
ifneq ($(MODE),release)
LINKER := $(shell echo 'int main(void) { return 0; }' | $(CC) -fuse-ld=lld -x c -o /dev/null - 2>/dev/null && echo -fuse-ld=lld -Wl,--threads=1)
endif

OUR_CFLAGS  := $(BASE_CFLAGS) $(FLAGS_$(MODE))
OUR_LDFLAGS := $(LINK_$(MODE)) $(LINKER)

# What is built for another architecture is tested under an emulator (test/cross).
ifneq ($(filter %-linux-gnu-gcc,$(notdir $(CC))),)
$(OUT)/test/%.o: OUR_CFLAGS += -DSLOWED -DEMULATED
endif
# To optimize what a sanitizer has put in takes longer than to run it as it is, but for arithmetic and text.
ifneq ($(filter $(MODE),asan tsan),)
$(OUT)/test/%.o: OUR_CFLAGS += -O0 -DSLOWED
$(OUT)/test/unit/core/%.o: OUR_CFLAGS += -O1
endif
# What is asked is which lines of src are run, so tests are as in the debug build, and often in the cache already.
ifeq ($(MODE),cov)
$(OUT)/test/%.o: OUR_CFLAGS := $(BASE_CFLAGS) $(FLAGS_debug)
endif
ifeq ($(MODE),asan)
$(OUT)/src/%.o: OUR_CFLAGS += -O0
$(OUT)/src/core/%.o $(OUT)/src/base/%.o $(OUT)/src/manifest/%.o: OUR_CFLAGS += -O1
endif

# One short line a step; V=1 shows the commands.
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-5s %s\n' $(1) $(2))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all benches help

all: $(PROGRAM) ## the program: build/release/halflife

benches: $(BENCHES) ## what make bench runs, built only

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9_.-]+:.*## / { printf "  %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A change of compiler or flags rebuilds everything; $(OUT)/flags is touched only when they differ.
FLAGS_NOW := $(CC) $(OUR_CFLAGS) $(CPPFLAGS) $(CFLAGS) $(OUR_LDFLAGS) $(LDFLAGS)
$(OUT)/flags: force
	@mkdir -p $(@D)
	@echo '$(FLAGS_NOW)' | cmp -s - $@ || echo '$(FLAGS_NOW)' > $@
.PHONY: force

$(OUT)/%.o: %.c $(OUT)/flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CCACHE) $(CC) $(OUR_CFLAGS) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# Tests and benches see what a module keeps to itself; src does not.
$(OUT)/test/%.o $(OUT)/bench/%.o: CPPFLAGS += -Isrc

# Only this object knows the version, so that a commit does not rebuild the rest but always this.
$(OUT)/version: force
	@mkdir -p $(@D)
	@echo '$(NUMBER) $(REVISION)' | cmp -s - $@ || echo '$(NUMBER) $(REVISION)' > $@
$(OUT)/src/cli/cmd_version.o: $(OUT)/version
$(OUT)/src/cli/cmd_version.o: CPPFLAGS += -DHALFLIFE_VERSION='"$(NUMBER)"' -DHALFLIFE_REVISION='"$(REVISION)"'

# The description of the REST API lies in the program as it is.
$(OUT)/src/rest/openapi.o: src/rest/openapi.yaml
# So do the files of the web page.
$(OUT)/src/page/page.o: $(wildcard src/page/*.html src/page/*.css src/page/*.js src/page/*.svg)

# Archives, so that a program takes in what it uses and no more. Tests may use the command line's own parts (settings,
# tables), never its main.
$(OUT)/libhalflife.a: $(call obj,$(LIB_SRC))
$(OUT)/libcli.a: $(filter-out %/main.o,$(call obj,$(CLI_SRC)))
$(OUT)/libfake.a: $(filter-out %/main.o,$(call obj,$(FAKE_SRC)))
$(OUT)/libhelp.a: $(call obj,$(HELP_SRC))
$(OUT)/lib%.a:
	$(call say,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
TEST_LIBS := $(OUT)/libhelp.a $(OUT)/libfake.a $(OUT)/libcli.a $(OUT)/libhalflife.a

$(PROGRAM): $(call obj,$(CLI_SRC)) $(OUT)/libhalflife.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -o $@

$(FAKE): $(call obj,$(FAKE_SRC)) $(OUT)/libhalflife.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -o $@

$(TESTS): $(OUT)/%: $(OUT)/%.o $(TEST_LIBS)
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -lcmocka -o $@

# A fuzz target replays its corpus with any compiler; MODE=fuzz with clang makes it a fuzzer.
ifeq ($(MODE),fuzz)
$(FUZZERS): $(OUT)/%: $(OUT)/%.o $(OUT)/libcli.a $(OUT)/libhalflife.a
	$(call say,LD,$@)
	$(Q)$(CC) -fsanitize=fuzzer,address,undefined $(LDFLAGS) $^ $(LIB_LINK) -o $@
else
$(FUZZERS): $(OUT)/%: $(OUT)/%.o $(OUT)/test/fuzz/replay.o $(OUT)/libcli.a $(OUT)/libhalflife.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -o $@
endif

# Read by the differential test of quantities in test/cluster, which has the real Go package to compare with.
$(OUT)/quantity-lines: $(OUT)/test/cluster/c/quantity_lines.o $(OUT)/libhalflife.a
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -o $@

# What kills halflife before one of its writes in test/cluster.
$(OUT)/kill-at-write.so: test/cluster/c/kill_at_write.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -D_GNU_SOURCE -O2 -g $(WARN) -shared -fPIC $(LDFLAGS) $< -o $@

# What the containers of a real node run: their image holds nothing else, so it is static.
$(OUT)/burn: $(OUT)/test/node/burn.o
	$(call say,LD,$@)
	$(Q)$(CC) -static -pthread $(LDFLAGS) $^ -o $@

# A clock of their own for tests that wait, and for programs that are compared (test/golden): the same in every mode, for
# a library that is loaded before a sanitizer's cannot have one itself.
PACE := build/pace
PACE_CFLAGS := -std=gnu17 -D_GNU_SOURCE -O2 -g -pthread -U_FORTIFY_SOURCE $(filter-out -Wundef,$(WARN))
$(PACE)/pace: test/pace/pace.c test/pace/pace.h
$(PACE)/pace.so: test/pace/preload.c test/pace/pace.h
$(PACE)/dump-database: test/pace/dump.c
$(PACE)/pace $(PACE)/pace.so $(PACE)/dump-database:
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(PACE_CFLAGS) $(if $(filter %.so,$@),-shared -fPIC) $< $(if $(filter %database,$@),-lsqlite3) -o $@

$(BENCHES): $(OUT)/%: $(OUT)/%.o $(TEST_LIBS)
	$(call say,LD,$@)
	$(Q)$(CC) $(OUR_LDFLAGS) $(LDFLAGS) $^ $(LIB_LINK) -lcmocka -o $@

-include $(shell [ -d $(OUT) ] && find $(OUT) -name '*.d')

# --- tests ---------------------------------------------------------------------------------------------------------------

.PHONY: test test-run check check-core check-layers check-names check-counts counts check-crds check-alerts check-format check-prose asan tsan coverage fuzz

test: ## unit, scenario and fault tests (installs what is missing first)
	@.ci/packages curl
	@$(MAKE) --no-print-directory test-run MODE=$(if $(filter release,$(MODE)),debug,$(MODE))

test-run: $(TESTS) $(FUZZERS) $(PROGRAM) $(FAKE) $(PACE)/pace $(PACE)/pace.so
	@test/run $(OUT)

check: check-core check-layers check-names check-counts check-crds check-alerts check-format ## everything that gates: purity, layers, counts, format, tests with both compilers' warnings as errors
	@$(MAKE) --no-print-directory all benches WERROR=-Werror
	@$(MAKE) --no-print-directory test WERROR=-Werror

# Built apart, without hardening, so that nothing but what core itself calls is left undefined. What it takes from base
# is as pure as the rest.
CORE_ONE := build/core/core.o
$(CORE_ONE): $(CORE_SRC) $(CORE_BASE) $(wildcard include/core/*.h include/base/*.h src/core/*.h)
	@rm -rf $(@D) && mkdir -p $(@D)
	@for f in $(CORE_SRC) $(CORE_BASE); do \
		$(CC) -std=gnu17 -D_GNU_SOURCE -Iinclude -ffp-contract=off -O2 -fno-pie -fno-stack-protector -U_FORTIFY_SOURCE \
			-c $$f -o $(@D)/part_$$(basename $$f .c).o || exit 1; done
	@$(LD) -r $(@D)/part_*.o -o $@

check-core: $(CORE_ONE) ## core calls memory and maths only, and holds no data but constants
	@! nm -u $< | awk '{ print $$NF }' | grep -vxE \
		'(mem(cpy|move|set|cmp|chr)|bcmp)|str(n?len|n?cmp)|(exp2|ldexp|frexp|floor|ceil|round|trunc|fmin|fmax)|__u?(div|mod)ti3|__assert_fail'
	@size -A $< | awk '($$1 ~ /^\.(data|bss)/) && $$2 > 0 { print "core has mutable data: " $$1; bad = 1 } END { exit bad }'
	@echo "core is pure"

coverage: ## lines and branches of core that its unit tests take
	@$(MAKE) --no-print-directory coverage-run MODE=cov
CORE_TESTS := $(filter $(OUT)/test/unit/core/%,$(TESTS))
coverage-run: $(CORE_TESTS)
	@find $(OUT) -name '*.gcda' -delete
	@for t in $(CORE_TESTS); do $$t >/dev/null 2>&1 || { echo "$$t fails"; exit 1; }; done
	@for f in $(CORE_SRC); do gcov -b -n -o $(OUT)/src/core $$f; done 2>/dev/null | awk -F "'" \
		'/^File/ { own = $$2 ~ /^src\/core/; if (own) printf "%-28s", $$2 } own && /^(Lines|Branches|Taken)/ \
		{ sub(/ executed/, ""); printf "  %-32s", $$0 } own && /^(Taken|No branches)/ { print ""; own = 0 }'

tests-of: ## which tests run a source file, by coverage (FILE=src/…; FILE=all: how many run each)
	@$(MAKE) --no-print-directory tests-of-run MODE=cov
tests-of-run: $(TESTS) $(FUZZERS) $(PROGRAM) $(FAKE)
	@OUT=$(OUT) test/tests-of $(FILE)
.PHONY: tests-of tests-of-run

# What is found goes to the build folder: an input worth keeping is put into test/data by hand.
fuzz: ## every fuzz target for SECONDS (60), or all of them together for ALL_SECONDS, with clang
	@.ci/packages clang
	@$(MAKE) --no-print-directory fuzz-run MODE=fuzz CC=clang
FUZZ_EACH = $$(($(ALL_SECONDS) > $(words $(FUZZERS)) ? $(ALL_SECONDS) / $(words $(FUZZERS)) : 1))
FUZZ_SECONDS = $(if $(ALL_SECONDS),$(FUZZ_EACH),$(or $(SECONDS),60))
fuzz-run: $(FUZZERS)
	@for f in $(FUZZERS); do name=$${f##*/fuzz_}; mkdir -p $(OUT)/corpus/$$name $(OUT)/found; echo "$$name:"; \
		$$f -max_total_time=$(FUZZ_SECONDS) -timeout=60 -print_final_stats=1 -artifact_prefix=$(OUT)/found/$$name- \
			$(OUT)/corpus/$$name test/data/$$name || exit 1; done

.PHONY: mutate coverage-run fuzz-run
mutate: ## change a comparison, a constant or a call at a time, and expect a failing test (core; FILES=src/… for others; SINCE, SAMPLE, WITHIN, BY: test/mutate)
	@$(if $(BY),,$(MAKE) --no-print-directory tests-of FILE=$(firstword $(CORE_SRC)) >/dev/null)
	@$(MAKE) --no-print-directory mutate-libraries MODE=debug
	@$(MAKE) --no-print-directory mutate-run MODE=asan
mutate-libraries: $(TEST_LIBS) $(FAKE) $(PROGRAM)
# The libraries are the debug build's; only the mutants and the tests themselves have sanitizers.
mutate-run: $(addsuffix .o,$(if $(BY),$(BY:%=$(OUT)/test/%),$(TESTS) $(FUZZERS) $(OUT)/test/fuzz/replay)) $(PACE)/pace $(PACE)/pace.so
	@OUT=build/debug OBJECTS=$(OUT) OF=build/cov/of PACE=$(PACE) CC="$(CC)" \
		FLAGS="$(filter-out $(WARN) -g,$(OUR_CFLAGS)) -g0 -O0 $(LINKER) -w -Isrc" \
		LINK="$(OUR_LDFLAGS) $(LIB_LINK) -lcmocka" CCACHE_DISABLE=1 test/mutate $(FILES)
.PHONY: mutate-libraries mutate-run

check-layers: ## includes follow the chain of modules
	@test/layers selftest && test/layers

check-names: ## no static function is one bare word, and few names are shared by several files
	@test/counts names

# The objects are the tests' own, so that `make check` builds them once.
check-counts: ## circles, bare names, wide structs, long files: none more than test/counts.most allows
	@$(MAKE) --no-print-directory counts COUNTS=check

counts: ## how tangled the tree is, one figure a line (COUNTS=list, bare or shared lists)
	@$(MAKE) --no-print-directory counts-run MODE=debug WERROR=$(WERROR)
counts-run: $(call obj,$(LIB_SRC) $(CLI_SRC))
	@OUT=$(OUT) test/counts $(COUNTS)
.PHONY: counts-run

check-prose: ## the usual slips in comments and documents: it points, it does not judge
	@test/prose

crds: ## the CRDs' second version anew, of the first, and the Profile's CRD, of the ClusterProfile's
	@test/crds write
.PHONY: crds

check-crds: ## the CRDs agree with each other
	@test/crds

check-alerts: ## the alert rules of manifests fire when they should (with promtool, where it is)
	@test/alerts

check-format: ## the tree is as .clang-format wants it
	@if command -v clang-format >/dev/null; then \
		git ls-files '*.c' '*.h' | xargs -r clang-format --dry-run -Werror; \
	else echo "clang-format is not installed: format not checked"; fi

# Recorded on the commit before a change that is to change nothing, and compared after it.
GOLDEN ?= build/golden
golden-record: ## what halflife answers, into build/golden (or GOLDEN; ONLY=text: some subjects)
	@.ci/packages curl
	@$(MAKE) --no-print-directory golden-run MODE=debug GOLDEN_DO=record

golden: ## compare with what golden-record wrote
	@.ci/packages curl
	@$(MAKE) --no-print-directory golden-run MODE=debug GOLDEN_DO=compare
golden-run: $(PROGRAM) $(FAKE) $(filter $(OUT)/test/scenario/%,$(TESTS)) $(addprefix $(PACE)/,pace pace.so dump-database)
	@OUT=$(OUT) ONLY=$(ONLY) test/golden $(GOLDEN_DO) $(GOLDEN)
.PHONY: golden golden-record golden-run

asan: ## the tests under the address and undefined behaviour sanitizers
	@$(MAKE) --no-print-directory test MODE=asan

tsan: ## the tests under the thread sanitizer (one a processor and one more: it slows what waits for time)
	@JOBS=$$(($$(nproc) + 1)) $(MAKE) --no-print-directory test MODE=tsan

tsan-threads: ## the thread sanitizer where threads begin: unit tests that link them, and stories of the whole program
	@JOBS=$$(($$(nproc) * 3)) LINKS=pthread_create THREADED_ONLY=1 $(MAKE) --no-print-directory test MODE=tsan

freeze: ## the tests, each of which now and then stands still for 8 or 12 seconds, ROUNDS times (1)
	@for i in $$(seq $(or $(ROUNDS),1)); do \
		JOBS=$$(($$(nproc) * 15)) TEST_SECONDS=1800 UNDER=test/freeze $(MAKE) --no-print-directory test || exit 1; done

gate: ## what decides whether a commit becomes part of halflife: .ci/run
	@.ci/packages clang clang-format ccache lld git curl
	@test/steps gate

verify: ## all that the gate leaves out, for hours, or some of it (STEPS="e2e node"); goes on where it was stopped
	@.ci/packages clang lld git debootstrap ip jq
	@test/steps verify $(STEPS)
.PHONY: freeze gate verify tsan-threads

docs: ## write the lists that pages, manual, the chart's schema and CRDs have from the program's tables and --help
	@.ci/packages
	@test/crds write
	@$(MAKE) --no-print-directory docs-run MODE=debug
DOCS_TESTS := $(OUT)/test/unit/docs/test_references $(OUT)/test/unit/docs/test_chart $(OUT)/test/unit/docs/test_version \
	$(OUT)/test/unit/cli/test_man
docs-run: $(DOCS_TESTS) $(PROGRAM)
	@for t in $(DOCS_TESTS); do DOCS=write HALFLIFE_BUILD=$(CURDIR)/$(OUT) $$t >/dev/null || exit 1; done
.PHONY: docs docs-run

compile_commands.json: ## for editors and static analysis
	@{ echo '['; for f in $(LIB_SRC) $(CLI_SRC) $(FAKE_SRC) $(HELP_SRC) $(TEST_SRC) $(BENCH_SRC); do \
		printf '{"directory":"%s","file":"%s","command":"%s"},\n' "$(CURDIR)" "$$f" '$(CC) $(subst ",\",$(OUR_CFLAGS)) -c '$$f; \
	done | sed '$$ s/,$$//'; echo ']'; } > $@

.PHONY: image check-image check-program check-chart cross bench bench-peer demo e2e e2e-node cluster-up cluster-down node-up node-down install clean compile_commands.json

bench: ## one line a subject: name, value, unit, budget
	@.ci/packages
	@$(MAKE) --no-print-directory bench-run MODE=release
bench-run: $(BENCHES) $(PROGRAM) $(FAKE)
	@for b in $(sort $(BENCHES)); do HALFLIFE_BUILD=$(CURDIR)/$(OUT) $$b || exit 1; done

cross: ## build for ARCH (arm64) with Debian's cross compiler, and test it under emulation (needs root and debootstrap, on amd64)
	@.ci/packages debootstrap git
	@test/cross $(or $(ARCH),arm64)

demo: ## the whole loop without a cluster; half a minute once built
	@.ci/packages curl
	@$(MAKE) --no-print-directory demo-run MODE=release
demo-run: $(PROGRAM) $(FAKE)
	@test/demo/run $(OUT)

e2e: ## the scenarios on a real control plane, or ARGS of them (needs Go, and for one of them python3; E2E_LONG=1 plays more)
	@.ci/packages curl
	@$(MAKE) --no-print-directory all build/release/quantity-lines build/release/kill-at-write.so MODE=release
	@test/cluster/run e2e $(ARGS)

check-chart: ## the Helm chart gives what kubectl kustomize gives of each overlay, and values do what they say (needs Go)
	@test/cluster/run chart

cluster-up: ## start a real control plane on loopback, in place of the last, and print its kubeconfig (needs Go)
	@test/cluster/run up

cluster-down: ## stop it
	@test/cluster/run down

e2e-node: ## the scenarios on a real node, whose containers run, or ARGS of them (needs root, overlayfs, cgroups and Go, else it says so and skips them)
	@.ci/packages ip
	@$(MAKE) --no-print-directory all build/release/burn MODE=release
	@test/cluster/run e2e-node $(ARGS)

node-up: ## start a real control plane with a real node, in place of the last, and print its kubeconfig (needs root, overlayfs, cgroups and Go)
	@.ci/packages ip >&2
	@$(MAKE) --no-print-directory build/release/burn MODE=release >&2
	@test/cluster/run node-up

node-down: ## stop both
	@test/cluster/run node-down

bench-peer: ## halflife beside the VPA recommender on the same 5 000 pods (needs Go)
	@.ci/packages
	@$(MAKE) --no-print-directory all MODE=release
	@test/cluster/run peer

browser: ## the page in Chromium, with axe-core; pictures in build/browser (needs python3, Chromium and npm, else it says so and skips)
	@.ci/packages python3 chromium npm
	@$(MAKE) --no-print-directory browser-run MODE=debug
browser-run: $(PROGRAM) $(FAKE)
	@test/browser/run $(OUT)
.PHONY: browser browser-run

image: ## an OCI image and its SBOM into build/image, without a container engine (IMAGE=name:tag; needs dpkg)
	@.ci/packages
	@$(MAKE) --no-print-directory all MODE=release
	@REVISION='$(REVISION)' IMAGE='$(IMAGE)' deploy/image archive build/release/halflife build/image

check-program: ## the release program as its ELF says: how it is hardened, and what it loads
	@.ci/packages
	@$(MAKE) --no-print-directory all MODE=release
	@test/program build/release

check-image: ## the image's digests, files and package list, and its program runs in it (needs root and dpkg, else it says so)
	@.ci/packages jq
	@$(MAKE) --no-print-directory all build/release/fake-apiserver MODE=release
	@test/image build/release $(wildcard build/release-*-linux-gnu-gcc/halflife)

# The architectures of a release. This machine's is built here, each other one by deploy/cross.
ARCHITECTURES := amd64 arm64

release: ## all files of a release into build/halflife-VERSION, from a commit (VERSION=1.2.3 as its file VERSION has; COMMIT=HEAD; needs root)
	@.ci/packages git debootstrap
	@deploy/release '$(VERSION)' '$(or $(COMMIT),HEAD)'

# In the tree of that commit.
release-files:
	+@deploy/release-files make '$(TO)' $(ARCHITECTURES)

check-release: ## two releases of HEAD are the same bytes, and each file is what it should be (needs Go, for helm and krew)
	@.ci/packages debootstrap git jq
	@test/release
.PHONY: release release-files check-release

install: all ## into $(DESTDIR)$(PREFIX)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/halflife
	ln -sf halflife $(DESTDIR)$(PREFIX)/bin/kubectl-halflife
	ln -sf halflife $(DESTDIR)$(PREFIX)/bin/kubectl_complete-halflife
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/man/man1 man/halflife.1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
		$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(PROGRAM) completion bash >$(DESTDIR)$(PREFIX)/share/bash-completion/completions/halflife
	$(PROGRAM) completion zsh >$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_halflife
	$(PROGRAM) completion fish >$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/halflife.fish
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/crds crds/*.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/samples manifests/samples/*.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/samples/pipelines manifests/samples/pipelines/*.yaml
	install -D -m 755 -t $(DESTDIR)$(PREFIX)/share/halflife/samples/pipelines manifests/samples/pipelines/*.sh
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/samples/pipelines/helm-plugin manifests/samples/pipelines/helm-plugin/plugin.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/prometheus-adapter manifests/prometheus-adapter/rules.yaml
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/halflife/grafana manifests/components/grafana/*.json
	install -D -m 644 LICENSE $(DESTDIR)$(PREFIX)/share/doc/halflife/LICENSE

clean: ## remove what was built
	rm -rf build compile_commands.json
