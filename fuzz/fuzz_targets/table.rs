//! The table reader against any bytes: an object made in memory, whose table is the fuzzer's input.
//!
//! ```text
//!   image   │ header │ record │ code ............ │ table: the input │
//!           └──────────────────── all and code ──────────────────────┘
//! ```
//!
//! Whatever the input says, reading it must stay inside of the image (the address sanitizer looks). For each key that an entry
//! may mean, what is found must be entries of that key with sites and targets inside of the code. What is refused must be an
//! entry of the table; a key outside of the image is refused only where an entry has lost the way to its key's address.

#![no_main]

use jumplabel_format::Kind;
use jumplabel::format::{Entry, Object};
use jumplabel::{Error, read_table};
use libfuzzer_sys::fuzz_target;

const RECORD: usize = 128;
const TABLE: usize = 4096;
const ENTRY: usize = 16;

fuzz_target!(|input: &[u8]| {
    let entries = input.len().min(1024) / ENTRY;
    let bytes = TABLE + entries * ENTRY;
    // Whole words, exactly as long as the image: the sanitizer sees the first byte behind it.
    let mut image = vec![0_u64; bytes / 8];
    let base = image.as_mut_ptr() as usize;
    let put = |at: usize, data: &[u8]| {
        assert!(at + data.len() <= bytes);
        // SAFETY: inside of the image.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), (base + at) as *mut u8, data.len()) };
    };
    let relative = |at: usize, to: usize| put(at, &(to.wrapping_sub(at) as i32).to_le_bytes());

    // One program header, of a segment that can be loaded, read and executed.
    put(0, &1_u32.to_le_bytes());
    put(4, &5_u32.to_le_bytes());
    for length in [32, 40] {
        put(length, &bytes.to_le_bytes());
    }
    // The record: where the image lies, as the library writes it; then where its sections are, and its version.
    for (word, value) in [base, base, 1].into_iter().enumerate() {
        put(RECORD + 32 + word * 8, &value.to_le_bytes());
    }
    let end = RECORD + size_of::<Object>();
    for at in (RECORD + 56..end - 8).step_by(4) {
        relative(at, if at == RECORD + 60 { bytes } else { TABLE });
    }
    put(end - 4, &1_u32.to_le_bytes());
    put(TABLE, &input[..entries * ENTRY]);

    // SAFETY: laid out above as the macros lay it out; the image outlives the reference.
    let object = unsafe { &*((base + RECORD) as *const Object) };
    assert_eq!(object.table().len(), entries);
    let code = base..base + bytes;
    let table = base + TABLE..base + bytes;
    // Where the words lead, read as they are: an indirect one need not lead anywhere.
    let words = (0..entries).map(|number| {
        let at = TABLE + number * ENTRY + 8;
        // SAFETY: a word of the table, which is aligned.
        (base + at).wrapping_add_signed(unsafe { ((base + at) as *const i32).read() } as isize)
    });
    for key in words.chain([base + 8, base + TABLE - 8, 8, usize::MAX - 7]) {
        let checked = |entry: &Entry| {
            assert_eq!(entry.key(), key);
            assert!(code.contains(&entry.code()) && code.contains(&(entry.code() + 4)));
            assert!(code.contains(&entry.target()));
            let _ = entry.arm();
        };
        match read_table(object, key, checked) {
            Ok(()) => {}
            Err(Error::UnknownKind { entry, kind }) => {
                assert!(table.contains(&entry) && (entry - table.start) % ENTRY == 0 && Kind::of(kind).is_none());
            }
            Err(Error::DamagedTable { entry }) => {
                assert!(table.contains(&entry) && (entry - table.start) % ENTRY == 0);
                // SAFETY: an entry of the table.
                let indirect = unsafe { ((entry + 12) as *const u32).read() } & 2 != 0;
                assert!(indirect || code.contains(&key), "an entry of another object blocks a key");
            }
            Err(other) => panic!("{other}"),
        }
    }
});
