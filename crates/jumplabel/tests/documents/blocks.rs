//! The way in which each block of the documents is tried.

use super::kernels::{glue_in_c, part_of_a_kernel, part_of_the_tiny_kernel, tiny_kernel, tiny_kernel_in_c};
use super::listings;
use super::tried::{asserting, fail_points, files_of_arch, kernel, key_names, optional_header, without_std};

/// The way in which a block is tried.
pub(super) enum Rule {
    /// A whole program in Rust: it is built in the README's crate, and prints this.
    Rust(&'static str),
    /// The README's program in C: it is compiled against its installation, and prints this.
    C(&'static str),
    /// A whole kernel: it is built of the document's blocks, and booted; or a part of that.
    Kernel(fn(&str)),
    /// A whole program or kernel in C, which is built and run in a way of its own.
    OwnC(fn(&str)),
    /// Commands, one a line: `COMMANDS` says what is done with each.
    Commands,
    /// Something of its own.
    Tried(fn(&str)),
    /// No program prints the block, and none reads it.
    Excused(&'static str),
}
use Rule::{C, Commands, Excused, Kernel, OwnC, Rust, Tried};

const FIGURE: Rule = Excused("a figure, drawn by hand");
const OF_THE_TOOL: Rule = Excused("crates/jumplabel-cli/tests/cli/documents.rs runs it, line by line");
const ENCODINGS: Rule = Excused("tests/encoding.rs decodes each state of each step; tests/naked.rs the function");
const LIVE: Rule = Excused("crates/cargo-jumplabel/tests/tracing/live.rs has such a session");
const TRACERS: Rule = Excused("crates/cargo-jumplabel/tests/tracing/tracers.rs runs such commands");
const OF_THE_KERNEL: Rule = Excused("a part of the kernel that is built and booted with the program");

/// Document, words that only one of its blocks has, and what is done with that block.
pub(super) const BLOCKS: &[(&str, &str, Rule)] = &[
    ("README.md", "static TRACE", Rust("work(2)\n")),
    ("README.md", "before  ", Tried(listings::readme)),
    ("README.md", "cargo new", Commands),
    ("README.md", "#include <jumplabel/jump_label.h>", C("work(2)\n")),
    ("README.md", "-C jumplabel install", Commands),
    ("README.md", "KERNEL.start", Kernel(part_of_the_tiny_kernel)),
    ("CONTRIBUTING.md", "--test keys deferred", Commands),
    ("CONTRIBUTING.md", "make fallback miri", Commands),
    ("CONTRIBUTING.md", "jumplabel-selector jumplabel-layer", FIGURE),
    ("docs/benchmarks.md", "-- flips", Commands),
    ("docs/benchmarks.md", "-- compare", Commands),
    ("docs/benchmarks.md", "-- machines", Commands),
    ("docs/benchmarks.md", "--test capi size", Commands),
    ("docs/benchmarks.md", "--test capi cost", Commands),
    ("docs/building.md", "features = [\"linux\"]", Tried(without_std)),
    ("docs/building.md", "default-features = false }", Tried(kernel)),
    ("docs/c.md", "RECORD_STATIC_KEY(trace, \"net.trace\")", OwnC(optional_header)),
    ("docs/c.md", "jumplabel_on_change(&appendonly", OwnC(optional_header)),
    ("docs/c.md", "JUMPLABEL_KEYS(levels", OwnC(key_names)),
    ("docs/c.md", "JUMPLABEL_ASSERTIONS();", OwnC(asserting)),
    ("docs/c.md", "FetchContent_Declare", Excused("consumers::fetched_by_cmake of jumplabel-capi has such a project")),
    (
        "docs/c.md",
        "executable('program'",
        Excused("consumers::subproject_of_meson of jumplabel-capi has such a project"),
    ),
    ("docs/c.md", "make dist", Commands),
    ("docs/install.md", "make deb DIST", Excused("crates/xtask/tests/packages/debian.rs runs it")),
    (
        "docs/install.md",
        "apt install",
        Excused("crates/xtask/tests/packages/debian.rs runs these lines in a Debian of nothing else"),
    ),
    ("docs/install.md", "make install-tool", Excused("install_tool::* of jumplabel-cli runs these")),
    ("docs/install.md", "xtask registry", Excused("crates/xtask/tests/packages/registry.rs does the same")),
    ("docs/c.md", "make install PREBUILT", Commands),
    ("docs/c.md", "undefined reference", Excused("optional::mixed of jumplabel-capi asks for these words")),
    (
        "docs/fail.md",
        "cargo jumplabel fail --jumplabel",
        Excused("crates/cargo-jumplabel/tests/fail.rs runs it in a copy of a program"),
    ),
    ("docs/fail.md", "[patch.crates-io]", Tried(fail_points)),
    (
        "docs/fail.md",
        "fail:before_save=remove   (by itself",
        Excused("crates/jumplabel-cli/tests/cli/fail.rs has such a session"),
    ),
    (
        "docs/fail.md",
        "#include <jumplabel/fail.h>",
        Excused("tests/c/failing_forms.h of jumplabel-capi has each of these forms"),
    ),
    ("docs/building.md", "make install PREFIX=/usr/local  ", Commands),
    ("docs/building.md", "wine PROGRAM=$PWD", Commands),
    ("docs/building.md", "clang-19 --target", Excused("make wine builds the README's program like that, and runs it")),
    (
        "docs/building.md",
        "jumplabel-agent-capi --features capi",
        Excused("make wine builds it like that, for the tests of JUMPLABEL"),
    ),
    (
        "docs/tracing.md",
        "cargo jumplabel tracing --jumplabel",
        Excused("crates/cargo-jumplabel/tests/tracing.rs runs it in copies of a program"),
    ),
    ("docs/tracing.md", "jumplabel_agent::startup!(); //", Excused("test-crates/traced has these lines")),
    ("docs/tracing.md", "jumplabel list 4711", LIVE),
    ("docs/tracing.md", "DEBUG worker-3 h2::codec", LIVE),
    ("docs/tracing.md", "off <=> no subscriber", FIGURE),
    (
        "docs/log.md",
        "cargo jumplabel log --jumplabel",
        Excused("crates/cargo-jumplabel/tests/logged.rs runs it in copies of a program"),
    ),
    ("docs/log.md", "jumplabel_log::enabled_changed()?;", Excused("test-crates/logged/src/keys.rs has these lines")),
    ("docs/log.md", "off <=> its level is above", FIGURE),
    ("docs/building.md", "musl-gcc", Commands),
    ("docs/features.md", "static CHECKED", Rust("false true\n")),
    ("docs/features.md", "static LOG", Rust("2\n")),
    ("docs/features.md", "assertions!();", Rust("line 6: a length of 0\n")),
    ("docs/features.md", "static NEW_ROUTE", Rust("")),
    ("docs/features.md", "static HASH", Rust("")),
    ("docs/features.md", "static MODE", Rust("7\n")),
    ("docs/features.md", "tracepoint!", Rust("1500 bytes\n")),
    ("docs/features.md", "static APPENDONLY", Rust("appendonly yes, asked by Program\n")),
    ("docs/features.md", "static AUDIT", Rust("triple(2)\n")),
    ("docs/features.md", "40 0f 1f 44 00 00  rex nop\n 48", Tried(listings::arm_out_of_line)),
    ("docs/how-it-works.md", "objects come and go: constructors", FIGURE),
    ("docs/how-it-works.md", "pristine   0f 1f 44 00 00", ENCODINGS),
    (
        "docs/how-it-works.md",
        "later: jumps where enabled != arm",
        Excused("a truth table: tests/keys.rs checks all of it"),
    ),
    ("docs/how-it-works.md", "40  0f 1f 44 00 00", Excused("tests/uprobes.rs reads the bytes in front of sites")),
    ("docs/how-it-works.md", "step 0   opcode := a9       a9 1f", ENCODINGS),
    ("docs/how-it-works.md", "mov eax, 0    ◄──", FIGURE),
    ("docs/how-it-works.md", ".long other arm - .", FIGURE),
    ("docs/how-it-works.md", "off -> on    jmp stub", FIGURE),
    ("docs/how-it-works.md", "a legal target of an indirect call", FIGURE),
    ("docs/how-it-works.md", "first    slot := new", ENCODINGS),
    ("docs/how-it-works.md", "listed, in reach", Excused("tests/call_sites.rs has calls of all three kinds")),
    ("docs/how-it-works.md", "emit!(packet", FIGURE),
    ("docs/how-it-works.md", "__jump_table, 16 bytes an entry", FIGURE),
    ("docs/how-it-works.md", "no lock: compare-and-swap", FIGURE),
    ("docs/how-it-works.md", "patchable      key          call", FIGURE),
    ("docs/how-it-works.md", "begin     each counter says", FIGURE),
    ("docs/how-it-works.md", "lock word   0                free", FIGURE),
    ("docs/how-it-works.md", "a fork that slept in vain", FIGURE),
    ("docs/how-it-works.md", "collecting    nothing was written", FIGURE),
    ("docs/how-it-works.md", "begin      a sender?", FIGURE),
    ("docs/how-it-works.md", "Runtime of the program", FIGURE),
    ("docs/kernels.md", "rustup target add", Commands),
    ("docs/kernels.md", "jumplabel-kernel = {", OF_THE_KERNEL),
    ("docs/kernels.md", "[build]", OF_THE_KERNEL),
    ("docs/kernels.md", "ENTRY(start)", OF_THE_KERNEL),
    ("docs/kernels.md", "impl Machine for Hart", Kernel(tiny_kernel)),
    ("docs/kernels.md", "cargo build --release\nqemu", OF_THE_KERNEL),
    ("docs/kernels.md", "DEFINE_STATIC_KEY_FALSE(trace)", OwnC(tiny_kernel_in_c)),
    ("docs/kernels.md", "--features kernel-alone", OF_THE_KERNEL),
    ("docs/kernels.md", "JUMPLABEL_RISCV_FORWARD(timer_entry)", OwnC(glue_in_c)),
    ("docs/kernels.md", "riscv::acknowledge()", Kernel(part_of_a_kernel)),
    ("docs/kernels.md", "pub fn open", Kernel(part_of_a_kernel)),
    ("docs/kernels.md", "while self.0.swap", Kernel(part_of_a_kernel)),
    ("docs/kernels.md", "lock.try_lock()", Kernel(part_of_a_kernel)),
    ("docs/kernels.md", ".set(&WORK, target)", Kernel(part_of_a_kernel)),
    ("docs/mutants.md", "--shard", Commands),
    ("docs/ops.md", "up::enter()    one thread", Excused("tests/up.rs reads the bytes in both modes")),
    ("docs/operating.md", "--path crates/jumplabel-cli", Commands),
    (
        "docs/operating.md",
        "list ./jumplabel-demo",
        Excused("crates/jumplabel-demo/tests/operator.rs runs it line by line, of the program itself"),
    ),
    ("docs/operating.md", "list ./server\n", OF_THE_TOOL),
    ("docs/operating.md", "fn:write_back", OF_THE_TOOL),
    ("docs/operating.md", "sites ./server", OF_THE_TOOL),
    ("docs/operating.md", "disasm ./server", OF_THE_TOOL),
    ("docs/operating.md", "check ./server", OF_THE_TOOL),
    ("docs/operating.md", "jumplabel link ./hooked", OF_THE_TOOL),
    (
        "docs/operating.md",
        "linker = \"jumplabel-cc\"",
        Excused("crates/jumplabel-cli/tests/cli/linker.rs has cargo do it by the variable"),
    ),
    ("docs/operating.md", "CC = jumplabel-cc", Excused("crates/jumplabel-cli/tests/cli/linker.rs does what make does")),
    ("docs/operating.md", "JUMPLABEL=help ./server", OF_THE_TOOL),
    ("docs/operating.md", "JUMPLABEL_AGENT=name=web", OF_THE_TOOL),
    ("docs/operating.md", "jumplabel apply changes", OF_THE_TOOL),
    ("docs/operating.md", "jumplabel set --force $(cat server.pid)", OF_THE_TOOL),
    ("docs/operating.md", "JUMPLABEL_AGENT=name=shop", OF_THE_TOOL),
    ("docs/operating.md", "JUMPLABEL_AGENT=name=canary", OF_THE_TOOL),
    ("docs/operating.md", "JUMPLABEL_AGENT=name=vault", OF_THE_TOOL),
    (
        "docs/operating.md",
        "jumplabel check 4711 --repair",
        Excused("crates/jumplabel-cli/tests/cli/repair.rs gives a process such sites first"),
    ),
    (
        "docs/operating.md",
        "asked every 1 s",
        Excused(
            "crates/jumplabel-cli/src/top/view/tests.rs draws it; crates/jumplabel-cli/tests/cli/top.rs in a terminal",
        ),
    ),
    (
        "docs/operating.md",
        "/proc/4711/root",
        Excused("crates/jumplabel-cli/tests/cli/live.rs does this in a mount namespace"),
    ),
    (
        "docs/operating.md",
        "MemoryDenyWriteExecute=yes",
        Excused("crates/jumplabel-cli/tests/cli/live.rs does what systemd does"),
    ),
    (
        "docs/operating.md",
        "no answer yet from web.4711",
        Excused("crates/jumplabel-cli/tests/fleet/local.rs stops a process, and lets it go on"),
    ),
    (
        "docs/operating.md",
        "jumplabel fleet unset",
        Excused("crates/jumplabel-cli/tests/fleet.rs does this with a real etcd"),
    ),
    ("docs/operating.md", "--test fleet -- --ignored", Commands),
    ("docs/operating.md", "--test force figures -- --ignored", Commands),
    (
        "docs/operating.md",
        "jumplabel watch @web",
        Excused("crates/jumplabel-cli/tests/cli/live.rs reads both kinds of line"),
    ),
    ("docs/operating.md", "who is there", Excused("crates/jumplabel-agent/tests/agent/answers.rs sends each request")),
    ("docs/operating.md", "list ./server net.trace --json", OF_THE_TOOL),
    ("docs/ops.md", "pub static COUNTER: Counting", Rust("")),
    ("docs/ops.md", "fn zeros_above", Rust("")),
    ("docs/ops.md", "--example contention", Commands),
    ("docs/ops.md", "nobody comes here", Excused("tests/ops.rs has a site in each state")),
    ("docs/porting.md", "arch/asm/site.rs", Tried(files_of_arch)),
    ("docs/table-format.md", "first byte of the site", Tried(|text| listings::fields(text, 16).unwrap())),
    ("docs/table-format.md", "0f 1f 44 00 00   falls through", ENCODINGS),
    (
        "docs/how-it-works.md",
        "cmp byte ptr [shown]",
        Excused("tests/switches.rs runs sites in between; tests/encoding.rs each step"),
    ),
    ("docs/table-format.md", "how many arms", Excused("tests/switches.rs reads the table, and takes each arm")),
    ("docs/table-format.md", "threads that find their site", Excused("tests/switches.rs stores to it and reads it")),
    ("docs/table-format.md", "f7 05 rel32", Excused("tests/or_load.rs runs it in every state")),
    ("docs/table-format.md", "jumps to `target`, which loads", Excused("tests/or_load.rs has a site in each state")),
    ("docs/table-format.md", "mov eax, 0 ", ENCODINGS),
    (
        "docs/table-format.md",
        "66 90     falls through",
        Excused("tests/encoding/short.rs decodes each, and all steps between them"),
    ),
    (
        "docs/table-format.md",
        "sites with bit 7",
        Excused("tests/format.rs compares the numbers; tests/builds/short.rs changes them"),
    ),
    (
        "docs/how-it-works.md",
        "pristine   66 90",
        Excused("tests/encoding/short.rs decodes each, and all steps between them"),
    ),
    ("docs/table-format.md", "a deferred dec is due", Tried(|text| listings::fields(text, 8).unwrap())),
    ("docs/table-format.md", "where the trampoline leads while", Tried(|text| listings::fields(text, 32).unwrap())),
    ("docs/table-format.md", "i32 -> the declaration", Tried(|text| listings::fields(text, 12).unwrap())),
    ("docs/table-format.md", "module_len  u16", Tried(|text| listings::fields(text, 28).unwrap())),
    ("docs/table-format.md", "i32 -> the element", Tried(|text| listings::fields(text, 8).unwrap())),
    ("docs/table-format.md", "__jump_foreign", Tried(|text| listings::fields(text, 96).unwrap())),
    ("docs/table-format.md", "which tracers count up", Tried(|text| listings::fields(text, 32).unwrap())),
    ("docs/table-format.md", "n_descsz 8", Tried(listings::note)),
    ("docs/table-format.md", "n_descsz 0", Tried(listings::note)),
    ("docs/table-format.md", "readelf -x", Commands),
    ("docs/table-format.md", "import re, struct", Tried(listings::table_reader)),
    ("docs/usdt.md", "POSTGRESQL_QUERY__START", Excused("sdt::* of jumplabel-capi build such programs")),
    ("docs/usdt.md", "usdt::watch()?", Excused("tests/usdt.rs calls it")),
    ("docs/usdt.md", "$ bpftrace -l 'usdt:/opt/server:h2:*'", TRACERS),
    ("docs/usdt.md", "#define TRACE_SYSTEM net", Excused("tests/c/usdt.c of jumplabel-capi has these lines")),
    ("docs/usdt.md", "tracing:reached { @[", TRACERS),
    ("docs/usdt.md", "$ readelf -n", Excused("tests/usdt.rs and tests/usdt/tools.rs run these commands")),
    (
        "docs/usdt.md",
        "$ perf buildid-cache",
        Excused("tests/usdt/tools.rs runs the first two; with the others perf attaches to all processes"),
    ),
    ("docs/usdt.md", ".note.stapsdt", FIGURE),
    ("docs/table-format.md", "site 0x", Tried(listings::table)),
];

/// The rule of a block, and its number.
pub(super) fn rule_of(document: &str, text: &str) -> Result<(usize, &'static Rule), String> {
    let fits = |row: &&(usize, &(&str, &str, Rule))| row.1.0 == document && text.contains(row.1.1);
    let found: Vec<_> = BLOCKS.iter().enumerate().filter(|row| fits(&row)).collect();
    match found[..] {
        [(number, (_, _, rule))] => Ok((number, rule)),
        [] => Err(format!("no rule for this block of {document}: run it, or say why not\n{text}")),
        _ => Err(format!("several rules for this block of {document}\n{text}")),
    }
}
