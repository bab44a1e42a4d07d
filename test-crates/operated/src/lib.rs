//! One of each thing that a tool lists.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use jumplabel::{
    DeferredKey, emit, modes, naked_key, record_key, static_branch_likely, static_branch_unlikely, static_call,
    static_key, static_mode, static_switch, tracepoint,
};

static_key! {
    #[key(name = "net.trace")]
    static TRACE: false;
    #[key(name = "wal.fsync")]
    static FSYNC: true;
    static HOOKS: [false; 3];
    static LOADS: false, or_load;
    /// Nothing checks it.
    #[key(name = "net.unused")]
    static UNUSED: false;
}

naked_key! {
    static NAKED: true;
}

modes! {
    pub enum Mode { Fast, Checked, Traced }
}

static_mode! {
    static MODE: Mode = Checked;
}

fn plain(number: u32) -> u32 {
    number + 1
}

static_call! {
    static HASH: fn(u32) -> u32 = plain;
}

tracepoint! {
    net, packet(bytes: u32);
}

static RAN: AtomicU32 = AtomicU32::new(0);

#[cold]
fn ran(number: u32) {
    RAN.fetch_add(number, Relaxed);
}

#[inline(always)]
fn traced(number: u32) {
    if static_branch_unlikely!(TRACE) {
        ran(number);
    }
}

/// Has two checks of `net.trace`: one of its own, and one of an inlined function.
#[unsafe(no_mangle)]
pub extern "C" fn receive(number: u32) -> u32 {
    traced(number);
    if static_branch_unlikely!(TRACE) {
        ran(2);
    }
    if static_branch_unlikely!(HOOKS[0]) || static_branch_unlikely!(HOOKS[2]) {
        ran(3);
    }
    emit!(packet, number);
    HASH(number)
}

#[unsafe(no_mangle)]
pub extern "C" fn write_back(number: u32) -> u32 {
    if static_branch_likely!(FSYNC) {
        ran(4);
    }
    if static_branch_unlikely!(FSYNC) {
        ran(5);
    }
    if static_branch_unlikely!(LOADS) {
        ran(6);
    }
    if NAKED.get() {
        ran(7);
    }
    static_switch!(MODE, {
        Fast => number,
        Checked => number.checked_add(1).unwrap_or(0),
        Traced => { ran(8); number },
    })
}

static SLOW: [DeferredKey<true>; 2] = [const { DeferredKey::new(std::time::Duration::from_secs(1)) }; 2];

record_key! {
    SLOW;
}

#[unsafe(no_mangle)]
pub extern "C" fn slow() {
    if static_branch_unlikely!(SLOW[1]) {
        ran(9);
    }
}
