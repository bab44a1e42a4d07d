//! The instruction sets: the bytes that their sites hold, from the library's encoders, and the same as assembler text.
//!
//! Only x86 needs a disassembler: there, `sites` and `disasm` also show foreign bytes as instructions. For the other instruction sets, this file has
//! the text of the two to four instructions that a site can hold. A disassembler for many instruction sets takes a minute to build (capstone), or
//! knows only a few of these eight.

use jumplabel_format::arch::{
    aarch64::Aarch64, arm::Arm, loongarch64::Loongarch64, powerpc64::Powerpc64, riscv64::Riscv64, s390x::S390x,
    x86::X86,
};
use jumplabel_format::{
    Alternative as _, Arch as _, Code, CodeChange, Kind, Leads, Op, Sites, State, StepBytes, Target,
};
use object::{elf, pe};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    X86,
    X86_64,
    Aarch64,
    Arm,
    Riscv64,
    Powerpc64,
    S390x,
    Loongarch64,
}

/// Evaluates `$body` with `$A` as the instruction set's encoder.
macro_rules! with_encoder {
    ($machine:expr, $A:ident => $body:expr) => {
        with_encoder! {
            $machine, $A => $body;
            X86: X86<32>, X86_64: X86<64>, Aarch64: Aarch64, Arm: Arm, Riscv64: Riscv64, Powerpc64: Powerpc64, S390x: S390x,
            Loongarch64: Loongarch64
        }
    };
    ($machine:expr, $A:ident => $body:expr; $($name:ident: $encoder:ty),*) => {
        match $machine {
            $(Machine::$name => {
                type $A = $encoder;
                $body
            })*
        }
    };
}

impl Machine {
    /// The instruction set that an ELF header names: its machine, whether addresses have 64 bits, whether it is big endian.
    pub fn of(machine: u16, is_64: bool, is_big: bool) -> Option<Machine> {
        Some(match (machine, is_64, is_big) {
            (elf::EM_386, false, false) => Machine::X86,
            (elf::EM_X86_64, true, false) => Machine::X86_64,
            (elf::EM_AARCH64, true, false) => Machine::Aarch64,
            (elf::EM_ARM, false, false) => Machine::Arm,
            (elf::EM_RISCV, true, false) => Machine::Riscv64,
            (elf::EM_PPC64, true, false) => Machine::Powerpc64,
            (elf::EM_S390, true, true) => Machine::S390x,
            (elf::EM_LOONGARCH, true, false) => Machine::Loongarch64,
            _ => return None,
        })
    }

    /// The instruction set that the header of a PE file names. Windows has sites only on x86-64.
    pub fn of_pe(machine: u16, is_64: bool) -> Option<Machine> {
        (machine == pe::IMAGE_FILE_MACHINE_AMD64 && is_64).then_some(Machine::X86_64)
    }

