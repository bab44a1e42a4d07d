//! One entry of a table: one site.

use std::ops::Range;

use jumplabel::arch::{Code, Kind, State, Target};
use jumplabel::format::{
    ARM, BRANCH, CALL_SITE, INDIRECT, JUMP, KEY_BYTES, KIND_MASK, KIND_SHIFT, LOADS, NAKED, OFFSET_SHIFT, OP, PREFIX,
    SHORT, SWITCH, UNLINKED,
};

use super::Is;
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
    /// Its jump leads to a stub that loads the key.
    pub loads: bool,
    /// Where the entry is.
    pub entry: u64,
    /// It falls through at the start, and was built as a jump, which `link` has not turned yet.
    pub is_unlinked: bool,
    /// Where it jumps to; of a switch, to the arm of the mode at the start; where a call leads.
    pub target: u64,
    /// Where the entry says that it leads.
    home: u64,
    /// Of a switch: modes and their code.
    pub arms: Vec<(u32, u64)>,
    pub bytes: Code,
    /// All of its instruction: that of an operation in place may be longer than what changes.
    pub instruction: Vec<u8>,
    /// Whether it is an alternative, whose site is like an operation's.
    pub is_alternative: bool,
    /// What these bytes are; `None` if they are foreign.
    pub state: Option<State>,
}

/// What every object begins with.
const HEADERS: u64 = 256;
/// The mode of an arm that is none: it is the operation's name.
const NAME: u32 = 0xff;
/// Below it, nobody maps anything.
const NULL: u64 = 0x8000;

