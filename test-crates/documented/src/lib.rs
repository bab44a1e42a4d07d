//! Keys of all types, at all places; a call, a mode, a tracepoint.

use std::time::Duration;

use jumplabel::{
    StaticKeyTrue, modes, naked_key, static_branch_unlikely, static_call, static_key, static_mode, tracepoint,
};

static_key! {
    /// One.
    pub static ONE: false;
    /// Several.
    pub static SEVERAL: [true; 8];
    /// Deferred.
    pub static DEFERRED: false, deferred Duration::from_secs(1);
    /// Of a constant.
    pub static COMPUTED: cfg!(all());
    static PRIVATE: false;
}

naked_key! {
    /// Naked.
    pub static NAKED: false;
}

static_call! {
    /// A call.
    pub static CALL: fn(&[u8]) -> u64 = length;
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

modes! {
    /// Modes.
    pub enum Mode { Fast, Checked }
}

static_mode! {
    /// A mode.
    pub static MODE: Mode = Fast;
}

tracepoint! {
    /// A tracepoint.
    pub net, event(bytes: usize, port: u16);
}

/// A module.
pub mod deeper {
    jumplabel::static_key! {
        /// Near.
        pub static NEAR: true;
    }
}

/// Keys in fields.
pub struct Config {
    /// A field.
    pub key: StaticKeyTrue,
}

/// A static that is no key.
pub static CONFIG: Config = Config { key: StaticKeyTrue::new() };

/// Checks.
pub fn work() -> bool {
    static_key! { static LOCAL: false; }
    static_branch_unlikely!(LOCAL)
        | static_branch_unlikely!(PRIVATE)
        | static_branch_unlikely!(SEVERAL[7])
        | NAKED.get()
}
