//! Measures a run of the compiler: cargo runs this program instead of rustc, and this program writes the usage to a file.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::Result;

/// The environment variable that names the file for the usage. If it is set, this program runs rustc and measures it.
pub const USAGE_FILE: &str = "JUMPLABEL_BENCH_USAGE_FILE";

/// The usage of a process, and of the processes that it waited for.
pub struct Usage {
    /// Processor time, user and system.
    pub seconds: f64,
    /// The most memory that one of the processes held.
    pub kib: f64,
}

impl Usage {
    /// Reads the file that [`stand_in_for_rustc`] wrote.
    pub fn read(file: &Path) -> Result<Usage> {
        let text = std::fs::read_to_string(file)?;
        let mut words = text.split_whitespace().map(str::parse);
        match (words.next(), words.next()) {
            (Some(Ok(seconds)), Some(Ok(kib))) => Ok(Usage { seconds, kib }),
            _ => Err(format!("{} holds {text:?}", file.display()).into()),
        }
    }
}

/// If cargo runs this program instead of rustc, runs rustc, writes down its usage, and returns its exit code. Otherwise returns `None`.
pub fn stand_in_for_rustc() -> Option<ExitCode> {
    let file = std::env::var_os(USAGE_FILE)?;
    Some(measured(file).unwrap_or_else(|error| {
        eprintln!("jumplabel-bench: {error}");
        ExitCode::from(2)
    }))
}

fn measured(file: OsString) -> Result<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let rustc = arguments.next().ok_or("no compiler is named")?;
    let child = Command::new(rustc).args(arguments).spawn()?;
    let mut status = 0;
    // SAFETY: `rusage` has only numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes only to the two variables.
    if unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) } < 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    std::fs::write(file, format!("{} {}\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss))?;
    Ok(if libc::WIFEXITED(status) { ExitCode::from(libc::WEXITSTATUS(status) as u8) } else { ExitCode::FAILURE })
}
