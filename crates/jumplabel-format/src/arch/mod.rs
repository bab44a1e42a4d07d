//! Encoders, by instruction set.

pub mod aarch64;
pub mod arm;
pub mod loongarch64;
pub mod powerpc64;
pub mod riscv64;
pub mod s390x;
mod word;
pub mod x86;
