//! The way in which each command of the documents is tried.

use std::path::Path;

use jumplabel_testing::breadth::tests_all;

use super::desk::{block, example, install, prefix, repository, shell, succeeds, write};
use super::exists::exists;

/// The way in which a line for the shell is tried.
enum How {
    /// Is run in the directory in which the reader begins. The output ends like this.
    AtDesk(&'static str),
    /// The function runs it there, before anything that needs the result.
    Ahead(fn() -> &'static Path),
    /// Is run in the directory of the README's example. The output ends like this.
    InExample(&'static str),
    /// Is run there in this form instead, for this reason.
    Instead(&'static str, &'static str),
    /// Is run there in this form instead if all is to be tested, and otherwise only looked up, for this reason.
    Wide(&'static str, &'static str),
    /// Is `make install`, run in this form for this reason; it installs into the prefix that the variable stands for.
    Install(&'static str, &'static str),
    /// Is only looked up, for this reason.
    Exists(&'static str),
    /// Is not even looked up.
    Nothing(&'static str),
}
use How::{Ahead, AtDesk, Exists, InExample, Install, Instead, Nothing, Wide};

const WINE: &str = "`make wine`, a part of `make test-all`, builds and runs the same";
const OF_A_MACHINE: &str = "a minute, and figures of one machine";

const COMMANDS: &[(&str, How)] = &[
    (
        "make -C jumplabel demo",
        Wide(
            "make -C ../jumplabel demo DEMO='--seconds 2'",
            "its optimised build takes more than a minute of a processor",
        ),
    ),
    ("cargo new example && cd example && cargo add --path ../jumplabel/crates/jumplabel", Ahead(example)),
    ("cargo run --release", InExample("work(2)\n")),
    ("objdump -d -M intel target/release/example | awk '/^[0-9a-f]+ <.*example4work/,/^$/'", InExample("")),
    (
        "gdb -batch -ex 'set disassembly-flavor intel' -ex 'break _eprint' -ex run -ex up -ex 'disassemble /r' \
         target/release/example",
        InExample(""),
    ),
    ("make -C jumplabel install PREFIX=$PWD/installed", Ahead(prefix)),
    (
        "cc program.c $(PKG_CONFIG_PATH=$PWD/installed/lib/pkgconfig pkg-config --cflags --libs jumplabel) \
         -Wl,-rpath,$PWD/installed/lib && ./a.out",
        AtDesk("work(2)\n"),
    ),
    ("make test", Exists("this test is part of it")),
    ("cargo build --release --target x86_64-pc-windows-gnu", Nothing(WINE)),
    (
        "make -C ../jumplabel wine PROGRAM=$PWD/target/x86_64-pc-windows-gnu/release/example.exe",
        Instead("make -n -C ../jumplabel wine PROGRAM=$PWD/example.exe", WINE),
    ),
    ("cargo build --release --target x86_64-pc-windows-gnu --target-dir target/wine -p jumplabel-demo", Nothing(WINE)),
    (
        "cargo rustc --release -p jumplabel-capi --lib --crate-type staticlib --target x86_64-pc-windows-gnu --target-dir target/wine",
        Nothing(WINE),
    ),
    (
        "clang-19 --target=x86_64-w64-windows-gnu -O2 -Icrates/jumplabel-capi/include program.c target/wine/x86_64-pc-windows-gnu/release/libjumplabel_capi.a -lntdll -luserenv -lws2_32 -static",
        Nothing(WINE),
    ),
    (
        "cargo rustc --release -p jumplabel-agent-capi --features capi --lib --crate-type staticlib --target x86_64-pc-windows-gnu --target-dir target/wine",
        Nothing(WINE),
    ),
    ("cargo xtask wine --torture 20", Exists("`make wine` runs the torture for a shorter time")),
    ("make wine PROGRAM=a.exe", Exists(WINE)),
    ("make wine PROGRAM=target/wine/x86_64-pc-windows-gnu/release/jumplabel-demo.exe", Exists(WINE)),
    ("make install PREFIX=/usr/local", Install("make install PREFIX=$PREFIX", "/usr/local is not the test's")),
    ("cc program.c $(pkg-config --cflags --libs jumplabel)", InExample("")),
    ("cc -static program.c $(pkg-config --cflags --libs --static jumplabel)", InExample("")),
    (
        "make install DESTDIR=/tmp/stage && sudo cp -r /tmp/stage/. /",
        Install(
            "make install DESTDIR=$PREFIX/stage && cp -r $PREFIX/stage/. $PREFIX/root && test -e $PREFIX/root/usr/local/lib/libjumplabel.so",
            "not as root, and not into the machine's own directories",
        ),
    ),
    ("make dist", Exists("minutes; prebuilt of jumplabel-capi runs it, and the next")),
    (
        "make install PREBUILT=/media/jumplabel-0.1.0 PREFIX=/usr/local",
        Exists("prebuilt of jumplabel-capi runs it; /usr/local is not the test's"),
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
    ("cargo test -p jumplabel --test keys deferred", Exists("make test runs all of it")),
    ("cargo test -p jumplabel-capi --test capi batches", Exists("make test-all runs all of it")),
    ("make lint", Exists("minutes; make test runs it")),
    ("make wine32", Exists("a part of make release-check")),
    ("make programs", Exists("a part of make release-check")),
    ("make lint-all", Exists("minutes; make test-all runs it")),
    ("make fallback miri", Exists("minutes; make test and make test-all run them")),
    ("make elsewhere", Exists("a minute; make test-all runs it")),
    ("make model", Exists("minutes; make test-all runs it")),
    ("make fuzz", Exists("needs the network; make test-all runs it")),
    ("make torture", Exists("an hour")),
    ("make upstream", Exists("a part of make release-check")),
    ("make packages", Exists("a part of make release-check")),
    ("make site-check", Exists("a part of make release-check")),
    ("make mutants", Exists("many hours")),
    ("make mutants MUTANTS=\"--file crates/jumplabel/src/raw/count.rs\"", Exists("an hour")),
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
    ("cargo test -p jumplabel-bench", Exists("make wide runs it")),
    ("cargo test -p jumplabel-capi --test capi size -- --nocapture", Exists("make test-all runs all of it")),
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

pub(super) fn command(line: &str) -> Result<(), String> {
    let (_, how) = COMMANDS
        .iter()
        .find(|(known, _)| *known == line)
        .ok_or(format!("no rule for `{line}`: run it, or say why not"))?;
    match how {
        AtDesk(end) => ends(&at_desk(line), end)?,
        Ahead(function) => drop(function()),
        InExample(end) => ends(&in_example(line), end)?,
        Instead(other, reason) => {
            println!("  {line}: run as {other} ({reason})");
            in_example(other);
        }
        Wide(other, _) if tests_all() => drop(in_example(other)),
        Wide(_, reason) => {
            println!("  looked up: {line} ({reason})");
            exists(&line.replace("-C jumplabel ", ""))?; // It is looked up in the checkout itself.
        }
        Install(other, reason) => {
            println!("  {line}: run as {other} ({reason})");
            install(&other.replace("$PREFIX", prefix().to_str().unwrap()), &repository(""));
        }
        Exists(reason) => {
            println!("  looked up: {line} ({reason})");
            exists(line)?;
        }
        Nothing(reason) => println!("  not tried: {line} ({reason})"),
    }
    Ok(())
}

fn ends(said: &str, end: &str) -> Result<(), String> {
    if said.ends_with(end) { Ok(()) } else { Err(format!("not {end:?}, but {said}")) }
}

/// Runs a line in the directory of the README's program in C.
pub(super) fn at_desk(line: &str) -> String {
    run(line, prefix().parent().unwrap())
}

/// Runs a line in the README's crate, with its program in C beside it.
pub(super) fn in_example(line: &str) -> String {
    write(&example().join("program.c"), &block("README.md", "#include <jumplabel/jump_label.h>").text);
    run(line, example())
}

/// Sets the variables that docs/building.md tells a reader to set where the prefix is unusual.
fn run(line: &str, directory: &Path) -> String {
    let mut shell = shell(line, directory);
    shell.env("PREFIX", prefix()).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    succeeds(&mut shell)
}
