//! The instructions of the loops as text, under the same names for each instruction set. An operand is the number of a register.
//!
//! ```text
//!   multiply!("0")          a product that waits for the one before
//!   add!("0", 3)            a sum with a number
//!   next_line!("64", "0")   jumps to the next multiple, and so many bytes further: there begins what follows
//!   returns_more!(3)        the body of a function: its argument and 3
//!   triples!()              the body of a function: three times its argument
//!   triple!("0", "1")       the same in line: result, argument
//! ```

#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "riscv64.rs")]
mod here;

pub(crate) use here::{add, multiply, next_line, returns_more, triple, triples};

/// True if the machine is an x86-64.
pub const IS_X86: bool = cfg!(target_arch = "x86_64");
