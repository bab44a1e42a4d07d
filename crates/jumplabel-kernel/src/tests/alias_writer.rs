//! Writes through aliases: writes on two pages, and aliases that are wrong.

use core::sync::atomic::Ordering::SeqCst;
use core::time::Duration;

use jumplabel::Refusal;
use jumplabel::platform::{Write, Writer};

use super::threads::Threads;
use crate::alias_writer::AliasWriter;

/// A write on two pages is carried out whole or not at all, and every alias is given back.
#[test]
fn two_pages() {
    #[repr(align(4096))]
    struct Pages([u8; 8192]);
    let mut pages = Pages([1; 8192]);
    let mut machine = Threads::new(Duration::ZERO);
    let address = pages.0.as_mut_ptr() as usize;
    let (serialise, writes) =
        (|| Err(Refusal::errno(9)), [Write::new(address, &[3], false), Write::new(address + 4094, &[2; 5], false)]);
    machine.refused = address + 4096;
    let mut writer = AliasWriter { machine: &machine, serialise: &serialise, unsynced: false };
    // SAFETY: both writes lie in `pages`, which nobody else uses.
    let refused = unsafe { writer.write(&writes) };
    assert_eq!(refused, Err((1, Refusal::errno(5))));
    // The machine also counts the refused call of `map`. So a count of 1 shows that the alias of the first page was given back.
    assert_eq!(machine.mapped.load(SeqCst), 1);
    // SAFETY: `pages` lives until the end of the test, and nobody writes to it now.
    assert_eq!(unsafe { (address as *const [u8; 8192]).read_volatile() }.iter().filter(|byte| **byte != 1).count(), 1);
    machine.refused = 0;
    let mut writer = AliasWriter { machine: &machine, serialise: &serialise, unsynced: false };
    // SAFETY: both writes lie in `pages`, which nobody else uses.
    unsafe { writer.write(&writes) }.unwrap();
    assert!(writer.sync() == Err(Refusal::errno(9)) && writer.unsynced);
    // SAFETY: `pages` lives until the end of the test, and the writer is done.
    let written = unsafe { (address as *const [u8; 8192]).read_volatile() };
    assert!(written[0] == 3 && written[4094..4099] == [2; 5] && written.iter().filter(|byte| **byte != 1).count() == 6);
    assert_eq!(machine.mapped.load(SeqCst), 1);
}

/// If the alias leads to another page, nothing is written, and the flip is refused.
#[test]
fn alias_of_another_page() {
    #[repr(align(4096))]
    struct Pages([[u8; 4096]; 3]);
    let mut pages = Pages([[1; 4096], [2; 4096], [3; 4096]]);
    let address = pages.0.as_mut_ptr() as usize;
    let mut machine = Threads::new(Duration::ZERO);
    machine.wrong = Some(address + 8192);
    // The first write is in the page with the wrong alias. The other two are on two pages, one of which has the wrong alias.
    for (refused, place) in [(0, 100), (0, 4094), (4096, 4094)] {
        machine.refused = address + refused;
        let mut writer = AliasWriter { machine: &machine, serialise: &|| Ok(()), unsynced: false };
        // SAFETY: the write lies in `pages`, which nobody else uses.
        let written = unsafe { writer.write(&[Write::new(address + place, &[7; 4], false)]) };
        assert_eq!((written, machine.mapped.load(SeqCst)), (Err((0, Refusal::NO_EFFECT)), 0));
        // SAFETY: `pages` lives until the end of the test, and nobody writes to it now.
        let now = unsafe { (address as *const [[u8; 4096]; 3]).read_volatile() };
        assert!(now.iter().zip(1..).all(|(page, byte)| page.iter().all(|found| *found == byte)));
    }
}
