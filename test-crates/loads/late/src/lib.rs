//! A library that is loaded while the program runs. It has callsites of targets that the program has, too.

use shared as _;

/// Two events of a module below a target of the program, and one of another target.
#[unsafe(no_mangle)]
pub extern "C" fn late_says() {
    tracing::info!(target: "plugin::late", "late info");
    tracing::trace!(target: "plugin::late", "late trace");
    tracing::trace!(target: "elsewhere", "late elsewhere");
}
