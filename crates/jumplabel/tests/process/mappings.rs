//! The mappings and descriptors that flips leave in the process, and the writers that they take.

use std::ffi::c_void;

use jumplabel::arch::Native;
use jumplabel::platform::{Body, Extent, Failure, Held, Summary, Write, WriteReport, Writer, WriterList, builtin};
use jumplabel::{Batch, Error, Refusal, WriterKind, set_writer};
use jumplabel_format::Arch;

use crate::pages::PAGE;
use crate::scenario::{Scenario, passes, repeats};
use crate::twin::{Twin, install};
use crate::writers;

crate::pages::pages! { many: 500 keys, 500 sites, every 1 pages, at 0 }

/// The number of mappings of this process.
fn mappings() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
}

/// Single flips on 500 pages, in an order that never meets a neighbour, there and back. Returns the numbers of mappings before and after.
fn single_flips(writer: Option<WriterKind>) -> (usize, usize) {
    set_writer(writer);
    many().keys[0].enable().unwrap();
    many().keys[0].disable().unwrap();
    let before = mappings();
    for on in [true, false, true] {
        for number in 0..500 {
            let number = number * 213 % 500;
            let key = &many().keys[number];
            if on { key.enable() } else { key.disable() }.unwrap();
            assert_eq!(many().check(number), on);
        }
        assert!(many().all(on));
    }
    let after = mappings();
    println!("{before} mappings before, {after} after");
    (before, after)
}

fn few_mappings(writer: Option<WriterKind>) {
    let (before, after) = single_flips(writer);
    assert!(after < before + 30, "{before} mappings have become {after}");
}

#[test]
fn mappings_of_the_automatic_choice() {
    passes(|| few_mappings(None));
}

#[test]
fn mappings_of_procmem() {
    if writers::works(Some(WriterKind::Procmem)) {
        passes(|| few_mappings(Some(WriterKind::Procmem)));
    }
}

#[test]
fn mappings_of_mprotect() {
    passes(|| few_mappings(Some(WriterKind::Mprotect)));
}

/// A page that was moved is a mapping of its own, which cannot merge with its neighbours. So is the text between two such pages. But that text is
/// never more than one mapping, and pages that are moved together become one mapping again.
#[test]
fn mappings_of_remap() {
    passes(|| {
        let (before, after) = single_flips(Some(WriterKind::Remap));
        let adjacent = builtin().page_size() == PAGE;
        assert!(after < before + if adjacent { 500 } else { 1000 } + 30, "{before} mappings have become {after}");
        let batch = many().keys.iter().fold(Batch::<500>::with_capacity(), |batch, key| batch.disable(key));
        batch.commit().unwrap();
        assert!(many().all(false));
        assert!(!adjacent || mappings() < before + 30, "{before} mappings have become {}", mappings());
    });
}

/// Opens and closes pages without having done so with the whole mapping once.
struct Unprimed;

impl Twin for Unprimed {
    fn writers(&self, _summary: &Summary, _held: &mut Held) -> WriterList {
        WriterList::of(&[WriterKind::Custom])
    }
    fn open(
        &self,
        _kind: WriterKind,
        extents: &[Extent],
        _held: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        let (first, last) = (extents[0].first & !(PAGE - 1), extents[extents.len() - 1].end);
        let protect = |protection| {
            // SAFETY: pages of code that stay executable.
            let result = unsafe { libc::mprotect(first as *mut c_void, last - first, protection) };
            assert_eq!(result, 0);
        };
        protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC);
        let result = body(&mut Stores);
        protect(libc::PROT_READ | libc::PROT_EXEC);
        result.map(|()| WriteReport::default())
    }
}

struct Stores;

impl Writer for Stores {
    unsafe fn write(&mut self, writes: &[Write]) -> Result<(), (usize, Refusal)> {
        for write in writes {
            // SAFETY: bytes of a site, on a page that is open.
            unsafe { write.store() };
        }
        Ok(())
    }
    /// One thread runs here, and it sees its own write after a jump.
    fn sync(&mut self) -> Result<(), Refusal> {
        Ok(())
    }
}

