//! Tests protections of pages: after a flip, each region has its own again.

use std::ffi::c_void;

use jumplabel::{Error, ErrorKind};
use jumplabel_testing::pages;
use jumplabel_testing::scenario::passes;

/// The system's structure `MEMORY_BASIC_INFORMATION`.
#[repr(C)]
struct Information {
    base: usize,
    allocation: [usize; 2],
    bytes: usize,
    state: u32,
    protection: u32,
    kind: u32,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    fn VirtualQuery(address: *const c_void, information: *mut Information, bytes: usize) -> usize;
}

const EXECUTE: u32 = 0x10;
const EXECUTE_READ: u32 = 0x20;
const EXECUTE_READWRITE: u32 = 0x40;
const READWRITE: u32 = 0x04;

fn protection(address: usize) -> u32 {
    let mut found = Information { base: 0, allocation: [0; 2], bytes: 0, state: 0, protection: 0, kind: 0 };
    // SAFETY: `VirtualQuery` fills a local variable of that size.
    assert_ne!(unsafe { VirtualQuery(address as *const c_void, &raw mut found, size_of::<Information>()) }, 0);
    found.protection
}

fn protect(address: usize, bytes: usize, protection: u32) {
    let mut old = 0;
    // SAFETY: the pages are code of this test, which nobody runs meanwhile.
    assert_ne!(unsafe { VirtualProtect(address as *mut c_void, bytes, protection, &raw mut old) }, 0);
}

pages::pages! { spread: 2 keys, 40 sites, every 1 pages, at 4094 }

/// Forty sites, each of which lies on two pages. Some pages have another protection: alone, two in a row, and seven in a row.
#[test]
fn each_region_gets_its_own_back() {
    passes(|| {
        let pages = spread();
        let page = |number: usize| (pages.code & !(pages::PAGE - 1)) + number * pages::PAGE;
        // Until such a page is written, the system reports it as copy-on-write.
        protect(page(3), 2 * pages::PAGE, EXECUTE_READWRITE);
        protect(page(9), 1, EXECUTE_READWRITE);
        protect(page(20), 7 * pages::PAGE, EXECUTE_READWRITE);
        let all = || (0..=pages.count).map(|number| protection(page(number))).collect::<Vec<_>>();
        let kinds = |all: &[u32]| all.iter().map(|one| matches!(*one, EXECUTE_READ)).collect::<Vec<_>>();
        let before = all();
        assert_eq!(kinds(&before).iter().filter(|is_plain| !**is_plain).count(), 10, "{before:x?}");
        for round in 0..4 {
            let outcome = pages.set(round % 2 == 0).unwrap();
            assert_eq!((outcome.sites, outcome.warnings.left_writable), (40, false));
            assert!(pages.all(round % 2 == 0));
            let now = all();
            assert_eq!(kinds(&now), kinds(&before), "{now:x?}");
        }
        // After a call that has nothing to write, protections change once more.
        pages.keys[1].disable().unwrap();
        protect(page(1), 2 * pages::PAGE, EXECUTE_READWRITE);
        let before = all();
        pages.keys[1].enable().unwrap();
        assert!(pages.agree());
        assert_eq!(kinds(&all()), kinds(&before));
        // No other page is writable.
        assert_eq!(protection(crate::check as *const () as usize), EXECUTE_READ);
    });
}

pages::pages! { hidden: 1 keys, 2 sites, every 2 pages, at 64 }

/// Code that cannot be read or executed is not written.
#[test]
fn pages_that_are_no_code_any_more() {
    passes(|| {
        let pages = hidden();
        pages.keys[0].enable().unwrap();
        let last = pages.site(1);
        protect(last, 1, EXECUTE);
        assert_eq!(pages.keys[0].disable(), Err(Error::Unreadable { address: last }));
        protect(last, 1, READWRITE);
        let refused = pages.keys[0].disable().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::System, "{refused:?}");
        assert!(pages.check(0) && pages.keys[0].is_enabled());
        protect(last, 1, EXECUTE_READ);
        pages.keys[0].disable().unwrap();
        assert!(pages.all(false));
    });
}

pages::pages! { foreign: 1 keys, 2 sites, every 2 pages, at 64 }

/// A site with a breakpoint is not written.
#[test]
fn foreign_bytes() {
    passes(|| {
        let pages = foreign();
        let site = pages.site(1);
        let write = |byte: u8| {
            protect(site, 1, EXECUTE_READWRITE);
            // SAFETY: the page is writable, and nobody runs the site.
            unsafe { (site as *mut u8).write_volatile(byte) };
            protect(site, 1, EXECUTE_READ);
        };
        write(0xcc);
        let refused = pages.keys[0].enable();
        assert!(matches!(refused, Err(Error::ForeignBytes { address, .. }) if address == site), "{refused:?}");
        assert!(!pages.check(0));
        write(0x0f);
        pages.keys[0].enable().unwrap();
        assert!(pages.all(true));
    });
}
