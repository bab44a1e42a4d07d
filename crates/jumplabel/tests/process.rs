//! Flips and the process that they happen in: forks, clones, signals, constructors, threads, timers, mappings, descriptors.
//!
//! Under an emulator (JUMPLABEL_EMULATOR names it, for the processes that are started) some of them have nothing to say; see
//! ci/targets.
#![cfg(all(target_os = "linux", jumplabel_sites))]

#[path = "process/pages.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod pages;
#[path = "process/scenario.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod scenario;
#[path = "process/twin.rs"]
mod twin;

#[path = "process/writers.rs"]
mod writers;

#[path = "process/deferred.rs"]
mod deferred;
#[path = "process/forks.rs"]
mod forks;
#[path = "process/mappings.rs"]
mod mappings;
#[path = "process/signals.rs"]
mod signals;
#[path = "process/threads.rs"]
mod threads;
