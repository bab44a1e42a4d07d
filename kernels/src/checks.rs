//! Flips on one CPU, and what the sites do then.

use jumplabel::{
    Batch, Error, WriterKind, find_key, for_each_site, naked_key, static_branch_likely, static_branch_maybe,
    static_branch_unlikely, static_key,
};

use crate::unit;

static_key! {
    #[unsafe(export_name = "kernel_trace")]
    pub static TRACE: false;
    static VERIFY: true;
    static HOOKS: [false; 3];
}
naked_key! { pub static ROUTE: false; }

jumplabel::static_call! { static HASH: fn(u64) -> u64 = first_hash; }

fn first_hash(value: u64) -> u64 {
    value + 1
}

fn second_hash(value: u64) -> u64 {
    value * 2
}

/// All sites of [`TRACE`], and [`ROUTE`].
#[inline(never)]
pub fn seen() -> [bool; 4] {
    [static_branch_unlikely!(TRACE), static_branch_likely!(TRACE), static_branch_maybe!(false, TRACE), ROUTE.get()]
}

#[inline(never)]
fn others() -> [bool; 3] {
    [static_branch_unlikely!(VERIFY), static_branch_likely!(VERIFY), static_branch_unlikely!(HOOKS[2])]
}

pub fn run() -> Result<(), Error> {
    for _ in 0..3 {
        let outcome = TRACE.enable()?;
        assert!(outcome.sites == 3 + unit::SITES && outcome.writer == Some(WriterKind::Custom));
        assert!(seen() == [true, true, true, false] && others() == [true, true, false] && unit::agrees(true));
        assert!(TRACE.enable()?.sites == 0);
        Batch::new().disable(&TRACE).enable(&ROUTE).disable(&VERIFY).enable(&HOOKS[2]).commit()?;
        assert!(seen() == [false, false, false, true] && others() == [false, false, true]);
        Batch::new().disable(&ROUTE).enable(&VERIFY).disable(&HOOKS[2]).commit()?;
        assert!(seen() == [false; 4] && others() == [true, true, false] && unit::agrees(false));
    }
    TRACE.inc()?;
    TRACE.inc()?;
    TRACE.dec()?;
    assert!(seen() == [true, true, true, false] && TRACE.disable().is_ok() && seen() == [false; 4]);
    assert!(TRACE.dec() == Err(Error::Underflow));
    let found = find_key("kernel::checks::HOOKS[2]")?;
    assert!(core::ptr::eq(found.key, HOOKS[2].raw()));
    assert!(for_each_site(&TRACE, |_| {})? == 3 + unit::SITES);
    Ok(())
}

/// Static calls.
pub fn calls() -> Result<(), Error> {
    assert!(HASH(20) == 21);
    HASH.update(second_hash)?;
    assert!(HASH(20) == 40);
    HASH.update(first_hash)?;
    assert!(HASH(20) == 21);
    Ok(())
}
