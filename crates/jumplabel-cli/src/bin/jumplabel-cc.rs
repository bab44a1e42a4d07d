//! `jumplabel-cc`, a linker for cargo and for make. The library's module `linker` describes what it does.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(jumplabel_cli::cc(std::env::args_os().skip(1)))
}
