//! Agents, each in a process of its own, and clients on real sockets.
#![cfg(target_os = "linux")]

#[path = "agent/access.rs"]
mod access;
#[path = "agent/answers.rs"]
mod answers;
#[path = "agent/client.rs"]
mod client;
#[path = "agent/closed.rs"]
mod closed;
#[path = "agent/followers.rs"]
mod followers;
#[path = "agent/fork.rs"]
mod fork;
#[path = "agent/hears.rs"]
mod hears;
#[path = "agent/hostile.rs"]
mod hostile;
#[path = "agent/layers.rs"]
mod layers;
#[path = "agent/places.rs"]
mod places;
#[path = "agent/reverts.rs"]
mod reverts;
#[path = "agent/sockets.rs"]
mod sockets;
#[path = "agent/streams.rs"]
mod streams;
#[path = "agent/thread.rs"]
mod thread;
#[path = "agent/variable.rs"]
mod variable;
#[path = "agent/verify.rs"]
mod verify;

use jumplabel::{modes, static_branch_unlikely, static_call, static_key, static_mode, static_switch, tracepoint};

jumplabel_agent::startup!();

static_key! {
    #[key(name = "net.trace")]
    static TRACE: false;
    #[key(name = "net.packets")]
    static PACKETS: false;
    #[key(name = "auth.strict")]
    static STRICT: true;
    #[key(name = "late")]
    static LATE: false, deferred core::time::Duration::from_secs(3600);
}
modes! {
    enum Mode { Fast, Checked, Traced }
}
static_mode! {
    static MODE: Mode = Checked;
}
tracepoint! {
    log, line(length: usize);
}
fn plain(number: u32) -> u32 {
    number + 1
}
static_call! {
    static HASH: fn(u32) -> u32 = plain;
}

/// The line of the declaration of the keys.
const LINE: u32 = 41;

/// What sites do, and what the mode is.
fn now() -> (bool, bool, bool, u32) {
    let mode = static_switch!(MODE, { Fast => 0, Checked => 1, Traced => 2 });
    (static_branch_unlikely!(TRACE), static_branch_unlikely!(PACKETS), static_branch_unlikely!(STRICT), mode)
}

/// Makes the mode and the call known.
fn use_all() {
    MODE.set(Mode::Checked).unwrap();
    assert_eq!((HASH(1), now()), (2, (false, false, true, 1)));
}