#[test]
fn broken_twin_does_not_prime() {
    Scenario::new().fails("mappings have become", || {
        install(Unprimed);
        few_mappings(None);
    });
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn descriptors_are_closed() {
    passes(|| {
        let before = descriptors();
        for writer in writers::all() {
            set_writer(writer);
            for flip in 0..repeats(1000) {
                let key = &many().keys[flip / 2 % 500];
                if flip % 2 == 0 { key.enable() } else { key.disable() }.unwrap();
            }
        }
        assert_eq!(descriptors(), before);
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(descriptors(), before + 1, "this test cannot count");
        drop(file);
    });
}

/// The writer that is chosen for one site.
fn automatic() -> WriterKind {
    let procmem = !Native::SINGLE_STORE && writers::works(Some(WriterKind::Procmem));
    if procmem { WriterKind::Procmem } else { WriterKind::Mprotect }
}

/// The writer that the environment names is the one that writes.
fn writes_with(expected: Option<WriterKind>) {
    let key = &many().keys[7];
    for on in [true, false] {
        let outcome = if on { key.enable() } else { key.disable() }.unwrap();
        assert!(outcome.writer == expected && many().check(7) == on);
    }
    assert!(PAGE.is_multiple_of(builtin().page_size()));
}

#[test]
fn environment_procmem() {
    let scenario = Scenario::new().env("JUMPLABEL_WRITER", "procmem");
    if writers::works(Some(WriterKind::Procmem)) {
        scenario.passes(|| writes_with(Some(WriterKind::Procmem)));
    } else {
        scenario.passes(|| refused_by_the_self_test(7));
    }
}

fn refused_by_the_self_test(number: usize) {
    let error = many().keys[number].enable().unwrap_err();
    let has_no_effect =
        matches!(error, Error::Denied { refused } if refused.of(WriterKind::Procmem) == Refusal::NO_EFFECT);
    assert!(has_no_effect && !many().check(number) && !many().keys[number].is_enabled(), "{error:?}");
}

#[cfg(target_pointer_width = "64")] // Of other programs, qemu picks the base itself.
mod emulated_addresses {
    use super::*;
    use crate::scenario::emulator;

    /// The bytes of segments.
    type Parts = Vec<Vec<u8>>;

    /// All code of this program, as it is now.
    fn code() -> Parts {
        unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, parts: *mut c_void) -> i32 {
            // SAFETY: what the loader shows, of which the first is the program; `parts` is below.
            let (info, parts) = unsafe { (&*info, &mut *parts.cast::<Parts>()) };
            // SAFETY: the program's own headers.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
            for header in
                headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0)
            {
                let start = (info.dlpi_addr + header.p_vaddr) as *const u8;
                // SAFETY: it is mapped, and readable.
                parts.push(unsafe { std::slice::from_raw_parts(start, header.p_memsz as usize) }.to_vec());
            }
            1
        }
        let mut parts = Parts::new();
        // SAFETY: the function above.
        unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut parts).cast()) };
        parts
    }

    /// /proc/self/mem is the system's file, whatever the emulator puts between its addresses and the program's.
    #[test]
    fn lie_elsewhere() {
        if emulator().is_none() {
            return;
        }
        Scenario::new().env("QEMU_GUEST_BASE", "0x10000").env("JUMPLABEL_WRITER", "procmem").passes(|| {
            let before = code();
            assert!(!before.is_empty());
            refused_by_the_self_test(7);
            assert!(code() == before, "the self-test's flip changed other code");
        });
    }
}

#[test]
fn environment_mprotect() {
    Scenario::new().env("JUMPLABEL_WRITER", "mprotect").passes(|| writes_with(Some(WriterKind::Mprotect)));
}

#[test]
fn environment_remap() {
    Scenario::new().env("JUMPLABEL_WRITER", "remap").passes(|| writes_with(Some(WriterKind::Remap)));
}

#[test]
fn environment_auto() {
    Scenario::new().env("JUMPLABEL_WRITER", "auto").passes(|| writes_with(Some(automatic())));
}

#[test]
fn environment_empty() {
    Scenario::new().env("JUMPLABEL_WRITER", "").passes(|| writes_with(Some(automatic())));
}
