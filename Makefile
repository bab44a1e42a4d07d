# Two commands do everything on a fresh machine: `make demo` and `make test`.

CARGO := $(or $(shell command -v cargo),$(wildcard $(HOME)/.cargo/bin/cargo))
NO_CARGO := cargo not found: install Rust 1.88 or later from https://rustup.rs, then run make again
# Only if CARGO has a directory. Without one, as in `CARGO=cargo`, PATH would get `./`, and crates/jumplabel-capi has a directory `install`.
export PATH := $(if $(findstring /,$(CARGO)),$(dir $(abspath $(firstword $(CARGO)))):)$(PATH)

.PHONY: demo check test test-all release-check setup setup-all setup-release lint lint-all narrow core wide rest release torture torture-short bench doc
.PHONY: packages source deb site site-check upstream programs arches wine wine32 elsewhere kernels kernels-long fallback
.PHONY: instrumented model miri fuzz mutants package install uninstall install-tool uninstall-tool dist

# The demonstration: a program with optional hooks behind keys, which are flipped while it runs. DEMO= has its options.
demo: cargo
	@cargo run --quiet --release -p jumplabel-demo $(if $(DEMO),-- $(DEMO))

# Quick checks, while you edit: they need only cargo and cc.
check: cargo
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo test --quiet -p jumplabel --lib $(QUICK:%=--test %)
	cargo test --quiet -p xtask --test layers
	@if [ -d "$$(rustc --print sysroot)/lib/rustlib/$(WINDOWS)/lib" ]; then set -x; cargo check --quiet -p jumplabel --lib --tests --target $(WINDOWS); \
		else echo "left out: $(WINDOWS), which is not installed (rustup target add $(WINDOWS))"; fi
	@echo "passed. Left out: C and C++, the tool, the agent, programs that tests build, flips under load (make test); all else (make test-all)"
WINDOWS := x86_64-pc-windows-gnu
QUICK := alternatives assertions calls call_sites contract format keys lists naked on_change ops or_load plan records retargets scoped strayed switches threads tracepoints

# Shows that all works on this machine, in some ten minutes on two processors. Incremental builds cost more than they save here, because everything is
# compiled once.
test test-all release-check: export CARGO_INCREMENTAL := 0
test: cargo linker
	cargo xtask stages setup narrow torture-short
	@echo "passed. Left out: all compilers, linkers and configurations, other instruction sets, kernels, miri, fuzzing (make test-all)"

# The rest, in half an hour: all compilers and configurations, other instruction sets in emulators, kernels, miri, the model, fuzzing.
test-all release-check: export JUMPLABEL_TEST_ALL := 1
test-all: cargo linker
	cargo xtask stages setup-all wide rest
	@echo "passed. Left out: rarer instruction sets, kernels of others in emulators, an hour of flips (make release-check)"

# Before a release. Takes hours. A check that lacks its tool fails here. `make packages` and `make site-check` alone do, too.
release-check packages site-check: export CI := 1
packages site-check: export JUMPLABEL_TEST_ALL := 1
release-check: cargo linker
	cargo xtask stages setup-release release packages site-check wine32 upstream programs kernels-long torture

setup: cargo linker
	@cargo xtask setup

setup-all: cargo linker
	@cargo xtask setup --all

setup-release: cargo linker
	@cargo xtask setup --all --guests others guests

lint:
	cargo fmt --all --check
	cargo clippy --workspace --exclude jumplabel-bench --all-targets -- -D warnings
	cargo test --quiet --workspace $(foreach set,$(LINTED),--test $(set))