    /// The name that rustc and the documents use.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86 => "i686",
            Machine::X86_64 => "x86_64",
            Machine::Aarch64 => "aarch64",
            Machine::Arm => "arm",
            Machine::Riscv64 => "riscv64",
            Machine::Powerpc64 => "powerpc64",
            Machine::S390x => "s390x",
            Machine::Loongarch64 => "loongarch64",
        }
    }

    /// The size of a pointer, in bytes.
    pub fn pointer(self) -> usize {
        if matches!(self, Machine::X86 | Machine::Arm) { 4 } else { 8 }
    }

    /// The size of a site of this kind, in bytes.
    pub fn bytes(self, kind: Kind) -> usize {
        with_encoder!(self, A => kind.bytes::<A>())
    }

    /// The meaning of the target in an entry of this kind.
    pub fn target(self, kind: Kind) -> Target {
        with_encoder!(self, A => kind.target::<A>())
    }

    /// The state of a site at `address` that holds `code` and whose entry names `target`. `None` if the bytes are foreign. If the kind lets sites
    /// lead anywhere, a jump to any address counts as a jump to `target`: the linker may have put a veneer in between.
    pub fn decode(self, kind: Kind, code: Code, address: u64, target: u64) -> Option<State> {
        with_encoder!(self, A => {
            kind.decode::<A>(code, displacement::<A>(kind, address, target)).or_else(|| kind.leads_somewhere::<A>(code))
        })
    }

    /// Like [`decode`](Self::decode), but a jump counts only if it leads to `target` itself.
    pub fn decode_exactly(self, kind: Kind, code: Code, address: u64, target: u64) -> Option<State> {
        with_encoder!(self, A => kind.decode::<A>(code, displacement::<A>(kind, address, target)))
    }

    /// The state of a site of a key declared `or_load`. A jump of such a site leads to `stub`, which loads the key, or to `arm`.
    pub fn decode_loading(self, code: Code, address: u64, stub: u64, arm: u64) -> Option<State> {
        with_encoder!(self, A => {
            let to = |target| A::displacement(address, target);
            State::of_loading::<A>(code, to(stub), to(arm))
        })
    }

    /// Whether a site at `address` may lead to anything in reach, rather than only to its entry's target.
    pub fn leads_anywhere(self, kind: Kind, address: u64) -> bool {
        with_encoder!(self, A => kind.leads::<A>(address as usize) != Leads::ToTarget)
    }

    /// The bytes of a site at `address` in `state`. `None` if they depend on `target`, and `target` is out of reach.
    pub fn encode(self, state: State, address: u64, target: u64) -> Option<Vec<u8>> {
        with_encoder!(self, A => {
            let fixed = state.encode::<A>(0) == state.encode::<A>(16);
            let displacement = displacement::<A>(state.kind(), address, target).or(fixed.then_some(0))?;
            Some(state.encode::<A>(displacement).to_vec())
        })
    }

    /// The bytes that make a site at `to` do what the instruction `native` at `from` does.
    pub fn moved(self, native: &[u8], from: u64, to: u64) -> Code {
        with_encoder!(self, A => <A as Op>::moved(native, from as usize, to as usize))
    }

    /// The first `size` bytes of a site at `to` that does what `instructions` at `from` do. `None` if an instruction is unknown or cannot be moved,
    /// and on all instruction sets but x86-64.
    pub fn alternative(self, instructions: &[u8], from: u64, to: u64, size: usize) -> Option<Code> {
        match self {
            Machine::X86_64 => X86::<64>::placed(instructions, from as usize, to as usize, size),
            _ => None,
        }
    }

    /// The action of a site in `state`, as a number: for a check, whether it jumps; for a naked key's function, its result.
    pub fn action(self, state: State) -> usize {
        with_encoder!(self, A => state.action::<A>())
    }

    /// The state to which a flip takes a site in `state` so that the site does `action`.
    pub fn toward(self, state: State, action: usize) -> State {
        with_encoder!(self, A => state.toward::<A>(action, Some(0)))
    }

    /// The writes that take a site from `old` to `new`, in order: each has bytes and their offset in the site. After each write, the site does what
    /// `old` does or what `new` does.
    #[cfg(target_os = "linux")]
    pub fn steps(self, old: Code, new: Code) -> Vec<StepBytes> {
        with_encoder!(self, A => (0..A::STEPS).filter_map(|number| CodeChange { old, new }.step::<A>(number)).collect())
    }

    /// The instruction at a site in `state`, as text. On x86, the text is that of `bytes`, also if they are foreign.
    pub fn instruction(self, state: Option<State>, bytes: &[u8], address: u64, target: u64) -> String {
        match (self, state) {
            (_, Some(State::CALLS)) => format!("-> {target:#x}"),
            (Machine::X86, _) => x86(32, bytes, address),
            (Machine::X86_64, _) => x86(64, bytes, address),
            (Machine::Riscv64, Some(state @ (State::FALSE | State::TRUE))) => format!("li a0, {}", self.action(state)),
            (
                _,
                Some(State::JUMP | State::TRUE | State::DIRECT | State::TO_ARM | State::LOADING_JUMP | State::LOADS),
            ) => {
                let jump = match self {
                    Machine::S390x => "jg",
                    Machine::Riscv64 => "j",
                    _ => "b",
                };
                format!("{jump} {target:#x}")
            }
            (Machine::S390x, Some(_)) => format!("jgnop {target:#x}"),
            (_, Some(_)) => "nop".into(),
            (_, None) => "(foreign)".into(),
        }
    }
}

/// The displacement to `target`, counted from the end of a site at `address`. `None` if the target is out of reach.
fn displacement<A: Sites>(kind: Kind, address: u64, target: u64) -> Option<i32> {
    let end = address.wrapping_add(kind.bytes::<A>() as u64);
    A::displacement(end.wrapping_sub(A::SIZE as u64), target).filter(|&displacement| kind.reaches(displacement))
}

fn x86(bits: u32, bytes: &[u8], address: u64) -> String {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter, MemorySizeOptions};
    let mut formatter = IntelFormatter::new();
    let options = formatter.options_mut();
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_branch_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_memory_size_options(MemorySizeOptions::Always);
    options.set_space_after_operand_separator(true);
    let mut text = String::new();
    formatter.format(&Decoder::with_ip(bits, bytes, address, DecoderOptions::NONE).decode(), &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jumplabel_format::layout::CALL_SITE;

    /// The site of a listed call holds only the displacement of the call instruction. The displacement counts from the end of the instruction.
    #[test]
    fn calls() {
        let machine = Machine::X86_64;
        let kind = Kind::of(CALL_SITE).unwrap();
        let code = Code::new(CALL_SITE, &0x10_i32.to_le_bytes());
        assert_eq!(machine.decode(kind, code, 0x1000, 0x1014), Some(State::CALLS));
        assert_eq!(machine.encode(State::CALLS, 0x1000, 0x1014), Some(code.to_vec()));
        assert_eq!(machine.instruction(Some(State::CALLS), &code, 0x1000, 0x1014), "-> 0x1014");
        assert_eq!(Machine::Aarch64.decode(kind, code, 0x1000, 0x1014), None);
    }
}
