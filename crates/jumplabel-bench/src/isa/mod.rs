//! The instructions of the loops as text, with the same macros for each instruction set. Operands are numbers of operands of `asm!`.
//!
//! ```text
//!   multiply!("0")          multiplies operand 0 by a number, so each product waits for the one before
//!   add!("0", 3)            adds a number to operand 0
//!   next_line!("64", "16")  jumps over padding: the next instruction is 16 bytes after a multiple of 64
//!   returns_more!(3)        the body of a function that returns its argument plus 3
//!   triples!()              the body of a function that returns three times its argument
//!   triple!("0", "1")       sets operand 0 to three times operand 1
//! ```

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
mod here;

pub(crate) use here::{add, multiply, next_line, returns_more, triple, triples};

/// True if the instruction set is x86-64.
pub const IS_X86: bool = cfg!(target_arch = "x86_64");
