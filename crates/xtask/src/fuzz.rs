//! Runs each fuzz target for some seconds.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

pub fn run(sh: &Shell, seconds: u32) -> Result<()> {
    if !crate::has("cargo-fuzz") {
        cmd!(sh, "cargo install cargo-fuzz --locked --quiet").quiet().run()?;
    }
    let seconds = seconds.to_string();
    for target in ["table", "keys", "request", "link"] {
        let fuzz =
            cmd!(sh, "cargo +nightly fuzz run --fuzz-dir fuzz {target} -- -max_total_time={seconds} -max_len=1024");
        let log = crate::printed(fuzz).with_context(|| format!("fuzz {target}"))?;
        println!("fuzz {target}: {}", log.lines().find(|line| line.starts_with("Done")).unwrap_or_default());
    }
    Ok(())
}
