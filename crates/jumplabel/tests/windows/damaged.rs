//! Entries that lead astray. An entry whose first word leads on to no code is none of these: that is an entry of a site that a linker dropped
//! (`image::code_that_the_linker_dropped`).

use std::ffi::c_void;

use jumplabel::{Error, RawKey, for_each_site, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::Scenario;

static_key! { static DAMAGED: false; static OTHER: false; }

#[inline(never)]
fn checks() -> [bool; 2] {
    [static_branch_unlikely!(DAMAGED), static_branch_unlikely!(OTHER)]
}

/// The first entry of a key, as four words that can be written, which is what no program does.
fn entry(key: &RawKey) -> *mut i32 {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn VirtualProtect(address: *mut c_void, bytes: usize, protection: u32, old: *mut u32) -> i32;
    }
    const READWRITE: u32 = 0x04;
    let address = std::ptr::from_ref(key) as usize;
    let entry = crate::image::object().table().iter().find(|entry| entry.key() == address).unwrap();
    let words = std::ptr::from_ref(entry).cast_mut().cast::<i32>();
    let mut old = 0;
    // SAFETY: a page of this program's table, which nobody else writes.
    assert_ne!(unsafe { VirtualProtect(words.cast(), 16, READWRITE, &raw mut old) }, 0);
    words
}

/// Each word of an entry in turn leads to a wrong place. Only the flips that may need its site are refused.
#[test]
fn damaged_tables() {
    const FAR: i32 = 0x7000_0000;
    for case in ["site: far", "site: no code", "arm: far", "key: far", "key: odd"] {
        Scenario::new().env("CASE", case).passes(|| {
            let words = entry(&DAMAGED);
            // SAFETY: the entry's four words; no other thread is here.
            let own: [i32; 4] = unsafe { words.cast::<[i32; 4]>().read() };
            let (word, wrong) = match &*std::env::var("CASE").unwrap() {
                "site: far" => (0, -FAR),
                // The module's headers.
                "site: no code" => (0, -(crate::image::address_in_file(words as usize) as i32)),
                "arm: far" => (1, FAR),
                "key: far" => (2, FAR),
                _ => (2, own[2] + 1),
            };
            let write = |value: i32| {
                // SAFETY: as above; the page was made writable.
                unsafe { words.add(word).write_volatile(value) };
            };
            write(wrong);
            let error = Error::DamagedTable { entry: words as usize };
            // Twice: without the index, and with it.
            for _ in 0..2 {
                assert_eq!(DAMAGED.enable(), Err(error));
                assert_eq!(for_each_site(&DAMAGED, |_| ()), Err(error));
                assert_eq!((DAMAGED.is_enabled(), checks()), (false, [false; 2]));
                // An entry without a key may be of any.
                if word == 2 {
                    assert_eq!((OTHER.enable(), checks()), (Err(error), [false; 2]));
                } else {
                    assert_eq!((OTHER.enable().unwrap().sites, checks()), (1, [false, true]));
                    OTHER.disable().unwrap();
                }
            }
            // The index has the keys of entries.
            if word != 2 {
                write(own[word]);
                assert_eq!((DAMAGED.enable().unwrap().sites, checks()), (1, [true, false]));
            }
        });
    }
}
