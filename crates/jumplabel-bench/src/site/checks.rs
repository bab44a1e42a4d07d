//! The checks that are compared: a constant, a site, a call of a naked key's function, and loads of an atomic.

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{RawKey, naked_key, restore_pristine, static_key};

use crate::Result;
use crate::placed::PLACEMENTS;

/// An atomic on a cache line of its own. Like the sites of a key, it shares no line with other data.
#[repr(align(128))]
pub struct Flag(pub AtomicBool);

static_key! {
    pub static KEY: false;
    pub static OR_LOAD: false, or_load;
    /// A key that is never patched.
    pub static UNPATCHED: false, or_load;
}
naked_key! { pub static NAKED: false; }
/// One flag for each placement. The flags of `FLAGS` are off, and the flags of `FLAGS_ON` are on.
pub static FLAGS: [Flag; PLACEMENTS] = [const { Flag(AtomicBool::new(false)) }; PLACEMENTS];
pub static FLAGS_ON: [Flag; PLACEMENTS] = [const { Flag(AtomicBool::new(false)) }; PLACEMENTS];

/// The variants, in the order of the report.
#[derive(Clone, Copy, PartialEq)]
pub enum Check {
    /// The loop without any check.
    Baseline,
    /// `if false`. The difference between this check and the baseline shows how far two measurements of the same code differ.
    Constant,
    /// A site whose key is off, in the form that the compiler emitted: a nop.
    SiteOff,
    /// A site whose key was on and is off again. It is a `test`.
    SitePrimed,
    /// A site whose key is on. The check executes a jump, one instruction and a jump back.
    SiteOn,
    /// A site of a key declared `or_load` that was never patched. The check executes a jump, a load and test, a branch and a jump back.
    OrLoadUnpatched,
    /// A site of a key declared `or_load` that was patched and is off. It is a nop.
    OrLoadOff,
    /// A site of a key declared `or_load` that was patched and is on. The check executes a jump, one instruction and a jump back.
    OrLoadOn,
    /// A naked key that is off. The check executes a call, two instructions, a test and a branch.
    NakedOff,
    /// A naked key that is on.
    NakedOn,
    Relaxed,
    Acquire,
    SeqCst,
    /// A relaxed load of a flag that is on. The check jumps to the arm and back.
    RelaxedOn,
}

pub const CHECKS: [Check; 14] = [
    Check::Baseline,
    Check::Constant,
    Check::SiteOff,
    Check::SitePrimed,
    Check::SiteOn,
    Check::OrLoadUnpatched,
    Check::OrLoadOff,
    Check::OrLoadOn,
    Check::NakedOff,
    Check::NakedOn,
    Check::Relaxed,
    Check::Acquire,
    Check::SeqCst,
    Check::RelaxedOn,
];

impl Check {
    pub fn name(self) -> &'static str {
        match self {
            Check::Baseline => "baseline",
            Check::Constant => "constant",
            Check::SiteOff => "site, off (nop)",
            Check::SitePrimed => "site, off again (test)",
            Check::SiteOn => "site, on (jmp)",
            Check::OrLoadUnpatched => "or_load, unpatched",
            Check::OrLoadOff => "or_load, off (nop)",
            Check::OrLoadOn => "or_load, on (jmp)",
            Check::NakedOff => "naked key, off",
            Check::NakedOn => "naked key, on",
            Check::Relaxed => "relaxed load",
            Check::Acquire => "acquire load",
            Check::SeqCst => "SeqCst load",
            Check::RelaxedOn => "relaxed load, on",
        }
    }

    /// Returns whether the check loads a flag.
    pub fn is_load(self) -> bool {
        use Check::{Acquire, OrLoadUnpatched, Relaxed, RelaxedOn, SeqCst};
        matches!(self, OrLoadUnpatched | Relaxed | Acquire | SeqCst | RelaxedOn)
    }

    pub fn is_or_load(self) -> bool {
        matches!(self, Check::OrLoadOff | Check::OrLoadOn)
    }

    pub fn is_naked(self) -> bool {
        matches!(self, Check::NakedOff | Check::NakedOn)
    }

    /// Brings `keys` into the state that this variant measures.
    pub fn prepare<'key>(self, keys: impl IntoIterator<Item = &'key RawKey>) -> Result<()> {
        for key in keys {
            match self {
                Check::SiteOn | Check::OrLoadOn | Check::NakedOn => _ = key.enable()?,
                Check::NakedOff => _ = key.disable()?,
                Check::SiteOff | Check::OrLoadOff => {
                    key.disable()?;
                    restore_pristine(key)?;
                }
                Check::SitePrimed => {
                    key.enable()?;
                    key.disable()?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Stores a value that the compiler does not know, in code that can run. Without these stores, the compiler would take flags for constants.
pub fn store(flags: &[Flag], is_on: bool) {
    flags.iter().for_each(|flag| flag.0.store(std::hint::black_box(is_on), Ordering::Relaxed));
}
