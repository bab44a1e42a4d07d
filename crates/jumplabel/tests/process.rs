//! Flips and the process that they happen in: forks, clones, signals, constructors, threads, timers, mappings, descriptors.
//!
//! Under an emulator (JUMPLABEL_EMULATOR names it, for the processes that are started) some of these tests show nothing; see
//! crates/xtask/src/targets.rs.
#![cfg(all(target_os = "linux", jumplabel_sites))]

use jumplabel_testing::{pages, scenario, twin, writers};

#[path = "process/deferred.rs"]
mod deferred;
#[path = "process/forks.rs"]
mod forks;
#[path = "process/mappings.rs"]
mod mappings;
#[cfg(target_env = "gnu")]
#[path = "process/preinit.rs"]
mod preinit;
#[path = "process/signals.rs"]
mod signals;
#[path = "process/threads.rs"]
mod threads;
