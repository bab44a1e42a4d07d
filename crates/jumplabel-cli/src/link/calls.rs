//! Lists the calls of static calls in the table, so that `update` can lead each call straight to the new target. In the file itself, this pass leads
//! the calls straight to the default.
//!
//! ```text
//!   relocation     against a trampoline, by its symbol, or by its section and a distance
//!   instruction    e8   call trampoline       ff 15  call *slot     -> 67 e8       call trampoline
//!                  e9   jmp trampoline        ff 25  jmp *slot      -> 67 e9       jmp trampoline
//!                  0f 8x   jcc trampoline
//!   entry          of kind 4: the four bytes of the displacement
//!   displacement   to the default, if the library may change it; else to the jump of the trampoline
//! ```
//!
//! A call by a slot (of a function of another crate) has six bytes, but the new instruction has five, so the displacement has two possible places.
//! `67 e8 rel32` is what linkers write when they relax such calls. `e8 rel32 90` serves where the displacement would otherwise lie across two aligned
//! words of eight bytes. The call's relocation is replaced by that of the new instruction, so that the next run finds the new instruction.
//!
//! A relocation alone does not make a call: an instruction must end with the displacement, lead to the trampoline, and be one of those in the figure.
//! All other uses of a trampoline are counted and left alone, such as a load of its address for several calls by a register.

use std::collections::{HashMap, HashSet};

use jumplabel_format::layout::{CALL_SITE, INDIRECT, JUMP, KIND_SHIFT, OFFSET_SHIFT};
use jumplabel_format::{Kind, State};
use object::pod::bytes_of;
use object::{I64, LittleEndian as LE, U64, elf};
use serde::Serialize;

use super::changes::Changes;
use super::decode::Functions;
use super::elf::Relocation;
use super::program::{Entry, Program};
use crate::failure::Failure;
use crate::image::relocations::Slot;
use crate::table::{Place, Site};

/// The calls that this pass has found.
#[derive(Debug, Default, Serialize)]
pub struct Found {
    /// The calls by each instruction.
    pub forms: [Form; 5],
    /// The number of calls that the table did not have before.
    pub added: usize,
    /// Uses of trampolines that are not calls, by the reason.
    pub left: Left,
    /// Whether there are static calls, but the file has no relocations that show where they are called.
    pub unknown: bool,
}

/// The calls by one instruction.
#[derive(Debug, Default, Serialize)]
pub struct Form {
    pub instruction: &'static str,
    pub calls: usize,
    /// The number of calls that lead to the default in the file. The other calls lead to the trampoline.
    pub straight: usize,
}

/// Uses of trampolines that this pass leaves alone.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Left {
    /// Uses that take the trampoline's address, or load it for calls by a register.
    pub addresses: usize,
    /// Uses where no instruction ends, where the instruction leads elsewhere, or that lie in another site.
    pub others: usize,
}

/// The instructions that call, in the order of `Found::forms`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instruction {
    Call,
    Jump,
    Conditional,
    CallBySlot,
    JumpBySlot,
}

const NAMES: [&str; 5] = ["call", "jmp", "jcc", "call*slot", "jmp*slot"];
/// The landing pad: a function to which indirect branches may lead begins with it.
const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
/// The size of a displacement, in bytes.
const BYTES: u64 = 4;

/// A static call's trampoline in the file.
struct Trampoline {
    start: u64,
    /// The address after the landing pad. Only indirect branches need the pad: a call to this address has one instruction less on its way.
    jump: u64,
    default: u64,
    key: u64,
    meta: u32,
}

impl Trampoline {
    fn of(program: &Program, site: &Site) -> Option<Trampoline> {
        let address = site.address;
        let before = address.checked_sub(ENDBR64.len() as u64);
        let start = before.filter(|&before| program.image.slice(before, ENDBR64.len()) == Some(&ENDBR64));
        let meta = u32::from(CALL_SITE) << KIND_SHIFT;
        let (key, meta) = match (site.slot, &site.place) {
            (Some((slot, offset)), _) => (slot, meta | INDIRECT | (offset as u32) << OFFSET_SHIFT),
            (None, &Place::Here(key)) => (key, meta),
            (None, Place::Import(..)) => return None,
        };
        let is_jump = site.kind.number() == JUMP && site.state == Some(State::DIRECT);
        is_jump.then_some(Trampoline { start: start.unwrap_or(address), jump: address, default: site.home, key, meta })
    }
}

