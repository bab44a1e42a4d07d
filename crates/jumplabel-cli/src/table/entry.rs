//! One entry of a table: one site.

use std::ops::Range;

use jumplabel_format::front::bytes_in_front;
use jumplabel_format::layout::{
    ARM, BRANCH, INDIRECT, KEY_BYTES, KIND_MASK, KIND_SHIFT, OFFSET_SHIFT, OP, SHORT, UNLINKED,
};
use jumplabel_format::{Code, Kind, State, Target};

use crate::image::Image;
use crate::image::relocations::Slot;
use crate::machine::Machine;

/// Where a key, a call or a mode is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Here(u64),
    /// So many bytes behind a symbol that the loader finds, maybe in another object.
    Import(String, u64),
}

impl Place {
    /// What the word of an entry or a record leads to. `None` if it is a slot that cannot be read.
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

    /// So many bytes behind it.
    pub(super) fn plus(self, more: u64) -> Place {
        match self {
            Place::Here(address) => Place::Here(address.wrapping_add(more)),
            Place::Import(name, offset) => Place::Import(name, offset.wrapping_add(more)),
        }
    }
}

/// A site.
pub struct Site {
    pub address: u64,
    pub kind: Kind,
    /// Of which key, call or mode.
    pub place: Place,
    /// If that is found by a slot: where the slot is, and how many bytes it lies behind what the loader puts there.
    pub slot: Option<(u64, u64)>,
    /// What the check yields if execution falls through.
    pub arm: bool,
    /// If it can load its key: where it jumps to when it does not load. `home` is then the stub that loads.
    pub straight: Option<u64>,
    /// Where the entry is.
    pub entry: u64,
    /// It falls through at the start, and was built as a jump, which `link` has not turned yet.
    pub is_unlinked: bool,
    /// Where it jumps to; of a switch, to the arm of the mode at the start; where a call leads.
    pub target: u64,
    /// Where the entry says that it leads.
    pub home: u64,
    /// Of a switch: modes and their code.
    pub arms: Vec<Arm>,
    pub bytes: Code,
    /// How many bytes in front of it belong to its instruction, and never change: a prefix, or the opcode of a call. 0 or 1.
    pub in_front: usize,
    /// Whether somebody else has written there: a jump that hooks the function ends there, and nobody runs the site.
    pub is_hooked: bool,
    /// All of its instruction: that of an operation in place may be longer than what changes.
    pub instruction: Vec<u8>,
    /// Whether it is an alternative, whose site is like an operation's.
    pub is_alternative: bool,
    /// Whether it jumps to what it does not hold in a file.
    pub is_far: bool,
    /// What these bytes are; `None` if they are foreign.
    pub state: Option<State>,
    /// The mode of the arm that it is to lead to, or to hold, if that is known; of an alternative, the number of a feature.
    pub wanted: Option<u32>,
    /// The same of the arm that it leads to, or holds.
    pub holds: Option<u32>,
    /// Of a trampoline: where the slot leads, if that is known.
    pub by_slot: Option<u64>,
}

/// What a switch or an operation may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    pub mode: u32,
    pub code: u64,
    /// Bytes of the instructions that a site may hold; 0 if it leads to a stub.
    pub bytes: usize,
}

/// What every object begins with.
const HEADERS: u64 = 256;
/// The mode of an arm that is none: it is the operation's name.
const NAME: u32 = 0xff;
/// Below it, nobody maps anything.
const NULL: u64 = 0x8000;

impl Site {
    /// By the entry at an address, before anything has looked at its bytes. `None` if it is nobody's: its key is NULL, or the linker dropped
    /// the site. An error says what is wrong with it.
    pub(super) fn read(image: &Image, entry: u64, table: &Range<u64>) -> Result<Option<Site>, String> {
        let lost = || "cannot be read".to_owned();
        let follow = |number: u64| image.follow(entry + number * 4).ok_or_else(lost);
        let (address, target, key, meta) =
            (follow(0)?, follow(1)?, follow(2)?, image.word(entry + 12).ok_or_else(lost)?);
        if image.is_dropped(entry) {
            return Ok(None);
        }
        let is_slot = meta & INDIRECT != 0;
        // Of a file that the loader may put anywhere, address 0 is where the object begins.
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
        // An alternative says how many bytes change.
        let changes = if number == OP && !is_slot { (meta >> OFFSET_SHIFT & 7) as usize } else { 0 };
        let size = if changes != 0 { changes } else { image.machine.bytes(kind) };
        let bytes = image.slice(address, size).filter(|_| image.contains_code(address, size as u64));
        let bytes = bytes.ok_or_else(|| format!("has its site where no code is: {address:#x}"))?;
        if image.is_copied(address) {
            let why = "in code that a tool such as BOLT has copied: the copy runs, and has no site; use the file from before that tool";
            return Err(format!("has its site at {address:#x}, {why}"));
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
