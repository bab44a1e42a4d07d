//! What is done with a command of the documents.

use super::desk::{example, install, prefix, printed, repository, shell, succeeds};
use super::exists::exists;

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

pub(super) fn command(line: &str) -> Result<(), String> {
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
pub(super) fn in_example(line: &str) -> String {
    let mut shell = shell(line, example());
    shell.env("PREFIX", prefix()).env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"));
    succeeds(&mut shell)
}
