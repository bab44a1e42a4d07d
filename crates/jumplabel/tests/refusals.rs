//! Every way in which a flip can be refused, reached for real: after each refusal the sites, the counts and the map are as before, and a later flip
//! works once the cause is gone.
#![cfg(all(target_os = "linux", jumplabel_sites))]

use jumplabel_testing::{pages, scenario, twin, writers};

#[path = "refusals/arguments.rs"]
mod arguments;
#[path = "refusals/by_signal.rs"]
mod by_signal;
#[path = "refusals/calls.rs"]
mod calls;
#[path = "refusals/core_sync.rs"]
mod core_sync;
#[path = "refusals/descriptors.rs"]
mod descriptors;
#[path = "refusals/false_proc.rs"]
mod false_proc;
#[path = "refusals/holes.rs"]
mod holes;
#[path = "refusals/limits.rs"]
mod limits;
#[path = "refusals/misuse.rs"]
mod misuse;
#[path = "refusals/nameless.rs"]
mod nameless;
#[path = "refusals/open_spans.rs"]
mod open_spans;
#[path = "refusals/or_load.rs"]
mod or_load;
#[path = "refusals/prepared.rs"]
mod prepared;
#[path = "refusals/seccomp.rs"]
mod seccomp;
#[path = "refusals/state.rs"]
mod state;
#[path = "refusals/switches.rs"]
mod switches;
#[cfg(target_arch = "x86_64")]
#[path = "refusals/trap.rs"]
mod trap;
#[path = "refusals/turns.rs"]
mod turns;
#[path = "refusals/two_mappings.rs"]
mod two_mappings;
#[path = "refusals/unblocked.rs"]
mod unblocked;
#[path = "refusals/unmapped.rs"]
mod unmapped;
#[path = "refusals/unreadable.rs"]
mod unreadable;
#[path = "refusals/way_back.rs"]
mod way_back;
#[path = "refusals/writes.rs"]
mod writes;