impl Site {
    /// By the entry at an address. `None` if it is nobody's: its key is NULL. An error says what is wrong with it.
    pub(super) fn read(image: &Image, entry: u64, table: &Range<u64>) -> Result<Option<Site>, String> {
        let lost = || "cannot be read".to_owned();
        let follow = |number: u64| image.follow(entry + number * 4).ok_or_else(lost);
        let (address, target, key, meta) =
            (follow(0)?, follow(1)?, follow(2)?, image.word(entry + 12).ok_or_else(lost)?);
        let is_slot = meta & INDIRECT != 0;
        // Of a file that the loader may put anywhere, address 0 is where the object begins.
        let is_nobodys = match is_slot {
            true => image.slots().is_null(image, key),
            false => key < if image.is_movable { HEADERS } else { NULL },
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
        let mut site = Site {
            address,
            kind,
            place,
            slot: is_slot.then_some((key, offset)),
            arm: meta & ARM != 0,
            loads: meta & LOADS != 0,
            entry,
            is_unlinked: meta & UNLINKED != 0 && matches!(number, BRANCH | SHORT),
            target,
            home: target,
            arms: Vec::new(),
            bytes: Code::new(number, bytes),
            instruction: bytes.to_vec(),
            is_alternative: changes != 0,
            state: None,
        };
        let native = match image.machine.target(kind) {
            Target::Arms => site.read_arms(image)?,
            Target::Code(bytes) if image.contains_code(target, bytes as u64) => None,
            Target::Code(_) => return Err(format!("leads to where no code is: {target:#x}")),
        };
        if let (CALL_SITE, Ok(distance)) = (number, site.bytes[..].try_into()) {
            let end = address.wrapping_add(size as u64);
            site.target = end.wrapping_add_signed(i32::from_le_bytes(distance).into());
        }
        site.state = image.machine.decode(kind, site.bytes, address, site.target);
        if let Some(old) = native.filter(|_| site.is_alternative) {
            let held = image.machine.alternative(old, site.target, address, size) == Some(site.bytes);
            site.state = held.then_some(State::IN_PLACE);
        } else if let Some(native) = native {
            let held = image.machine.moved(native, site.target, address) == site.bytes;
            site.state = held.then_some(State::IN_PLACE);
            site.instruction = image.slice(address, native.len()).unwrap_or_default().to_vec();
        }
        Ok(Some(site))
    }

    /// Returns the instruction of the arm for the mode, of an operation that is in place then.
    fn read_arms<'image>(&mut self, image: &'image Image) -> Result<Option<&'image [u8]>, String> {
        let at = self.target;
        let wrong = || format!("leads to no arms: {at:#x}");
        let count = image.word(at).filter(|count| (2..=255).contains(count)).ok_or_else(wrong)?;
        let mut lengths = Vec::new();
        for arm in (0..u64::from(count)).map(|number| at.wrapping_add(4 + number * 8)) {
            let (word, code) =
                (image.word(arm).ok_or_else(wrong)?, image.follow(arm.wrapping_add(4)).ok_or_else(wrong)?);
            let (mode, length) = (word & 0xff, word >> 8);
            if !image.contains_code(code, u64::from(length.max(1))) || length > 255 {
                return Err(wrong());
            }
            if mode != NAME {
                self.arms.push((mode, code));
                lengths.push(length as usize);
            }
        }
        let mode = match self.place {
            Place::Here(key) => image.array::<8>(key).map(|[_, mode, ..]| u32::from(mode)),
            Place::Import(..) => None,
        };
        let arm = self.arms.iter().position(|&(number, _)| mode.is_none_or(|mode| mode == number));
        let arm = arm.ok_or_else(|| format!("has no arm for mode {}", mode.unwrap_or_default()))?;
        self.target = self.arms[arm].1;
        Ok(image.slice(self.target, lengths[arm]).filter(|native| !native.is_empty()))
    }

    /// Whether it does what it must if its subject is like that; `None` if that cannot be known.
    pub(super) fn agrees(&self, image: &Image, is: Is) -> Option<bool> {
        let Some(state) = self.state else { return Some(false) };
        let does = image.machine.does(state) != 0;
        match (is, self.kind.number()) {
            (Is::Key(on) | Is::Tracepoint(on), NAKED | PREFIX) => Some(does == on?),
            (Is::Key(_) | Is::Mode { .. }, OP) => Some(true),
            // A jump to a stub is right whatever the key is.
            (Is::Key(_) | Is::Tracepoint(_), _) if self.loads && does => Some(true),
            // Its constructor turns it.
            (Is::Key(on) | Is::Tracepoint(on), BRANCH | SHORT) if self.is_unlinked => Some(does && on? == self.arm),
            (Is::Key(on) | Is::Tracepoint(on), BRANCH | SHORT) => Some(does == (on? != self.arm)),
            (Is::Call(_), JUMP) => Some(state == State::DIRECT),
            // To the trampoline, or where that leads.
            (Is::Call(target), CALL_SITE) => {
                let leads = |to: u64| to == self.target || to == self.leads_to(image);
                Some(state == State::CALLS && (leads(self.home) || target.is_none_or(leads)))
            }
            (Is::Mode { .. }, SWITCH) => Some(state == State::TO_ARM),
            _ => Some(false),
        }
    }

    /// What the compiler took for the default of the key, by what the site does.
    pub(super) fn emitted_default(&self, image: &Image) -> Option<bool> {
        let does = image.machine.does(self.state?) != 0;
        match self.kind.number() {
            NAKED | PREFIX => Some(does),
            OP => Some(false),
            _ if self.loads => None,
            _ if self.is_unlinked => Some(self.arm),
            _ => Some(does != self.arm),
        }
    }

    /// The function that a static call leads to, where the site leads to a stub that goes there.
    pub(super) fn leads_to(&self, image: &Image) -> u64 {
        let behind = match image.machine {
            Machine::Riscv64 => self.behind_tail(image),
            Machine::X86_64 => self.behind_plt(image),
            _ => None,
        };
        behind.unwrap_or(self.target)
    }

    /// riscv64: `auipc t1, high; jr low(t1)`.
    fn behind_tail(&self, image: &Image) -> Option<u64> {
        let (first, second) = (read_code(image, self.target)?, read_code(image, self.target.wrapping_add(4))?);
        (first & 0xfff == 0x317 && second & 0xf_ffff == 0x3_0067).then(|| {
            let high = i64::from((first & 0xffff_f000).cast_signed());
            self.target.wrapping_add_signed(high + i64::from(second.cast_signed() >> 20))
        })
    }

    /// x86-64: `endbr64; bnd jmp [slot]`, of a function that another object may replace. The first two may be missing.
    fn behind_plt(&self, image: &Image) -> Option<u64> {
        let mut at = self.target;
        for prefix in [&[0xf3, 0x0f, 0x1e, 0xfa][..], &[0xf2]] {
            at += if image.slice(at, prefix.len())? == prefix { prefix.len() as u64 } else { 0 };
        }
        if image.slice(at, 2)? != [0xff, 0x25] {
            return None;
        }
        let distance = read_code(image, at + 2)?.cast_signed();
        match image.slots().get(image, (at + 6).wrapping_add_signed(distance.into()))? {
            Slot::Here(address) => Some(address),
            Slot::Import(_) => None,
        }
    }
}

/// Instructions are little endian.
fn read_code(image: &Image, address: u64) -> Option<u32> {
    image.array(address).map(u32::from_le_bytes)
}