# Clippy for jumplabel-bench too, with other features, for other platforms and for other instruction sets (CI on a slow machine leaves `make arches`
# out); all crates that others build, by the oldest compiler that they promise; and the documentation of all items.
LINUX_TARGETS := $(foreach machine,aarch64 riscv64gc i686 s390x powerpc64le powerpc64,$(machine)-unknown-linux-gnu) armv7-unknown-linux-gnueabihf
# Where somebody may build the tool. Without Linux, it reads files.
TOOL_TARGETS := x86_64-unknown-linux-musl aarch64-unknown-linux-gnu aarch64-apple-darwin
lint-all: cargo
	cargo clippy -p jumplabel --no-default-features -- -D warnings
	cargo clippy -p jumplabel --no-default-features --features linux -- -D warnings
	cargo clippy -p jumplabel -p jumplabel-capi -p jumplabel-agent --target x86_64-pc-windows-gnu -- -D warnings
	cargo clippy -p jumplabel -p jumplabel-agent $(LINUX_TARGETS:%=--target %) -- -D warnings
	cargo clippy -p jumplabel-cli $(TOOL_TARGETS:%=--target %) -- -D warnings
	cargo clippy --workspace --features jumplabel-capi/kernel --all-targets -- -D warnings
	rustup run 1.88.0 cargo check --quiet --target-dir target/msrv --workspace --exclude jumplabel-bench --exclude xtask \
		--features jumplabel-capi/kernel
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

