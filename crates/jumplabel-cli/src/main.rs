//! `jumplabel`, the tool. All of it is in the library of this package, so that tests can call it.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut out = Vec::new();
    let mut err = Vec::new();
    let code = jumplabel_cli::run(std::env::args_os(), &mut out, &mut err);
    // These take the colours away, unless it is a terminal; NO_COLOR counts as well. A reader that has gone, as `head` does, has seen
    // what it wanted.
    let _ = anstream::stdout().write_all(&out);
    let _ = anstream::stderr().write_all(&err);
    ExitCode::from(code)
}
