//! A note as callsites of the patched tracing have one.

use std::sync::atomic::AtomicU16;

use crate::note::{NOP, Note, PLACE, read};

/// A callsite like that of the patched tracing: its semaphore is somewhere in it.
struct Callsite {
    note: Option<fn(&[u64; 4])>,
    semaphore: AtomicU16,
}

static CALLSITE: Callsite = Callsite {
    note: jumplabel::__usdt_callsite!(CALLSITE, std::mem::offset_of!(Callsite, semaphore), "net::streams::a"),
    semaphore: AtomicU16::new(0),
};
/// The line of the callsite.
const LINE: u32 = line!() - 4;

pub fn semaphore() -> usize {
    &raw const CALLSITE.semaphore as usize
}

/// A note whose names the compiler has put together.
#[test]
fn a_note_of_a_callsite() {
    let note = Note::of("net", &format!("streams_a_{LINE}"));
    let places = [0, 8, 16, 24].map(|offset| format!("8@{}{offset}{}", PLACE[0], PLACE[1]));
    assert_eq!((note.arguments, note.semaphore), (places.join(" "), semaphore()));
    assert_eq!(read(note.address), NOP);
    // The nop is in the function, which does nothing else.
    let function = CALLSITE.note.unwrap();
    assert!((0..64).contains(&(note.address - function as usize)));
    function(&[1, 2, 3, 4]);
}
