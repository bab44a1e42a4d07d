//! Every command and every listing of the documents is tried: run, compared with what is printed today, or, with the reason
//! beside it, only looked up. A block that has no rule here makes this fail, and so does a rule whose block has gone.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu", jumplabel_sites))]

#[path = "documents/desk.rs"]
mod desk;
#[path = "documents/exists.rs"]
mod exists;
#[path = "documents/listings.rs"]
mod listings;
#[path = "documents/manual.rs"]
mod manual;
#[path = "documents/markdown.rs"]
mod markdown;

use std::path::Path;
use std::process::Command;

use desk::{example, install, package, prefix, printed, read, repository, scratch, shell, succeeds, write};
use exists::exists;
use markdown::{commands, lines, split};

/// What is done with a block.
enum Rule {
    /// A whole program in Rust: it is built with the README's manifest, and prints this.
    Rust(&'static str),
    /// A whole program in C: it is compiled by the README's command against an installation, and prints this.
    C(&'static str),
    /// A whole kernel: it is built of the document's blocks, and booted.
    Kernel(fn(&str)),
    /// The same, in C.
    KernelInC(fn(&str)),
    /// Commands, one a line: `COMMANDS` says what is done with each.
    Commands,
    /// Something of its own.
    Tried(fn(&str)),
    /// Nothing prints it, and nothing reads it.
    Excused(&'static str),
}
use Rule::{C, Commands, Excused, Kernel, KernelInC, Rust, Tried};

const FIGURE: Rule = Excused("a figure, drawn by hand");
const OF_THE_TOOL: Rule = Excused("crates/jumplabel-cli/tests/cli/documents.rs runs it, line by line");
const ENCODINGS: Rule = Excused("tests/encoding.rs decodes each state of each step; tests/naked.rs the function");

const OF_THE_KERNEL: Rule = Excused("a part of the kernel that is built and booted with the program");

/// Document, words that only one of its blocks has, and what is done with that block.
const BLOCKS: &[(&str, &str, Rule)] = &[
    ("README.md", "static TRACE", Rust("work(2)\n")),
    ("README.md", "before  ", Tried(listings::readme)),
    ("README.md", "objdump -d", Commands),
    ("README.md", "static LOG", Rust("2\n")),
    ("README.md", "static NEW_ROUTE", Rust("")),
    ("README.md", "static HASH", Rust("")),
    ("README.md", "static MODE", Rust("7\n")),
    ("README.md", "tracepoint!", Rust("1500 bytes\n")),
    ("README.md", "make demo", Commands),
    ("README.md", "jumplabel = \"0.1\"", Tried(manifest)),
    ("README.md", "features = [\"linux\"]", Tried(without_std)),
    ("README.md", "default-features = false }", Tried(kernel)),
    ("README.md", "#include <jumplabel/jump_label.h>", C("work(3)\n")),
    ("README.md", "make install PREFIX=/usr/local  ", Commands),
    ("README.md", "musl-gcc", Commands),
    ("CONTRIBUTING.md", "make lint unit", Commands),
    ("docs/benchmarks.md", "-- flips", Commands),
    ("docs/benchmarks.md", "-- compare", Commands),
    ("docs/benchmarks.md", "-- machines", Commands),
    ("docs/benchmarks.md", "--test capi cost", Commands),
    ("docs/how-it-works.md", "objects come and go: constructors", FIGURE),
    ("docs/how-it-works.md", "pristine   0f 1f 44 00 00", ENCODINGS),
    (
        "docs/how-it-works.md",
        "later: jumps where enabled != arm",
        Excused("a truth table: tests/keys.rs checks all of it"),
    ),
    ("docs/how-it-works.md", "step 0   opcode := a9       a9 1f", ENCODINGS),
    ("docs/how-it-works.md", "mov eax, 0    ◄──", FIGURE),
    ("docs/how-it-works.md", "jmp stub  ◄", FIGURE),
    ("docs/how-it-works.md", "a legal target of an indirect call", FIGURE),
    ("docs/how-it-works.md", "first    slot := new", ENCODINGS),
    ("docs/how-it-works.md", "listed, in reach", Excused("tests/call_sites.rs has calls of all three kinds")),
    ("docs/how-it-works.md", "emit!(packet", FIGURE),
    ("docs/how-it-works.md", "__jump_table, 16 bytes an entry", FIGURE),
    ("docs/how-it-works.md", "no lock: compare-and-swap", FIGURE),
    ("docs/how-it-works.md", "begin     each counter says", FIGURE),
    ("docs/how-it-works.md", "lock word   0                free", FIGURE),
    ("docs/how-it-works.md", "a fork that slept in vain", FIGURE),
    ("docs/how-it-works.md", "collecting    nothing was written", FIGURE),
    ("docs/how-it-works.md", "Runtime of the program", FIGURE),
    ("docs/kernels.md", "rustup target add", Commands),
    ("docs/kernels.md", "jumplabel-kernel = \"0.1\"", OF_THE_KERNEL),
    ("docs/kernels.md", "[build]", OF_THE_KERNEL),
    ("docs/kernels.md", "ENTRY(start)", OF_THE_KERNEL),
    ("docs/kernels.md", "impl Machine for Hart", Kernel(tiny_kernel)),
    ("docs/kernels.md", "cargo build --release\nqemu", OF_THE_KERNEL),
    ("docs/kernels.md", "#include <jumplabel/kernel.h>", KernelInC(tiny_kernel_in_c)),
    ("docs/kernels.md", "--features kernel-alone", OF_THE_KERNEL),
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
    ("docs/table-format.md", "__jump_foreign", Tried(|text| listings::fields(text, 88).unwrap())),
    ("docs/table-format.md", "n_namesz", Tried(listings::note)),
    ("docs/table-format.md", "readelf -x", Commands),
    ("docs/table-format.md", "import re, struct", Tried(listings::table_reader)),
    ("docs/table-format.md", "site 0x", Tried(listings::table)),
];

/// What is done with a line for the shell.
enum How {
    /// Run in the repository.
    Run,
    /// Run in the directory of the README's example.
    InExample,
    /// Run like this there, for the reason.
    Instead(&'static str, &'static str),
    /// `make install` like this, for the reason; it goes into the prefix that the variable stands for.
    Install(&'static str, &'static str),
    /// Only looked up, for the reason.
    Exists(&'static str),
    /// Not even that.
    Nothing(&'static str),
}
use How::{Exists, InExample, Install, Instead, Nothing, Run};

const OF_A_MACHINE: &str = "a minute, and figures of one machine";

const COMMANDS: &[(&str, How)] = &[
    ("cargo build --release", InExample),
    ("objdump -d -M intel target/release/example | awk '/^[0-9a-f]+ <.*example4work/,/^$/'", InExample),
    (
        "gdb -batch -ex 'set disassembly-flavor intel' -ex 'break _eprint' -ex run -ex up -ex 'disassemble /r' \
         target/release/example",
        InExample,
    ),
    ("make demo", Run),
    ("make test", Exists("this test is part of it")),
    ("make install PREFIX=/usr/local", Install("make install PREFIX=$PREFIX", "/usr/local is not the test's")),
    ("cc program.c $(pkg-config --cflags --libs jumplabel)", InExample),
    ("cc -static program.c $(pkg-config --cflags --libs --static jumplabel)", InExample),
    (
        "make install DESTDIR=/tmp/stage && sudo cp -r /tmp/stage/. /",
        Install(
            "make install DESTDIR=$PREFIX/stage && cp -r $PREFIX/stage/. $PREFIX/root && test -e $PREFIX/root/usr/local/lib/libjumplabel.so",
            "not as root, and not into the machine's own directories",
        ),
    ),
    ("rustup target add riscv64imac-unknown-none-elf", Nothing("make setup did it; it would ask the network again")),
    ("rustup target add x86_64-unknown-linux-musl", Nothing("make setup did it; it would ask the network again")),
    (
        "make install PREFIX=/usr/local/musl CARGO_BUILD_TARGET=x86_64-unknown-linux-musl",
        Install("make install PREFIX=$PREFIX/musl CARGO_BUILD_TARGET=x86_64-unknown-linux-musl", "as above"),
    ),
    (
        "musl-gcc -static program.c -I/usr/local/musl/include -L/usr/local/musl/lib -ljumplabel",
        Instead(
            "musl-gcc -static program.c -I$PREFIX/musl/include -L$PREFIX/musl/lib -ljumplabel && ./a.out",
            "it was installed there",
        ),
    ),
    (
        "cargo install --path crates/jumplabel-cli",
        Nothing("it would install into the home directory; the sessions run the same program"),
    ),
    ("make check", Exists("minutes; make test runs all of it")),
    ("make lint unit", Exists("this test is part of it")),
    ("make fallback miri", Exists("minutes; make test runs them")),
    ("make model", Exists("minutes; make test runs it")),
    ("make fuzz", Exists("needs the network; make test runs it")),
    ("make torture", Exists("an hour")),
    ("make mutants", Exists("many hours")),
    ("make mutants MUTANTS=\"--file crates/jumplabel/src/key/count.rs\"", Exists("an hour")),
    ("make mutants MUTANTS=\"--shard 3/50\"", Exists("an hour")),
    ("cargo run --release -p jumplabel-bench -- compile", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- size", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- flips", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- site", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- cache", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- layers", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- micro", Exists(OF_A_MACHINE)),
    (
        "cargo run --release -p jumplabel-bench -- machines",
        Exists("src/machines.rs compares its table with the document's"),
    ),
    (
        "cargo run --release -p jumplabel-bench -- machines --keep target/report/results.json --name NAME",
        Exists("what it reads is made by `make bench`"),
    ),
    ("cargo run --release -p jumplabel-bench -- scaling", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- peers", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- pipe", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- sqlite", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- listing", Exists("tests/smoke/listing.rs runs it")),
    (
        "cargo run --release -p jumplabel-bench -- compare crates/jumplabel-bench/counts.json target/report/results.json",
        Exists("what it reads is made by `make bench`; tests/smoke/report.rs compares"),
    ),
    ("cargo test --release -p jumplabel-cli --test fleet -- --ignored --nocapture", Exists(OF_A_MACHINE)),
    ("cargo test --release -p jumplabel-cli --test force figures -- --ignored --nocapture", Exists(OF_A_MACHINE)),
    ("make bench", Exists("minutes; tests/smoke/report.rs runs a part of it")),
    ("cargo run --release -p jumplabel-bench -- calls", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- switch", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- up", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-lock --features blocking --example contention", Exists(OF_A_MACHINE)),
    ("cargo test --release -p jumplabel-lock --test waiters -- --ignored --nocapture", Exists("some minutes")),
    ("cargo run --release -p jumplabel-bench -- ops", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- tracepoints", Exists(OF_A_MACHINE)),
    ("cargo run --release -p jumplabel-bench -- startup", Exists(OF_A_MACHINE)),
    ("cargo test -p jumplabel-bench", Exists("make unit runs it")),
    ("cargo test --release -p jumplabel-capi --test capi cost -- --ignored --nocapture", Exists(OF_A_MACHINE)),
    (
        "readelf -x __jump_table -x __jump_keys PROGRAM",
        Instead("readelf -x __jump_table -x __jump_keys target/release/example", "a program's name"),
    ),
    (
        "readelf -n PROGRAM | grep -A 2 jumplabel",
        Instead("readelf -n target/release/example | grep -A 2 jumplabel", "a program's name"),
    ),
];

/// The rule of a block, and its number.
fn rule_of(document: &str, text: &str) -> Result<(usize, &'static Rule), String> {
    let fits = |row: &&(usize, &(&str, &str, Rule))| row.1.0 == document && text.contains(row.1.1);
    let found: Vec<_> = BLOCKS.iter().enumerate().filter(|row| fits(&row)).collect();
    match found[..] {
        [(number, (_, _, rule))] => Ok((number, rule)),
        [] => Err(format!("no rule for this block of {document}: run it, or say why not\n{text}")),
        _ => Err(format!("several rules for this block of {document}\n{text}")),
    }
}

/// Tries all blocks of a document, in their order.
fn try_document(document: &str) {
    for block in split(&read(document)).0 {
        println!("{document}:{}", block.line);
        let rule = rule_of(document, &block.text).unwrap().1;
        assert_eq!(
            block.language == "rust",
            matches!(rule, Rust(_) | Kernel(_)),
            "all of a program in Rust, and nothing else"
        );
        assert_eq!(
            block.language == "c",
            matches!(rule, C(_) | KernelInC(_)),
            "all of a program in C, and nothing else"
        );
        match rule {
            Rust(prints) => rust(block.line, &block.text, prints),
            C(prints) => c(&block.text, prints),
            Commands => lines(&block.text).iter().for_each(|line| command(line).unwrap()),
            Tried(function) | Kernel(function) | KernelInC(function) => function(&block.text),
            Excused(reason) => println!("  not tried: {reason}"),
        }
    }
}

fn command(line: &str) -> Result<(), String> {
    let (_, how) = COMMANDS
        .iter()
        .find(|(known, _)| *known == line)
        .ok_or(format!("no rule for `{line}`: run it, or say why not"))?;
    match how {
        Run => drop(printed(line, &repository(""))),
        InExample => drop(in_example(line)),
        Instead(other, reason) => {
            println!("  {line}: run as {other} ({reason})");
            in_example(other);
        }
        Install(other, reason) => {
            println!("  {line}: run as {other} ({reason})");
            install(&other.replace("$PREFIX", prefix().to_str().unwrap()));
        }
        Exists(reason) => {
            println!("  looked up: {line} ({reason})");
            exists(line)?;
        }
        Nothing(reason) => println!("  not tried: {line} ({reason})"),
    }
    Ok(())
}

/// Runs a line where the README's programs are, and what the README says to set where the prefix is unusual.
fn in_example(line: &str) -> String {
    let mut shell = shell(line, example());
    shell.env("PREFIX", prefix()).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    succeeds(&mut shell)
}

/// A program of the README's crate, optimised.
fn rust(line: usize, program: &str, prints: &str) {
    let name = format!("block{line}");
    write(&example().join("src/bin").join(name.clone() + ".rs"), program);
    printed(&format!("cargo build --release --bin {name}"), example());
    assert_eq!(printed(&format!("target/release/{name}"), example()), prints);
}

fn c(program: &str, prints: &str) {
    write(&example().join("program.c"), program);
    let link = "cc -Wall -Wextra -Werror program.c $(pkg-config --cflags --libs jumplabel)";
    for rest in ["-Wl,-rpath,$PREFIX/lib && ./a.out", "&& LD_LIBRARY_PATH=$PREFIX/lib ./a.out", "-static && ./a.out"] {
        assert_eq!(in_example(&format!("{link} {rest}")), prints, "{rest}");
    }
}

/// The README's manifest: its example is built with it.
fn manifest(_: &str) {
    assert!(example().join("target/release/example").exists());
}

/// The README's manifest for Linux without std: a library that flips. (tests/builds/no_std.rs builds and runs a program.)
fn without_std(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn flip() -> Result<Option<jumplabel::WriterKind>, jumplabel::Error> {\n    \
                  KEY.enable().map(|outcome| outcome.writer)\n}\n";
    let directory = package("without-std", manifest, "src/lib.rs", source);
    printed("cargo build --release", &directory);
}

/// The README's manifest for a kernel: a library without std, for a target without any.
fn kernel(manifest: &str) {
    let source = "#![no_std]\n\njumplabel::static_key! { pub static KEY: false; }\n\n\
                  pub fn check() -> bool {\n    jumplabel::static_branch_unlikely!(KEY)\n}\n";
    let directory = package("kernel", manifest, "src/lib.rs", source);
    printed("cargo build --release --target x86_64-unknown-none", &directory);
}

/// The kernel of docs/kernels.md: built of its blocks, and booted.
fn tiny_kernel(program: &str) {
    let text = |words| desk::block("docs/kernels.md", words).text;
    let here = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "{}\n[patch.crates-io]\njumplabel = {{ path = \"{here}\" }}\njumplabel-kernel = {{ path = \"{here}-kernel\" }}\n\n[workspace]\n",
        text("jumplabel-kernel = \"0.1\"")
    );
    // Not beside the README's crates: their directory of what was built has another name.
    let directory = scratch("kernel-of-documents");
    write(&directory.join("Cargo.toml"), &manifest);
    let files = [(".cargo/config.toml", "[build]"), ("link.ld", "ENTRY(start)")];
    files.iter().for_each(|(file, words)| write(&directory.join(file), &text(words)));
    write(&directory.join("src/main.rs"), program);
    build_and_boot(&text("cargo build --release\nqemu"), &directory);
    let crates = printed("cargo tree --edges normal --prefix none 2>/dev/null | sed 's/ .*//' | sort -u", &directory);
    assert_eq!(crates, "jumplabel\njumplabel-kernel\ntiny\n");
    let sections = printed("size -A target/riscv64imac-unknown-none-elf/release/tiny", &directory);
    let bytes = sections.lines().find_map(|line| line.strip_prefix(".text ")?.split_whitespace().next()?.parse().ok());
    assert!(bytes.is_some_and(|bytes: usize| bytes <= 20_450), "more code than before: {sections}");
}

/// The one in C, which lies beside the repository.
fn tiny_kernel_in_c(program: &str) {
    let directory = scratch("kernel-in-c-of-documents").join("tiny");
    write(&directory.join("tiny.c"), program);
    write(&directory.join("link.ld"), &desk::block("docs/kernels.md", "ENTRY(start)").text);
    let beside = directory.with_file_name("jumplabel");
    if !beside.exists() {
        std::os::unix::fs::symlink(repository("."), beside).unwrap();
    }
    build_and_boot(&desk::block("docs/kernels.md", "--features kernel-alone").text, &directory);
}

/// The last command boots.
fn build_and_boot(commands: &str, directory: &Path) {
    let (build, boot) = commands.trim_end().rsplit_once('\n').expect("commands");
    build.lines().for_each(|line| drop(printed(line, directory)));
    let said = printed(&format!("timeout 60 {boot}"), directory).replace('\r', "");
    assert!(said.ends_with("off\non\n"), "{said}");
}

/// docs/porting.md names the files of `arch`.
fn files_of_arch(list: &str) {
    for name in list.split_whitespace().filter(|word| word.starts_with("arch/") && !word.contains('<')) {
        assert!(repository("crates/jumplabel/src").join(name).exists(), "no {name}");
    }
}

#[test]
fn readme() {
    try_document("README.md");
}

#[test]
fn others() {
    let others = DOCUMENTS.iter().filter(|&&document| document != "README.md");
    others.for_each(|document| try_document(document));
}

const DOCUMENTS: [&str; 14] = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/benchmarks.md",
    "docs/how-it-works.md",
    "docs/kernels.md",
    "docs/linux-api.md",
    "docs/mutants.md",
    "docs/operating.md",
    "docs/ops.md",
    "docs/porting.md",
    "docs/safety.md",
    "docs/table-format.md",
];

/// Each document is on the list, each block has one rule, and each rule a block.
#[test]
fn rules_and_blocks() {
    let mut found: Vec<_> = ["", "docs"]
        .iter()
        .flat_map(|directory| {
            std::fs::read_dir(repository("").join(directory)).unwrap().map(move |entry| (directory, entry.unwrap()))
        })
        .map(|(directory, entry)| {
            format!("{directory}/{}", entry.file_name().display()).trim_start_matches('/').to_owned()
        })
        .filter(|name| name.ends_with(".md"))
        .collect();
    found.sort_unstable();
    let mut listed = DOCUMENTS.map(str::to_owned);
    listed.sort_unstable();
    assert_eq!(found, listed);

    let mut used: Vec<usize> = Vec::new();
    for document in DOCUMENTS {
        used.extend(split(&read(document)).0.iter().map(|block| rule_of(document, &block.text).unwrap().0));
    }
    used.sort_unstable();
    assert_eq!(used, (0..BLOCKS.len()).collect::<Vec<_>>(), "a rule without a block, or with two");
}

/// Commands in the text exist.
#[test]
fn commands_in_the_text() {
    let mut count = 0;
    for document in DOCUMENTS {
        for command in commands(&split(&read(document)).1) {
            exists(&command).unwrap_or_else(|missing| panic!("{document}: `{command}`: {missing}"));
            count += 1;
        }
    }
    assert!(count > 30, "{count} commands were found in all documents");
}

/// What is new, or wrong, is found out.
#[test]
fn broken_twins() {
    let readme = read("README.md") + "\n```sh\nmake coffee\n```\n";
    let new = split(&readme).0.pop().unwrap();
    assert!(rule_of("README.md", &new.text).is_err_and(|error| error.contains("no rule")), "{}", new.text);
    assert!(command("make coffee").is_err_and(|error| error.contains("no rule")));
    for missing in [
        "make coffee",
        "cargo test -p jumplabel --test coffee",
        "cargo test -p coffee",
        "cargo test -p jumplabel --test builds coffee",
        "cargo run --release -p jumplabel-bench -- coffee",
        "cargo xtask coffee",
        "cargo xtask arches coffee",
        "cargo xtask arches --coffee aarch64",
        ".ci/coffee",
    ] {
        assert!(exists(missing).is_err(), "{missing}");
    }
    assert!(listings::fields("0 4 a\n4 4 b\n", 8).is_ok());
    assert!(listings::fields("0 4 a\n8 4 b\n", 12).is_err() && listings::fields("0 4 a\n", 8).is_err());
    assert_eq!(commands("Say `make\nlint`, `.ci/x`, `make` or `cargo test`."), ["make lint", ".ci/x", "cargo test"]);
}

/// jumplabel(3): its functions have the types that it says, and its example runs.
#[test]
fn manual_page() {
    let page = read("crates/jumplabel-capi/docs/jumplabel.3");
    let directory = scratch("documents/manual");
    write(&directory.join("synopsis.c"), &manual::synopsis(&page));
    write(&directory.join("program.c"), &manual::example(&page));
    let run = |line: &str| {
        let mut shell = shell(line, &directory);
        shell.env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig")).env("LD_LIBRARY_PATH", prefix().join("lib"));
        shell
    };
    let include = format!("-I{}/include", prefix().display());
    succeeds(&mut run(&format!("cc -Wall -Werror -c synopsis.c {include}")));
    assert_eq!(succeeds(&mut run(&format!("{} && ./a.out", manual::command(&page)))), "work(1)\n");
    // One that is not what the header says.
    let wrong = manual::synopsis(&page.replace("int jumplabel_seal(struct", "long jumplabel_seal(struct"));
    write(&directory.join("wrong.c"), &wrong);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    let missing = manual::synopsis(&page.replace("DEFINE_STATIC_KEY_TRUE(", "DEFINE_STATIC_COFFEE("));
    write(&directory.join("wrong.c"), &missing);
    assert!(!run(&format!("cc -c wrong.c {include}")).output().unwrap().status.success());
    // It is a page without mistakes of form.
    if Command::new("man").arg("--version").output().is_ok() {
        let page = repository("crates/jumplabel-capi/docs/jumplabel.3");
        assert_eq!(succeeds(shell("man --warnings -E UTF-8 -l -Z $PAGE >/dev/null", &directory).env("PAGE", page)), "");
    }
}
