//! [`Fallback`] stands for an instruction set in builds without sites (`cfg(jumplabel_fallback)`, Miri, instruction sets without an arch file). There
//! a check is a load, a test and a jump. All tables are empty, so no code ever asks `Fallback` to encode anything.

use jumplabel_format::{Arch, Branch, Code, Jump, Naked, Op, State};

use super::{Act, Caches, Machine};

/// Stands for an instruction set in a build without sites.
#[derive(Clone, Copy, Debug)]
pub struct Fallback;

impl Arch for Fallback {
    const SIZE: usize = 0;
    const SINGLE_STORE: bool = false;

    /// No target is ever in reach.
    fn displacement(_address: u64, _target: u64) -> Option<i32> {
        None
    }
}

impl Branch for Fallback {
    fn encode(_state: State, _displacement: i32) -> Code {
        Code::NONE
    }
}

impl Jump for Fallback {}

impl Naked for Fallback {}

impl Machine for Fallback {
    fn caches() -> Caches {
        Caches::Coherent
    }

    unsafe fn act(_: Act) {}
}

impl Op for Fallback {}
