//! One entry of a table, which describes one site.

use std::ops::Range;

use jumplabel_format::front::bytes_in_front;
use jumplabel_format::layout::{
    ARM, BRANCH, INDIRECT, KEY_BYTES, KIND_MASK, KIND_SHIFT, OFFSET_SHIFT, OP, SHORT, UNLINKED,
};
use jumplabel_format::{Code, Kind, State, Target};

use crate::image::Image;
use crate::image::relocations::Slot;
use crate::machine::Machine;

/// The place of a key, a call or a mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Here(u64),
    /// A symbol that the loader finds, maybe in another object, and an offset from it in bytes.
    Import(String, u64),
}

impl Place {
    /// The place that a word of an entry or a record names. The word leads to the address `word`. If `is_slot` is false, that is the place itself.
    /// Otherwise a slot is there, and the place is `offset` bytes after the address in the slot. `None` if the slot cannot be read.
    pub(super) fn of(image: &Image, word: u64, is_slot: bool, offset: u64) -> Option<Place> {
        if !is_slot {
            return Some(Place::Here(word));
        }
        Some(match image.slots().get(image, word)? {
            Slot::Here(address) => Place::Here(address),
            Slot::Import(name) => Place::Import(name, 0),
        })
        .map(|place| place.plus(offset))
    }

    /// The place that is `more` bytes further on.
    pub(super) fn plus(self, more: u64) -> Place {
        match self {
            Place::Here(address) => Place::Here(address.wrapping_add(more)),
            Place::Import(name, offset) => Place::Import(name, offset.wrapping_add(more)),
        }
    }
}

/// A site, with what its entry says, and what it holds.
pub struct Site {
    pub address: u64,
    pub kind: Kind,
    /// The place of the site's key, call or mode.
    pub place: Place,
    /// If `place` comes from a slot: the slot's address, and the distance of `place` from the address that the loader puts into the slot.
    pub slot: Option<(u64, u64)>,
    /// The value of the check if execution falls through.
    pub arm: bool,
    /// For a site that can load its key: the arm, to which the site jumps when it does not load. The `home` of such a site is the stub that loads.
    pub straight: Option<u64>,
    /// The address of the entry.
    pub entry: u64,
    /// True if the site should fall through at the start, but was built as a jump, and `jumplabel link` has not put a nop there yet.
    pub is_unlinked: bool,
    /// The address to which the site leads: for a switch or an operation, the code of an arm; for a call, the function; otherwise the target of the
    /// jump.
    pub target: u64,
    /// The target in the site's entry.
    pub home: u64,
    /// For a switch, an operation or an alternative: the arms, one for each mode.
    pub arms: Vec<Arm>,
    pub bytes: Code,
    /// The number of bytes in front of the site that belong to its instruction and never change: 1 for a prefix or the opcode of a call, otherwise 0.
    pub in_front: usize,
    /// Whether the function is hooked, so that no thread runs the site: the last byte of the hook's jump has overwritten the byte in front, or, in a
    /// process, the code before the site is not the file's.
    pub is_hooked: bool,
    /// The whole instruction. For an operation in place, it may be longer than the bytes that change.
    pub instruction: Vec<u8>,
    /// Whether the site is an alternative, which has the same kind as an operation.
    pub is_alternative: bool,
    /// For an alternative: true if the site can hold only the instructions of mode 0, and jumps to those of the other modes.
    pub is_far: bool,
    /// The state that the bytes show. `None` if they are foreign.
    pub state: Option<State>,
    /// The mode of the arm that the site should lead to or hold, if that is known. For an alternative, the number of a feature.
    pub wanted: Option<u32>,
    /// The mode, or the feature, of the arm that the site does lead to, or hold.
    pub holds: Option<u32>,
    /// For a trampoline: the address in its slot, if that is known.
    pub by_slot: Option<u64>,
}

/// An arm: one of the actions of a switch or an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    pub mode: u32,
    pub code: u64,
    /// The size of the instructions that a site can hold in place, in bytes. 0 if the site jumps to `code` instead.
    pub bytes: usize,
}

/// The end of the sentence about a site in code that was copied. It names the cure.
pub const COPIED: &str =
    "in code that a tool such as BOLT has copied: the copy runs, and has no site; use the file from before that tool";

/// Every object begins with headers of at least this size.
const HEADERS: u64 = 256;
/// The mode in an arm that is no action, but only gives the operation's name.
const NAME: u32 = 0xff;
/// No address below this one is ever mapped.
const NULL: u64 = 0x8000;