/// A use of a trampoline: a relocation that leads to it.
struct Use<'program> {
    /// The address of the displacement.
    place: u64,
    trampoline: &'program Trampoline,
    relocation: Relocation,
    /// The place of the relocation in the file.
    row: u64,
}

/// Finds all calls, and adds their changes to `changes`.
pub fn run(program: &Program, changes: &mut Changes) -> Result<Found, Failure> {
    let mut found = Found::default();
    for (form, name) in found.forms.iter_mut().zip(NAMES) {
        form.instruction = name;
    }
    let trampolines = program.table.sites.iter().filter_map(|site| Trampoline::of(program, site));
    let trampolines: HashMap<u64, Trampoline> = trampolines.map(|one| (one.start, one)).collect();
    let is_call = |site: &&Site| site.kind.number() == CALL_SITE;
    let listed: HashSet<u64> = program.table.sites.iter().filter(is_call).map(|site| site.address).collect();
    if !trampolines.is_empty() && listed.is_empty() && !program.elf.has_relocations() {
        if program.has_built_jumps() {
            // Without the calls, the sites that were built as jumps can still be turned.
            return Ok(Found { unknown: true, ..found });
        }
        let why = "no relocations say where its static calls are: link it with -Wl,--emit-relocs, or by jumplabel-cc";
        return Err(Failure::Refused(why.into()));
    }
    let uses = uses(program, &trampolines)?;
    let places: Vec<u64> = uses.iter().map(|one| one.place).collect();
    let functions = Functions::read(program)?;
    let sites = Sites::of(program);
    for (one, ends) in uses.iter().zip(functions.end_with(program, &places)) {
        let Some(instruction) = Instruction::at(program, one.place) else {
            found.left.addresses += 1;
            continue;
        };
        let leads_to = program.image.follow(one.place).map(|to| to.wrapping_add(BYTES));
        let is_listed = listed.contains(&one.place);
        if !ends
            || sites.overlap(one.place - instruction.opcode()..one.place + BYTES)
            || !one.is_call(program, instruction, leads_to, is_listed)
        {
            found.left.others += 1;
            continue;
        }
        let straight = one.change(program, instruction, is_listed, changes);
        let form = &mut found.forms[instruction as usize];
        form.calls += 1;
        form.straight += usize::from(straight);
        found.added += usize::from(!is_listed);
    }
    Ok(found)
}

/// The relocations against trampolines, in the order of their places, each once.
fn uses<'program>(
    program: &'program Program,
    trampolines: &'program HashMap<u64, Trampoline>,
) -> Result<Vec<Use<'program>>, Failure> {
    let mut uses = Vec::new();
    for section in program.elf.relocations(&program.bytes, elf::SHF_EXECINSTR)? {
        let symbols = program.elf.symbols(&program.bytes, section.symbols)?;
        for (relocation, number) in section.rows.iter().zip(0..) {
            // A displacement counts from its own end. The addend of its relocation is less by four for this reason.
            let symbol = symbols.get(relocation.r_sym(LE, false) as usize);
            let to = symbol.map(|symbol| symbol.st_value.get(LE).wrapping_add_signed(relocation.r_addend.get(LE)));
            let to = to.filter(|_| is_relative(relocation.r_type(LE, false)));
            if let Some(trampoline) = to.and_then(|to| trampolines.get(&to.wrapping_add(BYTES))) {
                let (place, row) =
                    (relocation.r_offset.get(LE), section.place + number * size_of::<Relocation>() as u64);
                uses.push(Use { place, trampoline, relocation: *relocation, row });
            }
        }
    }
    uses.sort_by_key(|one| one.place);
    uses.dedup_by_key(|one| one.place);
    Ok(uses)
}

/// Whether a relocation of this kind is that of a displacement, either to code or to a slot.
fn is_relative(kind: u32) -> bool {
    matches!(
        kind,
        elf::R_X86_64_PLT32
            | elf::R_X86_64_PC32
            | elf::R_X86_64_GOTPCREL
            | elf::R_X86_64_GOTPCRELX
            | elf::R_X86_64_REX_GOTPCRELX
    )
}

