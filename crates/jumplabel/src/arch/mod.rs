//! Instruction sets: what a site holds in each of its states, and the steps from one to another.
//!
//! ```text
//!   x86 aarch64 arm riscv64 s390x     encoders: ordinary Rust, compiled and tested on every host, for tools, too
//!   powerpc64 loongarch64
//!   branch naked jump switch          the kinds of sites: their states, and the steps between them
//!   call_site op prefix short
//!   alternative                       instructions at a site like an operation's
//!   features                          what the processor has, by names
//!   state                             a kind and a state, as numbers
//!   kind                              the list of kinds
//!   pass                              how a site changes that one store cannot write: the three steps of x86
//!   word                              sites that are one word
//!   no_sites                          what stands for an instruction set in a build without sites
//!   asm/                              what a target needs besides: cache instructions, assembler macros
//! ```
//!
//! To add an instruction set, add an encoder and a file in asm/, and name both here and in build.rs; docs/porting.md says what each must
//! guarantee. The compiler checks that they are complete; tests/contract.rs checks that for the macros.
//!
//! No system calls, no policy.

pub mod aarch64;
mod alternative;
pub mod arm;
#[cfg_attr(not(jumplabel_linux), allow(dead_code))]
pub(crate) mod asm;
mod branch;
mod caches;
mod call_site;
mod code;
#[cfg(jumplabel_alternatives)]
pub(crate) mod features;
mod jump;
mod kind;
pub mod loongarch64;
mod memory;
mod naked;
#[cfg(not(jumplabel_sites))]
mod no_sites;
mod op;
mod pass;
pub mod powerpc64;
mod prefix;
pub mod riscv64;
pub mod s390x;
mod short;
mod state;
mod switch;
mod word;
pub mod x86;
mod x86_decoder;
mod x86_op;

pub use alternative::Alternative;
#[cfg(all(jumplabel_sites, target_arch = "x86_64"))]
#[doc(hidden)]
pub use asm::op::thunk::__op_thunk;
pub use branch::Branch;
pub use caches::{Act, Caches, maintain};
pub use call_site::CallSite;
pub use code::Code;
#[doc(hidden)]
pub use code::{Demand, StepBytes};
pub use jump::Jump;
pub use kind::Sites;
#[doc(hidden)]
pub use kind::{CodeChange, Template};
pub use memory::store;
pub(crate) use memory::{AHEAD, prefetch_to_read};
#[allow(unused_imports)] // For the writers of Linux user space.
pub(crate) use memory::{prefetch_to_write, touch_word};
pub use naked::Naked;
pub use op::{Fault, Op};
pub use prefix::Prefix;
pub use short::Short;
pub use state::{Kind, Leads, State, Target};
pub use switch::Switch;

/// An instruction set: how far its jumps reach, and how a site changes while other threads run it.
pub trait Arch {
    /// Bytes of a site, unless its kind has another number.
    const SIZE: usize = 4;

    /// Whether a site is one aligned word, which one store writes. If not, its bytes may be written in any order.
    const SINGLE_STORE: bool = true;

    /// How many steps a change has at most; a core sync follows each.
    const STEPS: u8 = 1;

    /// The offset of a displacement that fills four bytes of the instruction, in little endian. In an instruction without a displacement,
    /// anything may be there. `None` if the displacement is encoded in another way.
    const TAIL: Option<u32> = None;

    /// From the site at `address` to `target`, as the instruction counts; `None` if it does not reach.
    fn displacement(address: u64, target: u64) -> Option<i32>;

    /// What step `number` writes on the way from `old` to `new`; `None` if it has nothing to do. Whatever a thread executes meanwhile
    /// must do what `old` or `new` does. If nothing but the first byte changes, the steps and what they write depend on that byte
    /// only; the rest of a whole word is the exception.
    #[doc(hidden)]
    #[inline]
    fn step(_number: u8, old: Code, new: Code) -> Option<StepBytes> {
        let step_bytes = StepBytes::difference(old, new)?;
        Some(if Self::SINGLE_STORE { StepBytes::all(new) } else { step_bytes })
    }

    /// What takes step `number` back. When all steps are taken back, this must do no harm at a site that did not take the step.
    #[doc(hidden)]
    fn undo(number: u8, old: Code, new: Code) -> Option<StepBytes> {
        Self::step(number, new, old)
    }
}

/// What a processor needs after stores to code.
pub trait Machine {
    /// Which acts it needs.
    fn caches() -> Caches;

    /// Carries out one act.
    ///
    /// # Safety
    /// Addresses are those of sites, mapped and readable.
    unsafe fn act(act: Act);
}

// The instruction set that this is compiled for.
#[cfg(not(jumplabel_sites))]
pub use no_sites::Fallback as Native;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "aarch64"))]
pub type Native = aarch64::Aarch64;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "arm"))]
pub type Native = arm::Arm;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "loongarch64"))]
pub type Native = loongarch64::Loongarch64;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "powerpc64"))]
pub type Native = powerpc64::Powerpc64;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "riscv64"))]
pub type Native = riscv64::Riscv64;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "s390x"))]
pub type Native = s390x::S390x;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "x86"))]
pub type Native = x86::X86<32>;
/// The instruction set that this is compiled for.
#[cfg(all(jumplabel_sites, target_arch = "x86_64"))]
pub type Native = x86::X86<64>;

impl State {
    /// Whether execution goes on after a check's site, so that the check yields its arm; of a naked key's function, whether it returns
    /// false.
    #[must_use]
    pub fn falls_through(self) -> bool {
        self.action::<Native>() == 0
    }
}
