//! `jumplabel`, the tool. All of it is in the library of this package, so that tests can call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    if jumplabel_cli::completes() {
        return ExitCode::SUCCESS;
    }
    // These take the colours away, unless it is a terminal; NO_COLOR counts as well.
    let (mut out, mut err) = (anstream::stdout(), anstream::stderr());
    ExitCode::from(jumplabel_cli::run(std::env::args_os(), &mut out, &mut err))
}
