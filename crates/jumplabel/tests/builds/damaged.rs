//! The checks of files find the damage for which they are there.

use jumplabel_testing::cargo::{self};

use super::{check, shapes};
use crate::binary::Binary;

/// The checks find what they are there for: in a copy of the file one thing is broken, and its check must fail.
#[test]
fn damaged_files_are_found() {
    use object::{Object as _, ObjectSection as _, read::elf::ElfFile64};
    let file = check(&shapes());
    let sound = std::fs::read(&file).unwrap();
    let parsed = ElfFile64::<object::Endianness>::parse(&*sound).unwrap();
    let range = |name| parsed.section_by_name(name).and_then(|section| section.file_range()).unwrap();
    let table = range("__jump_table").0 as usize;
    let address = parsed.section_by_name("__jump_table").unwrap().address();
    let damage = |expected: &str, break_it: &dyn Fn(&mut Vec<u8>)| {
        let mut broken = sound.clone();
        break_it(&mut broken);
        let error = Binary::parse(&broken).check().expect_err(expected);
        assert!(error.contains(expected), "{error}");
    };
    // The target of the first entry, two bytes on; the first entry, twice; the arm of the first entry.
    damage("its jump is", &|data| {
        let entries = data[table..].chunks_exact_mut(16);
        entries.take(20).for_each(|entry| entry[4] = entry[4].wrapping_add(2));
    });
    damage("twice", &|data| {
        data.copy_within(table..table + 16, table + 16);
        for word in 0..3 {
            let place = table + 16 + 4 * word;
            let distance = i32::from_le_bytes(data[place..place + 4].try_into().unwrap()) - 16;
            data[place..place + 4].copy_from_slice(&distance.to_le_bytes());
        }
    });
    damage("wrong state", &|data| data[table..].chunks_exact_mut(16).take(20).for_each(|entry| entry[12] ^= 1));
    // The relocations of .init_array put another address in the place of the constructor's.
    let (relocations, size) = range(".rela.dyn");
    let relocations = relocations as usize..(relocations + size) as usize;
    damage("0 registrations", &|data| {
        let section = parsed.section_by_name(".init_array").unwrap();
        let places = section.address()..section.address() + section.size();
        for entry in data[relocations.clone()].chunks_exact_mut(24) {
            if places.contains(&u64::from_le_bytes(entry[..8].try_into().unwrap())) {
                entry[16..].fill(0);
            }
        }
    });
    damage("a relocation at", &|data| data[relocations.start..][..8].copy_from_slice(&address.to_le_bytes()));
    // The flags in the header of the table's section.
    damage("has the flags", &|data| {
        let headers = parsed.elf_header().e_shoff.get(object::Endianness::Little) as usize;
        data[headers + 64 * parsed.section_by_name("__jump_table").unwrap().index().0 + 8] |= 1;
    });
    cargo::discard(&[file]);
}
