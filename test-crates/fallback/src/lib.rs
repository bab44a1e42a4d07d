//! A library that knows nothing of the machine that it is built for.
#![no_std]

use jumplabel::{Batch, Error, StaticKeyTrue, static_branch_likely, static_branch_unlikely, static_key};

static_key! {
    pub static TRACE: false;
    pub static HOOKS: [true; 4];
    static ABOUT: false, meta &WHAT;
}
static WHAT: &str = "what nobody names but a declaration";
pub static PAIR: (StaticKeyTrue, u8) = (StaticKeyTrue::new(), 1);

pub fn work<const N: usize>(x: u32) -> u32 {
    if static_branch_unlikely!(TRACE) && static_branch_likely!(HOOKS[N]) && static_branch_likely!(PAIR.0) {
        return x + u32::from(PAIR.1);
    }
    x
}

pub fn flip() -> Result<u32, Error> {
    TRACE.enable()?;
    Batch::new().disable(&HOOKS[1]).disable(&PAIR.0).commit()?;
    Ok(work::<0>(1) + work::<1>(2))
}