impl Instruction {
    /// The instruction that ends with the displacement at `place`. The two bytes before the displacement tell which instruction it is.
    fn at(program: &Program, place: u64) -> Option<Instruction> {
        Some(match program.image.array::<2>(place.checked_sub(2)?)? {
            [_, 0xe8] => Instruction::Call,
            [_, 0xe9] => Instruction::Jump,
            [0x0f, 0x80..=0x8f] => Instruction::Conditional,
            [0xff, 0x15] => Instruction::CallBySlot,
            [0xff, 0x25] => Instruction::JumpBySlot,
            _ => return None,
        })
    }

    /// The number of bytes before the displacement, without prefixes.
    fn opcode(self) -> u64 {
        if matches!(self, Instruction::Call | Instruction::Jump) { 1 } else { 2 }
    }

    fn is_by_slot(self) -> bool {
        matches!(self, Instruction::CallBySlot | Instruction::JumpBySlot)
    }
}

impl Use<'_> {
    /// Whether the instruction calls the trampoline. If the call is listed already, it may also lead to the default.
    fn is_call(&self, program: &Program, by: Instruction, leads_to: Option<u64>, is_listed: bool) -> bool {
        let Some(to) = leads_to else { return false };
        let start = self.trampoline.start;
        match by.is_by_slot() {
            true => !is_listed && program.image.slots().get(&program.image, to) == Some(Slot::Here(start)),
            false => to == start || is_listed && (to == self.trampoline.jump || to == self.trampoline.default),
        }
    }

    /// Leads the call straight, if that is possible, and adds an entry unless the call is listed. Returns whether the call is straight now.
    fn change(&self, program: &Program, by: Instruction, is_listed: bool, changes: &mut Changes) -> bool {
        let machine = program.image.machine;
        let may_change = |place: u64| Kind::of(CALL_SITE).is_some_and(|kind| machine.leads_anywhere(kind, place));
        let early = by.is_by_slot() && !may_change(self.place) && may_change(self.place - 1);
        let place = self.place - u64::from(early);
        let displacement = |to: u64| i32::try_from(to.wrapping_sub(place + BYTES).cast_signed()).ok();
        let straight = displacement(self.trampoline.default).filter(|_| may_change(place));
        let Some(distance) = straight.or_else(|| displacement(self.trampoline.jump)) else { return false };
        let distance = distance.to_le_bytes();
        if by.is_by_slot() {
            let opcode = if by == Instruction::CallBySlot { 0xe8 } else { 0xe9 };
            let [a, b, c, d] = distance;
            let whole = if early { [opcode, a, b, c, d, 0x90] } else { [0x67, opcode, a, b, c, d] };
            changes.write(self.place - 2, &whole);
            let mut relocation = self.relocation;
            relocation.r_offset = U64::new(LE, place);
            relocation.r_addend = I64::new(LE, -(BYTES as i64));
            relocation.set_r_info(LE, false, relocation.r_sym(LE, false), elf::R_X86_64_PLT32);
            changes.write_beside(self.row, bytes_of(&relocation));
        } else {
            changes.write(place, &distance);
        }
        if !is_listed {
            let Trampoline { jump, key, meta, .. } = *self.trampoline;
            changes.entries.push(Entry { code: place, target: jump, key, meta });
        }
        straight.is_some()
    }
}

/// The address ranges of all sites except listed calls. This pass must not change bytes in these ranges, although a relocation against a trampoline
/// may lie there: one trampoline may jump to another.
struct Sites(Vec<(u64, u64)>);

impl Sites {
    fn of(program: &Program) -> Sites {
        let others = program.table.sites.iter().filter(|site| site.kind.number() != CALL_SITE);
        let mut sites: Vec<_> = others.map(|site| (site.address, site.address + site.bytes.len() as u64)).collect();
        sites.sort_unstable();
        Sites(sites)
    }

    /// Whether one of the sites has a byte in this range.
    fn overlap(&self, bytes: std::ops::Range<u64>) -> bool {
        let behind = self.0.partition_point(|&(start, _)| start < bytes.end);
        self.0[..behind].iter().rev().take(4).any(|&(_, end)| end > bytes.start)
    }
}