impl Site {
    /// Reads the entry at an address, but does not look at the site's bytes. `None` if the entry is unused: its key is NULL, or the linker dropped
    /// the site. An error says what is wrong with the entry.
    pub(super) fn read(image: &Image, entry: u64, table: &Range<u64>) -> Result<Option<Site>, String> {
        let lost = || "cannot be read".to_owned();
        let follow = |number: u64| image.follow(entry + number * 4).ok_or_else(lost);
        let (address, target, key, meta) =
            (follow(0)?, follow(1)?, follow(2)?, image.word(entry + 12).ok_or_else(lost)?);
        if image.is_dropped(entry) {
            return Ok(None);
        }
        let is_slot = meta & INDIRECT != 0;
        // If the loader may put the file anywhere, address 0 is the object's beginning.
        let is_nobodys = match is_slot {
            true => image.slots().is_null(image, key),
            false => key.wrapping_sub(image.base) < if image.is_movable { HEADERS } else { NULL },
        };
        if is_nobodys {
            return Ok(None);
        }
        let number = (meta >> KIND_SHIFT & KIND_MASK) as u8;
        let kind = Kind::of(number).ok_or_else(|| format!("has the unknown kind {number}"))?;
        let offset = if is_slot { u64::from(meta >> OFFSET_SHIFT) } else { 0 };
        if is_slot && !image.contains(key, image.machine.pointer() as u64) {
            return Err(format!("has its key in a slot at {key:#x}, where nothing is"));
        }
        let place = Place::of(image, key, is_slot, offset).ok_or_else(lost)?;
        let is_key = |key: u64| key.is_multiple_of(KEY_BYTES as u64) && image.contains(key, KEY_BYTES as u64);
        if let Place::Here(key) = place
            && (!is_key(key) || table.contains(&key))
        {
            return Err(format!("leads to no key: {key:#x}"));
        }
        // The entry of an alternative says how many bytes change.
        let changes = if number == OP && !is_slot { (meta >> OFFSET_SHIFT & 7) as usize } else { 0 };
        let size = if changes != 0 { changes } else { image.machine.bytes(kind) };
        let bytes = image.slice(address, size).filter(|_| image.contains_code(address, size as u64));
        let bytes = bytes.ok_or_else(|| format!("has its site where no code is: {address:#x}"))?;
        if image.is_copied(address) {
            return Err(format!("has its site at {address:#x}, {COPIED}"));
        }
        let is_x86 = matches!(image.machine, Machine::X86 | Machine::X86_64);
        let mut site = Site {
            address,
            kind,
            place,
            slot: is_slot.then_some((key, offset)),
            arm: meta & ARM != 0,
            straight: None,
            entry,
            is_unlinked: meta & UNLINKED != 0 && matches!(number, BRANCH | SHORT),
            target,
            home: target,
            arms: Vec::new(),
            bytes: Code::new(number, bytes),
            in_front: if is_x86 { bytes_in_front(meta) } else { 0 },
            is_hooked: false,
            instruction: Vec::new(),
            is_alternative: changes != 0,
            is_far: changes != 0 && meta >> OFFSET_SHIFT & 8 != 0,
            state: None,
            wanted: None,
            holds: None,
            by_slot: None,
        };
        match image.machine.target(kind) {
            Target::Arms => site.read_arms(image)?,
            Target::Code(bytes) if image.contains_code(target, bytes as u64) => {}
            Target::Stub if image.contains_code(target.wrapping_sub(4), 5) => {
                let arm = image.follow(target.wrapping_sub(4)).filter(|&arm| image.contains_code(arm, 1));
                site.straight = Some(arm.ok_or_else(|| format!("has a stub that leads to no code: {target:#x}"))?);
            }
            Target::Code(_) | Target::Stub => return Err(format!("leads to where no code is: {target:#x}")),
        }
        Ok(Some(site))
    }

    fn read_arms(&mut self, image: &Image) -> Result<(), String> {
        let at = self.target;
        let wrong = || format!("leads to no arms: {at:#x}");
        let count = image.word(at).filter(|count| (2..=255).contains(count)).ok_or_else(wrong)?;
        for arm in (0..u64::from(count)).map(|number| at.wrapping_add(4 + number * 8)) {
            let (word, code) =
                (image.word(arm).ok_or_else(wrong)?, image.follow(arm.wrapping_add(4)).ok_or_else(wrong)?);
            let (mode, length) = (word & 0xff, word >> 8);
            if !image.contains_code(code, u64::from(length.max(1))) || length > 255 {
                return Err(wrong());
            }
            if mode != NAME {
                self.arms.push(Arm { mode, code, bytes: length as usize });
            }
        }
        Ok(())
    }
}
