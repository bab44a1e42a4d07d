//! Reads the contents of a site: its state, where that state leads, and whether the state is right for the site's subject. The same code serves the
//! bytes of a file and the bytes in the memory of a process.
//!
//! ```text
//!   kind                             the state depends on        and leads to
//!   check, naked function, prefix    the bytes                   the entry's target
//!   check that can load              the bytes                   the stub, which is the entry's target, or straight to the arm
//!   trampoline                       the bytes                   where its jump goes, or where the slot leads
//!   call that a table lists          the bytes                   where the displacement goes
//!   switch, operation, alternative   the bytes of each arm       the arm whose bytes they are; if several are alike, the wanted one
//! ```

use jumplabel_format::front::is_in_front;
use jumplabel_format::layout::{BRANCH, CALL_SITE, JUMP, LOADING, NAKED, OP, PREFIX, SHORT, SWITCH};
use jumplabel_format::{Code, State};

use super::entry::{Arm, Place, Site};
use super::{Is, function_at};
use crate::image::Image;
use crate::machine::Machine;

/// The facts, besides the site's entry and its bytes, by which the site's contents are judged.
#[derive(Clone, Copy, Default)]
pub struct Now {
    /// The number of the mode. For alternatives, the number of the feature.
    pub mode: Option<u32>,
    /// The target in the slot of a static call.
    pub by_slot: Option<u64>,
    /// Whether the bytes are those of a process. A process may have been forked in the middle of a change, so a site there may be torn.
    pub is_live: bool,
}

impl Site {
    /// Looks at the bytes that the site has in a file. An error says what is wrong with the site's arms, or with the bytes in front of it.
    pub(super) fn look_at_file(&mut self, image: &Image) -> Result<(), String> {
        let mode = match &self.place {
            Place::Here(key) => image.array::<8>(*key).map(|[_, mode, ..]| u32::from(mode)),
            Place::Import(..) => None,
        };
        if !self.arms.is_empty() && !self.arms.iter().any(|arm| mode.is_none_or(|mode| mode == arm.mode)) {
            return Err(format!("has no arm for mode {}", mode.unwrap_or_default()));
        }
        let front = image.slice(self.start(), self.in_front).ok_or("has nothing in front of its site")?;
        let bytes = [front, &self.bytes].concat();
        self.look(image, &bytes, Now { mode, ..Now::default() });
        if self.is_hooked {
            let (address, built) =
                (self.address, if self.kind.number() == CALL_SITE { "an opcode" } else { "a prefix" });
            return Err(format!(
                "has its site at {address:#x}, and in front of it {:02x?} instead of {built}",
                &bytes[..1]
            ));
        }
        Ok(())
    }

    /// The address of the first byte of the site's instruction that the library looks at: the byte in front of the site, or else the site's first
    /// byte.
    pub fn start(&self) -> u64 {
        self.address.wrapping_sub(self.in_front as u64)
    }

    /// Looks at bytes, and sets the site's state. The bytes go from [`start`](Self::start) to the last one that changes.
    pub fn look(&mut self, image: &Image, bytes: &[u8], now: Now) {
        let (front, bytes) = bytes.split_at(self.in_front);
        self.look_at_site(image, bytes, now);
        self.is_hooked = self.is_foreign(front);
        self.state = self.state.filter(|_| !self.is_hooked);
    }

    /// Whether a byte in front of the site is foreign: neither the instruction's own nor a breakpoint.
    pub fn is_foreign(&self, front: &[u8]) -> bool {
        front.iter().any(|&byte| !is_in_front(self.kind.number(), byte))
    }

    fn look_at_site(&mut self, image: &Image, bytes: &[u8], now: Now) {
        (self.bytes, self.instruction) = (Code::new(self.kind.number(), bytes), bytes.to_vec());
        (self.wanted, self.by_slot, self.holds) = (now.mode, now.by_slot, None);
        self.target = self.home;
        match self.kind.number() {
            SWITCH | OP => return self.look_at_arms(image, bytes),
            // In a file, a trampoline leads to the default, maybe through a stub.
            JUMP if !now.is_live => {}
            CALL_SITE | JUMP => self.target = self.leads_straight(image).unwrap_or(self.home),
            _ => {}
        }
        let is_torn = |state: &State| matches!(*state, State::TORN | State::SHORT_TORN | State::LOADING_TORN);
        let (state, target) = self.decode(image.machine, self.bytes, self.address, self.target, self.straight);
        self.target = target;
        self.state = state.filter(|state| now.is_live || !is_torn(state));
        if let (Some(State::INDIRECT), Some(there)) = (self.state, now.by_slot) {
            self.target = there;
        }
    }

    /// The state of a site that holds `code`, and the address that the site jumps to in this state. That address is `target`, except for a site that
    /// can load its key: while such a site does not load, it jumps to its arm at `straight`.
    pub fn decode(
        &self,
        machine: Machine,
        code: Code,
        address: u64,
        target: u64,
        straight: Option<u64>,
    ) -> (Option<State>, u64) {
        let Some(arm) = straight else { return (machine.decode(self.kind, code, address, target), target) };
        let state = machine.decode_loading(code, address, target, arm);
        (state, if state == Some(State::LOADS) { target } else { arm })
    }

