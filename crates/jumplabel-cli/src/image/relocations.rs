//! The slots that the loader fills: words that hold an address only once the object is loaded. In an ELF file, the dynamic section describes them. In
//! a PE file, the import table does. Stripped files still have these descriptions.

use std::collections::HashMap;

use object::elf;

use super::Image;
use crate::machine::Machine;

/// The target of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    Here(u64),
    /// A symbol that another object may have.
    Import(String),
}

/// All slots of an object.
#[derive(Default)]
pub struct Slots(HashMap<u64, Slot>);

/// The dynamic section, by tags.
struct Dynamic<'image> {
    image: &'image Image,
    words: HashMap<u64, u64>,
}

impl Slots {
    /// The target of the slot at `address`: what the loader puts there, or else what the file has there.
    pub fn get(&self, image: &Image, address: u64) -> Option<Slot> {
        self.0.get(&address).cloned().or_else(|| image.pointer(address).map(Slot::Here))
    }

    /// Whether the slot at `address` leads nowhere: it is 0 in the file, and the loader does not fill it.
    pub fn is_null(&self, image: &Image, address: u64) -> bool {
        !self.0.contains_key(&address) && image.pointer(address) == Some(0)
    }

    pub(super) fn read(image: &Image) -> Slots {
        let import = |(slot, name): &(u64, String)| (*slot, Slot::Import(name.clone()));
        let mut slots = Slots(image.imports.iter().map(import).collect());
        let Some(range) = image.dynamic else { return slots };
        let word = image.machine.pointer() as u64;
        let mut dynamic = Dynamic { image, words: HashMap::new() };
        for at in (0..range.bytes / (2 * word)).map(|at| range.start.wrapping_add(at * 2 * word)) {
            let (Some(tag), Some(value)) = (image.pointer(at), image.pointer(at.wrapping_add(word))) else { break };
            if tag == u64::from(elf::DT_NULL) {
                break;
            }
            dynamic.words.insert(tag, value);
        }
        dynamic.table(elf::DT_RELA, elf::DT_RELASZ, 3 * word, &mut slots);
        dynamic.table(elf::DT_REL, elf::DT_RELSZ, 2 * word, &mut slots);
        let entry = if dynamic.word(elf::DT_PLTREL) == Some(elf::DT_REL.into()) { 2 } else { 3 };
        dynamic.table(elf::DT_JMPREL, elf::DT_PLTRELSZ, entry * word, &mut slots);
        slots
    }
}

impl Dynamic<'_> {
    fn word(&self, tag: u32) -> Option<u64> {
        self.words.get(&tag.into()).copied()
    }

    /// Reads a table of relocations. Each has a place, a kind with a symbol, and, if it has three words, an addend. Otherwise, the addend is at the
    /// place.
    fn table(&self, tag: u32, size: u32, entry: u64, slots: &mut Slots) -> Option<()> {
        let (start, bytes) = (self.word(tag)?, self.word(size)?);
        let (image, word) = (self.image, self.image.machine.pointer() as u64);
        image.slice(start, usize::try_from(bytes).ok()?)?;
        for at in (0..bytes / entry).map(|number| start.wrapping_add(number * entry)) {
            let place = image.pointer(at)?;
            let info = image.pointer(at.wrapping_add(word))?;
            let addend =
                if entry == 3 * word { image.pointer(at.wrapping_add(2 * word))? } else { image.pointer(place)? };
            let (symbol, kind) = if word == 4 { (info >> 8, info & 0xff) } else { (info >> 32, info & 0xffff_ffff) };
            let slot = if kind == u64::from(relative(image.machine)) {
                Some(Slot::Here(addend))
            } else {
                self.symbol(symbol, addend)
            };
            slots.0.extend(slot.map(|slot| (place, slot)));
        }
        Some(())
    }

    /// The target of a relocation that names a symbol: the symbol's address, plus an addend. The kind of the relocation does not matter, because
    /// those of slots all mean this sum.
    fn symbol(&self, number: u64, addend: u64) -> Option<Slot> {
        let (image, is_32) = (self.image, self.image.machine.pointer() == 4);
        let (bytes, value_at, section_at) = if is_32 { (16, 4, 14) } else { (24, 8, 6) };
        let at = self.word(elf::DT_SYMTAB)?.wrapping_add(number.checked_mul(bytes)?);
        if image.half(at.wrapping_add(section_at))? != elf::SHN_UNDEF {
            return Some(Slot::Here(image.pointer(at.wrapping_add(value_at))?.wrapping_add(addend)));
        }
        let name = self.word(elf::DT_STRTAB)?.wrapping_add(image.word(at)?.into());
        let letters = (0..1024).map_while(|at| image.array::<1>(name.wrapping_add(at)).filter(|&[byte]| byte != 0));
        let name: Vec<u8> = letters.flatten().collect();
        Some(Slot::Import(String::from_utf8_lossy(&name).into_owned()))
    }
}

/// The kind of a relocation that adds the object's address. DT_RELR has more relocations of this kind. They need not be read, because their addends
/// are already in the slots.
fn relative(machine: Machine) -> u32 {
    match machine {
        Machine::X86 => elf::R_386_RELATIVE,
        Machine::X86_64 => elf::R_X86_64_RELATIVE,
        Machine::Aarch64 => elf::R_AARCH64_RELATIVE,
        Machine::Arm => elf::R_ARM_RELATIVE,
        Machine::Riscv64 => elf::R_RISCV_RELATIVE,
        Machine::Powerpc64 => elf::R_PPC64_RELATIVE,
        Machine::S390x => elf::R_390_RELATIVE,
        Machine::Loongarch64 => elf::R_LARCH_RELATIVE,
    }
}
