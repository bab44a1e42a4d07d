//! A site that lies across the cut between two mappings.
#![cfg(target_arch = "x86_64")] // where a site can lie on two pages

use jumplabel::{Error, Refusal, WriterKind, set_writer};

use crate::pages::PAGE;
use crate::scenario::passes;
use crate::state::Watch;

crate::pages::pages! { sites: 3 keys, 6 sites, every 18 pages, at 4094 }

// Sites of one run on two pages, of which one has another mapping: no site is cut.
crate::pages::pages! { neighbours: 1 keys, 2 sites, every 1 pages, at 0 }

fn part_from_its_file(second: usize) {
    // SAFETY: the page becomes a copy of itself that has no file; no other thread is there to run it meanwhile.
    unsafe {
        let code = std::slice::from_raw_parts(second as *const u8, PAGE).to_vec();
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let page = libc::mmap(second as *mut _, PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert_eq!(page as usize, second);
        page.cast::<u8>().copy_from(code.as_ptr(), PAGE);
        // The bytes with which probes begin. There are no probes in pages without a file.
        page.cast::<[u8; 4]>().byte_add(PAGE - 4).write([0, 0xcc, 0, 0xe8]);
        assert_eq!(libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_EXEC), 0);
    }
}

#[test]
fn sites_on_two_mappings() {
    passes(|| {
        part_from_its_file(neighbours().site(1));
        set_writer(Some(WriterKind::Remap));
        for on in [true, false] {
            neighbours().set(on).unwrap();
            assert!(neighbours().all(on));
        }
    });
}

/// A site that lies on two pages of different mappings: `remap` would move its halves one after the other.
#[test]
fn a_site_on_two_mappings() {
    passes(|| {
        let sites = sites();
        let second = (sites.site(3) & !(PAGE - 1)) + PAGE;
        assert!(sites.site(3) + 5 > second);
        part_from_its_file(second);
        let watch = Watch::new(sites.raw());
        set_writer(Some(WriterKind::Remap));
        let error = watch.refused(|| sites.set(true));
        let Error::Denied { refused } = error else { panic!("{error:?}") };
        assert!(refused.iter().eq([(WriterKind::Remap, Refusal::errno(libc::EFAULT))]), "{error}");
        for writer in [Some(WriterKind::Procmem), Some(WriterKind::Mprotect), None] {
            set_writer(writer);
            for on in [true, false] {
                sites.set(on).unwrap();
                assert!(sites.all(on));
            }
        }
    });
}
