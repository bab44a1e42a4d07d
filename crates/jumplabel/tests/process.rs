//! Flips and the process that they happen in: forks, clones, signals, constructors, threads, timers, mappings, descriptors.
#![cfg(all(target_os = "linux", target_arch = "x86_64", not(any(miri, jumplabel_fallback))))]

#[path = "process/pages.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod pages;
#[path = "process/scenario.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod scenario;
#[path = "process/twin.rs"]
mod twin;

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
