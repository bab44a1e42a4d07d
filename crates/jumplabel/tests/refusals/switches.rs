//! A mode whose change is refused, at each write: the mode stays, and its switches take the same arm as before.

use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::platform::{Write, Writer};
use jumplabel::{Error, Modes, Refusal, WriterKind, modes, set_writer, static_mode, static_switch};

use crate::scenario::{Scenario, passes};
use crate::seccomp::{Fault, Faults};
use crate::twin::{Twin, install};

modes! { enum Mode { Fast, Checked, Traced } }
static_mode! { static MODE: Mode = Checked; }

fn arms() -> [Mode; 2] {
    [
        static_switch!(MODE, { Fast => Mode::Fast, Checked => Mode::Checked, Traced => Mode::Traced }),
        static_switch!(MODE, { Traced => Mode::Traced, Checked => Mode::Checked, Fast => Mode::Fast }),
    ]
}

/// Sets `to` until the change is not refused any more. Returns how often it was refused.
fn refusals(from: Mode, to: Mode, arm: impl Fn(u32), disarm: impl Fn() -> bool) -> usize {
    MODE.set(from).unwrap();
    for ordinal in 1.. {
        arm(ordinal);
        let result = MODE.set(to);
        if !disarm() {
            assert_eq!((result.unwrap().sites, MODE.get(), arms()), (2, to, [to; 2]));
            return ordinal as usize - 1;
        }
        assert!(matches!(result, Err(Error::Denied { .. })), "{result:?}");
        assert_eq!((MODE.get(), arms()), (from, [from; 2]), "write {ordinal}, {from:?} -> {to:?}");
        // The stubs do not know of the refused mode either. SAFETY: a mode begins with the byte that the stubs load.
        let shown = unsafe { std::ptr::from_ref(MODE.raw()).cast::<u8>().read_volatile() };
        assert_eq!(shown, from.index());
        assert_eq!(MODE.set(from).unwrap().sites, 0);
    }
    unreachable!()
}

/// The k-th write is refused, once.
fn every_write() {
    let faults = Faults::new(&[libc::SYS_pwrite64]);
    set_writer(Some(WriterKind::Procmem));
    let mut met = 0;
    for &from in Mode::ALL {
        for &to in Mode::ALL.iter().filter(|to| **to != from) {
            let arm = |ordinal| faults.arm(libc::SYS_pwrite64, ordinal, ordinal, Fault::Errno(libc::EIO));
            met += refusals(from, to, arm, || faults.disarm() > 0);
        }
    }
    // There are two sites, and six changes.
    assert!(met >= 12, "{met} writes");
}

#[test]
#[allow(clippy::redundant_closure)] // A scenario is a closure of its test.
fn modes_stay() {
    passes(|| every_write());
}

/// A writer that does not undo.
struct Careless(AtomicBool);

impl Twin for Careless {
    fn begin(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
    fn write(&self, writer: &mut dyn Writer, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        // Writes after a refusal take back what was written.
        if self.0.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: called as `Writer::write` is.
        unsafe { writer.write(writes) }.inspect_err(|_| self.0.store(true, Ordering::Relaxed))
    }
}

#[test]
fn broken_twin_does_not_undo() {
    Scenario::new().fails("Fast -> Checked", || {
        install(Careless(AtomicBool::new(false)));
        every_write();
    });
}
