//! `jumplabel`, the tool. All of its code is in this package's library, so that tests can call it.

use std::process::ExitCode;

fn main() -> ExitCode {
    if jumplabel_cli::completes() {
        return ExitCode::SUCCESS;
    }
    // Each stream drops the colours if it is not a terminal, or if NO_COLOR is set.
    let (mut out, mut err) = (anstream::stdout(), anstream::stderr());
    ExitCode::from(jumplabel_cli::run(std::env::args_os(), &mut out, &mut err))
}