# Sets of tests that run in parallel, and in parallel with `make lint` and `make fallback`. The sets of PROJECTS run one after the other: cargo builds
# for all of them in one directory, so they would wait for each other. Those of WAITING mostly wait, and leave the processors to compilers.
PROJECTS := objects force startup
BUILDING := cli
WAITING := process agent
LONG := refusals
# Of the documents: the README's programs, and tests that only read texts. test-all runs the programs of all other documents.
README := readme rules_and_blocks commands_in_the_text links_lead_somewhere flags_are_listed
# Sets for test-all. Those of the first line also run in `make test`; here, in all configurations.
WIDE_PROJECTS := builds objects rewritten compile_cost lints
WIDE := capi cli documents compile_fail fail logged patched tracing workspaces
ONLY_WIDE := smoke fleet tools packages programs
ONLY_RELEASE := site engine measured servers upstream
LINTED := layers public_api
# This set needs all processors.
ALONE := torture
# All other sets. Each takes a second or two, so they run one after the other.
QUICK_SETS := $(filter-out $(PROJECTS) $(BUILDING) $(WAITING) $(LONG) $(WIDE) $(WIDE_PROJECTS) $(ONLY_WIDE) $(ONLY_RELEASE) $(LINTED) $(ALONE),\
	$(basename $(notdir $(wildcard crates/*/tests/*.rs))))

# C and C++ with one gcc and one clang: a test of each part of the headers, in its ordinary configuration.
C := agent arms batches calls::in_other_objects conformance::gcc conformance::clang conformance::broken_twins consumers::plain_cc consumers::pkg_config \
	consumers::cmake early examples exports::exported_symbols fail::aborts fail::by_an_agent fail::example fail::forms fail::plugins kernel listing misuse::right_types misuse::abuse objects::loaded ops::each_backend \
	preinit probed rust::c_and_rust switches::all_arms tracepoints::cxx tracepoints::uncounted up::operations usdt::code_is_the_same usdt::on_other_instruction_sets usdt::readelf_shows_them verify words::reserved

# Tests of these sets that take half a minute of a processor or more, because they build programs of their own: only `wide` runs them.
SLOW_OF_CLI := fail:: linker::cargo link_refused::headers_that_lie
SLOW_OF_OBJECTS := plugins_on_musl

# Long sets come first, and sets that compute run in parallel with sets that wait. Cargo builds for lint and for core in one directory: if both want
# to build, one waits for the other. Both build the whole workspace, so neither replaces a program of the other.
narrow:
	cargo xtask sets capi:$(call chosen,$(C)) "$(WAITING)" "make lint" documents:$(call chosen,$(README)) "$(PROJECTS:objects=objects:$(call skipped,$(SLOW_OF_OBJECTS)))" \
		$(BUILDING):$(call skipped,$(SLOW_OF_CLI)) $(LONG) "make fallback" "make core"
skipped = $(call chosen,$(1:%=--skip %))
chosen = $(subst $(space),$(comma),$(strip $(1)))
empty :=
space := $(empty) $(empty)
comma := ,

# jumplabel-bench and what only it uses take a minute of a processor to build: `wide` tests it.
core:
	cargo test --workspace --exclude jumplabel-bench $(QUICK_SETS:%=--test %) --lib --bins
	cargo test --workspace --exclude jumplabel-bench --doc

# Torture in the build that `core` uses, with all assertions: `make torture` optimises. Then jumplabel-capi with the features for kernels. (xtask
# has no library, but all features of rustix that the workspace uses: without it, cargo would build rustix a second time.) Then jumplabel-bench.
# Some goals run in parallel with the sets. Those in EARLY are short and valuable: they begin before CI leaves commands out. Those in LATE use the
# processor that would be idle until the last set ends. `conformance` takes half of the time of `capi`: all compilers and flags. It begins after the
# shorter sets, so CI on a slow machine leaves it out, and not them.
wide:
	cargo test --workspace $(ALONE:%=--test %)
	cargo test -p jumplabel-capi -p xtask --features jumplabel-capi/kernel --lib
	cargo test --workspace --bin jumplabel-bench
	cargo xtask sets capi:--skip,conformance $(EARLY:%="make %") $(filter-out capi,$(WIDE)) capi:conformance "$(WIDE_PROJECTS)" "$(ONLY_WIDE)" \
		$(LATE:%="make %")
EARLY := lint-all miri model
LATE := elsewhere fuzz

rest:
	cargo xtask beside $(foreach goal,arches kernels wine instrumented package,"make $(goal)")

# Other instruction sets, under qemu-user, and on real kernels in qemu-system; and a check of a benchmark that needs an optimised build.
release:
	cargo test --release -p jumplabel-bench --test smoke layers::layers
	cargo xtask arches others
	cargo xtask guests guests

# Packages as others install them: the crates from a registry of our own, the sources, Debian's packages.
packages: cargo
	cargo test -p xtask --test packages -- --ignored --nocapture --test-threads 1

# Programs with crates that `cargo jumplabel` has patched: upstream's own tests, servers, a storage engine. Cargo downloads some hundred crates.
upstream: cargo
	cargo test -p cargo-jumplabel --test servers --test upstream --test engine -- --ignored
	cargo test -p cargo-jumplabel --test tracing -- --ignored

# Programs in C and C++ with keys: redis, leveldb, memcached, from Debian's sources (by apt). Their own tests run while all keys flip (docs/c.md).
programs: cargo
	cargo test -p jumplabel-capi --test programs -- --ignored --nocapture --test-threads 1

# Other instruction sets, under qemu-user: docs/porting.md.
arches:
	cargo xtask arches always

# Windows, under Wine: the tests, or PROGRAM (docs/building.md).
wine: cargo
	@cargo xtask wine $(PROGRAM)

# Windows of 32 bits, under a Wine in a Debian of its own, which this makes. Root must run it.
wine32: cargo
	@cargo xtask wine32

# Checks for macOS, FreeBSD, Android, WebAssembly; links programs for the first two; the tests run on wasm32-wasip1.
elsewhere: cargo
	@cargo xtask elsewhere

# Our own kernels, in qemu-system: docs/kernels.md.
kernels: cargo
	cargo xtask kernels

# A hundred times as many flips, without the twins. Ten minutes to an hour.
kernels-long: cargo
	cargo xtask kernels --flips 100000

# Optimises only the code that torture runs. The other crates of the tests are built already.
TORTURE := CARGO_INCREMENTAL=0 cargo test --workspace --test torture $(foreach crate,jumplabel jumplabel-testing fastrand rustix,\
	$(foreach setting,opt-level=3 debug-assertions=false overflow-checks=false codegen-units=16,\
	--config profile.dev.package.$(crate).$(setting))) -- --nocapture

torture-short:
	JUMPLABEL_TORTURE_SECONDS=30 $(TORTURE)

# An hour of flips under running threads; reports how many.
torture: cargo
	JUMPLABEL_TORTURE_SECONDS=3600 $(TORTURE)

# The same API without patching: a check loads, tests and jumps.
fallback:
	RUSTFLAGS="--cfg jumplabel_fallback --cfg jumplabel_portable_tests" cargo test --target-dir target/fallback -p jumplabel --lib --test keys --test naked --test records --test lists --test or_load --test calls --test switches --test scoped --test threads --test plan --test tracepoints --test ops --test up --test alternatives --test assertions --test on_change

# Instrumented builds split the edges of a site: its jump and its table entry must still name one target.
instrumented:
	RUSTFLAGS="-Cprofile-generate=$(CURDIR)/target/profile --cfg jumplabel_portable_tests" cargo test --target-dir target/instrumented -p jumplabel --test keys

# The counter and the lock under loom: all interleavings of small programs, a limited number for larger ones.
model:
	cargo test --release --manifest-path test-crates/model/Cargo.toml --target-dir target/model

miri:
	RUSTFLAGS="--cfg jumplabel_portable_tests" cargo +nightly miri test --target-dir target/miri -p jumplabel --lib --test keys --test naked --test records --test lists --test switches --test scoped --test threads --test tracepoints

fuzz:
	cargo xtask fuzz 15

# Finds changes of the code that no test notices (docs/mutants.md). Not a part of `make test`: takes hours. MUTANTS="--file count.rs" tries only a
# part. The results are in target/mutants.
mutants: cargo
	@command -v cargo-mutants >/dev/null || cargo install cargo-mutants --locked --quiet
	@mkdir -p target/mutants
	cargo mutants --jobs 1 -p jumplabel -o target/mutants/core $(MUTANTS) -- --lib $(MUTANT_TESTS:%=--test %)
	cargo mutants --jobs 1 -p jumplabel-capi -o target/mutants/capi $(MUTANTS) -- --test capi
MUTANT_TESTS := calls contract encoding instant keys naked ops or_load plan process refusals threads

# Packages the core as a registry gets it. `make packages`, a part of `make release-check`, does so with all crates.
package:
	@# Cargo keeps the unpacked crates of a registry by version. An earlier run here may have left older files of the same version.
	rm -rf $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src/-*/jumplabel-*
	cargo package -p jumplabel-format -p jumplabel --allow-dirty --quiet

# All measurements, with a report in target/report. QUICK=1 takes a few minutes instead of fifteen.
bench: cargo
	cargo run --release -p jumplabel-bench -- report $(if $(QUICK),--quick)

# The C and C++ library: headers, libjumplabel.a and .so, pkg-config and CMake files, jumplabel(3). PREFIX=, DESTDIR=;
# PREBUILT=, a folder that `make dist` has built: without Rust (docs/c.md).
install: $(if $(PREBUILT),,cargo)
dist: cargo
install uninstall dist:
	$(foreach variable,PREBUILT DIST,$(if $(word 2,$($(variable))),$(error $(variable)="$($(variable))" must be a path without blanks)))
	$(MAKE) -C crates/jumplabel-capi CARGO=$(CARGO) $(foreach variable,PREBUILT DIST,$(if $($(variable)),$(variable)=$(abspath $($(variable))))) $@

# The tool, jumplabel-cc, their manual pages, completions for bash, zsh and fish. PREFIX=, DESTDIR=; TOOL=, a folder with both programs: without Rust.
install-tool: $(if $(TOOL),,cargo)
install-tool uninstall-tool:
	@$(MAKE) --no-print-directory -C crates/jumplabel-cli CARGO=$(CARGO) $(if $(TOOL),TOOL=$(abspath $(TOOL))) $@

# The sources, with all crates that they need, which build without the network; Debian's packages (docs/install.md). Both are written to target/dist.
source: cargo
	@packaging/source $(or $(DIST),target/dist)

deb: cargo
	@packaging/deb $(or $(DIST),target/dist)

# The documents as a site, with the APIs, the errors, a report: target/site/index.html.
site: cargo
	@cargo xtask site

# The site; then each page in Chromium, at the widths of a phone and of a desktop screen, dark and light.
site-check: cargo
	cargo test -p xtask --test site -- --ignored --nocapture

doc: cargo
	cargo doc --workspace --no-deps

cargo:
	@test -n "$(CARGO)" || { echo "$(NO_CARGO)" >&2; exit 1; }

# Cargo needs a linker to build xtask, which installs the rest.
linker:
	@command -v cc >/dev/null || { [ "$$(id -u)" = 0 ] || sudo=sudo; \
		$$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; }
.PHONY: cargo linker