    /// The address to which the displacement in the site leads. `None` if the site is neither a listed call nor, on x86, a jump of five bytes.
    fn leads_straight(&self, image: &Image) -> Option<u64> {
        let is_call = self.kind.number() == CALL_SITE;
        let is_jump = matches!(image.machine, Machine::X86 | Machine::X86_64) && self.bytes.first() == Some(&0xe9);
        let displacement = self.bytes.last_chunk().filter(|_| is_call || is_jump)?;
        let end = self.address.wrapping_add(self.bytes.len() as u64);
        Some(image.address(end.wrapping_add_signed(i32::from_le_bytes(*displacement).into())))
    }

    fn look_at_arms(&mut self, image: &Image, bytes: &[u8]) {
        let is_wanted = |arm: &&Arm| self.wanted.is_none_or(|mode| mode == arm.mode);
        let wanted = self.arms.iter().find(is_wanted).copied();
        let mut all = wanted.iter().chain(&self.arms).copied();
        let found = all.find_map(|arm| Some((arm, self.by_arm(image, arm)?)));
        // On instruction sets other than x86, the linker may have put a veneer in between.
        let has_veneers = !matches!(image.machine, Machine::X86 | Machine::X86_64);
        let by_veneer = || {
            let arm = wanted.filter(|arm| has_veneers && arm.bytes == 0)?;
            Some((arm, image.machine.decode(self.kind, self.bytes, self.address, arm.code)?))
        };
        let found = found.or_else(by_veneer);
        let arm = found.map(|(arm, _)| arm).or(wanted);
        (self.holds, self.state) = (found.map(|(arm, _)| arm.mode), found.map(|(_, state)| state));
        let Some(arm) = arm else { return };
        self.target = arm.code;
        if !self.is_alternative {
            self.instruction = self.whole(image, bytes, arm.bytes);
        }
    }

    /// An instruction of `length` bytes: `bytes`, which are those that change, and the rest from the file.
    pub fn whole(&self, image: &Image, bytes: &[u8], length: usize) -> Vec<u8> {
        let rest = length.saturating_sub(bytes.len());
        let rest = image.slice(self.address.wrapping_add(bytes.len() as u64), rest);
        [bytes, rest.unwrap_or_default()].concat()
    }

    /// The state of a site that does what an arm says. `None` if the site does something else.
    fn by_arm(&self, image: &Image, arm: Arm) -> Option<State> {
        if arm.bytes > 0 && !(self.is_far && arm.mode != 0) {
            return (self.in_place(image, arm)? == self.bytes).then_some(State::IN_PLACE);
        }
        image.machine.decode_exactly(self.kind, self.bytes, self.address, arm.code)
    }

    /// The bytes of the site while it holds the instructions of an arm. `None` if the arm has no instructions for that, or they cannot be moved.
    pub fn in_place(&self, image: &Image, arm: Arm) -> Option<Code> {
        let native = image.slice(arm.code, arm.bytes).filter(|native| !native.is_empty())?;
        let (machine, to) = (image.machine, self.address);
        match self.is_alternative {
            true => machine.alternative(native, arm.code, to, self.bytes.len()),
            false => Some(machine.moved(native, arm.code, to)),
        }
    }

    /// Whether the site does what it must if its subject is `is`. `None` if that cannot be known.
    pub fn agrees(&self, image: &Image, is: Is) -> Option<bool> {
        let Some(state) = self.state else { return Some(false) };
        let does = image.machine.action(state) != 0;
        let leads = |to: u64| to == self.target || to == function_at(image, self.target);
        match (is, self.kind.number()) {
            (Is::Key(on) | Is::Tracepoint(on), NAKED | PREFIX) => Some(does == on?),
            // The stub itself looks at the mode.
            (Is::Mode { .. }, SWITCH) if state == State::TO_STUB => Some(true),
            (Is::Mode { .. }, SWITCH | OP) | (Is::Key(_), OP) => self.wanted.map(|mode| self.holds == Some(mode)),
            // A jump to the stub that loads the key is right whatever the key is.
            (Is::Key(_) | Is::Tracepoint(_), _) if state == State::LOADS => Some(true),
            // The site is still a jump. The constructor of the object turns it into a nop.
            (Is::Key(on) | Is::Tracepoint(on), BRANCH | SHORT) if self.is_unlinked => Some(does && on? == self.arm),
            (Is::Key(on) | Is::Tracepoint(on), BRANCH | SHORT | LOADING) => Some(does == (on? != self.arm)),
            (Is::Call(target), JUMP) => {
                let is_lost = state == State::INDIRECT && self.by_slot.is_none_or(|there| there == 0);
                Some(!is_lost && target.is_none_or(leads))
            }
            // The call may lead to the trampoline, or to the trampoline's target.
            (Is::Call(target), CALL_SITE) => Some(leads(self.home) || target.is_none_or(leads)),
            _ => Some(false),
        }
    }

    /// The default that the compiler assumed for the site's key, derived from what the site does.
    pub(super) fn emitted_default(&self, image: &Image) -> Option<bool> {
        let does = image.machine.action(self.state?) != 0;
        match self.kind.number() {
            NAKED | PREFIX => Some(does),
            OP => Some(false),
            LOADING => None,
            _ if self.is_unlinked => Some(self.arm),
            _ => Some(does != self.arm),
        }
    }
}
