//! Times a switch of a lock with four sites from one backend to the other.

use std::hint::black_box;

use jumplabel_paravirt::lock::{TICKET, byte_enter, byte_leave, ticket_enter, ticket_leave};

use crate::Result;
use crate::samples::{Samples, time};

jumplabel::ops! {
    static SMALL: Small = { Ticket, Byte };
    unsafe fn enter(inout ticket: u64, lock: *mut u32) -> u64 {
        Ticket => ticket_enter, x86_64 unsafe { "{{disp32}} lock xadd dword ptr [{lock}], {ticket:e}" };
        Byte => byte_enter, x86_64 unsafe { "mov {ticket:e}, 1\nxchg byte ptr [{lock}], {ticket:l}" };
    }
    unsafe fn leave(lock: *mut u32) {
        Ticket => ticket_leave, x86_64 unsafe { "{{disp32}} inc word ptr [{lock}]" };
        Byte => byte_leave, x86_64 unsafe { "mov byte ptr [{lock}], 0" };
    }
}

/// Takes and releases the lock twice, which makes four sites.
#[inline(never)]
fn pairs(lock: *mut u32) {
    // SAFETY: `lock` is the address of the word of a lock that nobody else has.
    unsafe {
        black_box(enter(TICKET, lock));
        leave(lock);
        black_box(enter(TICKET, lock));
        leave(lock);
    }
}

/// The microseconds of a switch, and the number of sites that it changed.
pub fn measure(quick: bool) -> Result<(Samples, usize)> {
    let (mut samples, mut sites) = (Samples::default(), 0);
    pairs(black_box(&mut 0));
    for turn in 0..if quick { 200 } else { 2000 } {
        let backend = if turn % 2 == 0 { Small::Byte } else { Small::Ticket };
        let mut outcome = None;
        let microseconds = time(|| outcome = Some(SMALL.set(backend))) / 1000.0;
        sites = outcome.transpose()?.map_or(0, |outcome| outcome.sites);
        samples.push(microseconds);
        // Checks that the sites do the work of the new backend.
        let mut word = 0;
        pairs(&raw mut word);
        let word = black_box(word);
        if word != [0x0002_0002, 0][usize::from(turn % 2 == 0)] {
            return Err(format!("{backend:?} left {word:#x}").into());
        }
    }
    Ok((samples, sites))
}
