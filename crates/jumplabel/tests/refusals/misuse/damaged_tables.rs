//! Flips that are refused because the table contradicts itself.

use jumplabel::{Error, RawKey, for_each_key, for_each_site, text_reserved};

use super::{sites, table};
use crate::scenario::{fork, passes, reap};

#[cfg(target_pointer_width = "64")]
unsafe extern "C" {
    #[link_name = "__jumplabel_object"]
    static mut OBJECT: [usize; 7];
}

/// The address of this program's ELF header: where a linker takes an undefined weak symbol to be, in a program that can be
/// loaded anywhere.
fn header() -> usize {
    let record = std::fs::read_to_string("/proc/self/maps").unwrap();
    let program = std::env::current_exe().unwrap();
    let line = record.lines().find(|line| line.ends_with(program.to_str().unwrap())).unwrap();
    usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap()
}

/// Each word of an entry in turn leads out of the object, as after a tool that moves code and forgets the table. Only flips are refused that may
/// need the site of the entry; all others work.
#[test]
fn damaged_tables() {
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Blocks {
        Nothing,
        ItsKey,
        TheObject,
    }
    use Blocks::{ItsKey, Nothing, TheObject};
    passes(|| {
        let words = table::words();
        let leads = |at: usize| (&raw const words[at] as usize).wrapping_add_signed(words[at] as isize);
        let entry = (0..words.len() / 4).find(|entry| leads(entry * 4) == sites().site(5)).unwrap();
        let [key, other] = [&sites().keys[1], &sites().keys[2]];
        assert_eq!(leads(entry * 4 + 2), key.address());
        let far = 0x7000_0000;
        let own = words[entry * 4 + 2];
        let key_word = &raw const words[entry * 4 + 2] as usize;
        let no_key = header().wrapping_sub(key_word) as i32;
        let cases = [
            (0, far, ItsKey),
            (0, -far, ItsKey),
            (0, own, ItsKey),
            (1, far, ItsKey),
            (2, far, TheObject),
            (2, own + 1, TheObject),
            (2, -8 - (key_word & 7) as i32, TheObject), // in the table
            (2, no_key, Nothing),
        ];
        for (word, bad, blocks) in cases {
            reap(fork(|| {
                let words = table::words();
                words[entry * 4 + word] = bad;
                // Without the slot for its key's address, the entry may be of any key.
                words[entry * 4 + 3] = if word == 2 && bad == far { 2 } else { 0 };
                let error = Error::DamagedTable { entry: &raw const words[entry * 4] as usize };
                let refused = |key: &'static RawKey| {
                    assert_eq!(key.enable(), Err(error), "{word} {bad:#x}");
                    assert_eq!(for_each_site(key, |_| ()), Err(error));
                    assert!(!key.is_enabled() && sites().all(false));
                };
                let works = |key: &'static RawKey, sites: usize| {
                    assert_eq!(key.enable().map(|outcome| outcome.sites), Ok(sites), "{word} {bad:#x}");
                    assert_eq!(for_each_site(key, |_| ()), Ok(sites));
                    key.disable().unwrap();
                };
                // Each check runs twice: without the index, and with it.
                for _ in 0..2 {
                    match blocks {
                        Nothing => works(key, 1),
                        ItsKey | TheObject => refused(key),
                    }
                    if blocks == TheObject {
                        refused(other)
                    } else {
                        works(other, 2)
                    }
                    let mut listed = 0;
                    for_each_key(|key| listed += usize::from(key.name.contains("::misuse::sites::"))).unwrap();
                    assert_eq!(listed, 4);
                    let site = sites().site(0);
                    assert!(text_reserved(site..site + 1).unwrap());
                }
                true
            }));
        }
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
    });
}

/// A target beyond the reach of a jump lies outside of any real object and is refused as damage; so the object must have
/// no bounds to be checked against, as on a platform without program headers. With 32
/// bits, a jump reaches everything.
#[cfg(target_pointer_width = "64")]
#[test]
fn out_of_range() {
    passes(|| {
        let words = table::words();
        let find = |address: usize| {
            words
                .chunks(4)
                .position(|entry| (&raw const entry[0] as usize).wrapping_add_signed(entry[0] as isize) == address)
        };
        let at = find(sites().site(6)).unwrap() * 4 + 1;
        let good = words[at];
        let word = &raw const words[at] as usize;
        // The far end of what the word can say, on the other side of the entry than the site.
        words[at] = if sites().site(6) > word { i32::MIN } else { i32::MAX };
        // No bounds: the last three of the words that the library writes.
        let record = &raw mut OBJECT;
        // SAFETY: the beginning of this program's record; nobody else flips.
        let place = unsafe { &mut *record }.split_at_mut(4).1;
        assert!(place[1] != 0 && (2..32).contains(&place[2]), "not where program headers are, and how many");
        let known = place.to_vec();
        place.fill(0);
        let error = sites().set(true).expect_err("was not refused");
        assert_eq!(error, Error::OutOfRange { address: sites().site(6) });
        assert!(sites().all(false) && sites().agree());
        words[at] = good;
        place.copy_from_slice(&known);
        for on in [true, false] {
            sites().set(on).unwrap();
            assert!(sites().all(on));
        }
    });
}
