//! Tests damaged entries, in which one word leads to a wrong place. The entry of a site that a linker has dropped is not damaged: see
//! `image::code_that_the_linker_dropped`.

use std::ffi::c_void;

use jumplabel::{Error, RawKey, for_each_site, static_branch_unlikely, static_key};
use jumplabel_testing::scenario::Scenario;

static_key! { static DAMAGED: false; static OTHER: false; }

#[inline(never)]
fn checks() -> [bool; 2] {
    [static_branch_unlikely!(DAMAGED), static_branch_unlikely!(OTHER)]
}

/// The first entry of a key, as four words. Makes them writable, which no program does.
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
    // SAFETY: the address is in a page of this program's table, which nobody else writes.
    assert_ne!(unsafe { VirtualProtect(words.cast(), 16, READWRITE, &raw mut old) }, 0);
    words
}

/// In each case, one word of an entry leads to a wrong place. Only the flips that may need the entry's site are refused.
#[test]
fn damaged_tables() {
    const FAR: i32 = 0x7000_0000;
    for case in ["site: far", "site: no code", "arm: far", "key: far", "key: odd"] {
        Scenario::new().env("CASE", case).passes(|| {
            let words = entry(&DAMAGED);
            // SAFETY: `words` leads to the entry's four words, and no other thread runs.
            let own: [i32; 4] = unsafe { words.cast::<[i32; 4]>().read() };
            let (word, wrong) = match &*std::env::var("CASE").unwrap() {
                "site: far" => (0, -FAR),
                // The address of the module's headers.
                "site: no code" => (0, -(crate::image::address_in_file(words as usize) as i32)),
                "arm: far" => (1, FAR),
                "key: far" => (2, FAR),
                _ => (2, own[2] + 1),
            };
            let write = |value: i32| {
                // SAFETY: `words` leads to the entry's four words, whose page `entry` has made writable.
                unsafe { words.add(word).write_volatile(value) };
            };
            write(wrong);
            let error = Error::DamagedTable { entry: words as usize };
            // The first time without the index of sites, the second time with it.
            for _ in 0..2 {
                assert_eq!(DAMAGED.enable(), Err(error));
                assert_eq!(for_each_site(&DAMAGED, |_| ()), Err(error));
                assert_eq!((DAMAGED.is_enabled(), checks()), (false, [false; 2]));
                // An entry with a wrong key may belong to any key.
                if word == 2 {
                    assert_eq!((OTHER.enable(), checks()), (Err(error), [false; 2]));
                } else {
                    assert_eq!((OTHER.enable().unwrap().sites, checks()), (1, [false, true]));
                    OTHER.disable().unwrap();
                }
            }
            // The index has the keys of entries, so it would not notice a repaired one.
            if word != 2 {
                write(own[word]);
                assert_eq!((DAMAGED.enable().unwrap().sites, checks()), (1, [true, false]));
            }
        });
    }
}
