//! Declarations of all kinds: in a module, in functions, in an `impl`'s method, in a macro of the user's.

use core::time::Duration;

use jumplabel::{StaticKeyFalse, modes, naked_key, ops, record_key, static_call, static_key, static_mode, tracepoint};

static_key! {
    /// Off.
    pub static OFF: false;
    /// On.
    pub static ON: true;
    /// Several.
    pub static SEVERAL: [false; 4];
    /// Deferred.
    pub static DEFERRED: false, deferred Duration::from_secs(1);
    /// Loads.
    pub static LOADS: false, or_load;
    /// With data.
    pub static TOLD: false, meta &7_u32;
    /// Computed.
    pub static COMPUTED: cfg!(debug_assertions);
    /// Named.
    #[key(name = "linted.named")]
    pub static NAMED: false;
    static PRIVATE: false;
}

naked_key! {
    /// Naked.
    pub static NAKED: false;
}

static_call! {
    /// A function.
    pub static CALL: fn(&[u8]) -> u64 = length;
    /// With lifetimes.
    pub static PICK: for<'a> fn(&'a str, &'a str) -> &'a str = longer;
    /// Nowhere.
    pub static HOOK: Option<fn(u64)> = None;
    /// Zero.
    pub static COUNT: unsafe extern "C" fn(*const u8, usize) -> usize = return 0;
    /// With its caller.
    pub static CHECK: fn(Option<u64>) -> u64 = Option::<u64>::unwrap_or_default;
}

/// The sum.
fn length(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte)).sum()
}

/// One of them.
const fn longer<'a>(one: &'a str, other: &'a str) -> &'a str {
    if one.len() > other.len() { one } else { other }
}

modes! {
    /// Modes.
    #[non_exhaustive]
    pub enum Mode {
        /// One.
        Fast,
        /// Another.
        Checked,
        /// A third.
        Traced,
    }
}

modes! {
    /// With traits of the user's.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Level {
        /// Low.
        Low,
        /// High.
        High,
    }
}

static_mode! {
    /// A mode.
    pub static MODE: Mode = Fast;
    /// A level.
    pub static LEVEL: Level = Low;
}

tracepoint! {
    /// With arguments.
    pub net, event(bytes: usize, text: &str);
    /// Without.
    pub net, nothing();
}

ops! {
    /// How things are counted.
    pub static COUNTER: Counting = { Native, Other { init: begin }, Off };

    /// Counts.
    pub fn count(number: u64) -> u64 {
        Native => native;
        Other => other;
        Off => native;
    }

    /// Raises a flag.
    /// # Safety
    /// `flag` is a word.
    pub unsafe fn raise(flag: *mut u32) {
        Native => native_raise, x86_64 unsafe { "or dword ptr [{flag}], 0x10000" };
        Other => other_raise;
        Off => nothing;
    }
}

/// A hook.
const fn begin() {}

/// An arm.
const extern "C" fn native(number: u64) -> u64 {
    number
}

/// Another.
const extern "C" fn other(number: u64) -> u64 {
    number.wrapping_add(1)
}

/// An arm.
const unsafe extern "C" fn native_raise(flag: *mut u32) {
    // SAFETY: as the operation says.
    unsafe { *flag |= 0x1_0000 };
}

/// Another.
const unsafe extern "C" fn other_raise(flag: *mut u32) {
    // SAFETY: as the operation says.
    unsafe { *flag |= 0x2_0000 };
}

/// A key in a field.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    /// The key.
    pub trace: StaticKeyFalse,
    /// Others.
    pub hooks: [StaticKeyFalse; 2],
}

/// With keys.
pub static CONFIG: Config =
    Config { trace: StaticKeyFalse::new(), hooks: [StaticKeyFalse::new(), StaticKeyFalse::new()] };
record_key! { CONFIG.trace; CONFIG.hooks[0]; }

/// In a function.
#[must_use]
pub fn local() -> bool {
    static_key! { static LOCAL: false; }
    naked_key! { static NAKED_LOCAL: false; }
    static_call! { static LOCAL_CALL: fn(&[u8]) -> u64 = length; }
    static_mode! { static LOCAL_MODE: Mode = Fast; }
    tracepoint! { net, local_event(number: u64); }
    jumplabel::emit!(local_event, LOCAL_CALL(b"text"));
    jumplabel::static_branch_unlikely!(LOCAL)
        || jumplabel::static_branch_unlikely!(PRIVATE)
        || NAKED_LOCAL.get()
        || LOCAL_MODE.get() == Mode::Checked
}
