//! Flips on one CPU, and their effects at the sites.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use jumplabel::{
    Batch, Error, WriterKind, find_key, for_each_site, naked_key, static_branch_likely, static_branch_maybe,
    static_branch_unlikely, static_key,
};

use crate::machine::{KERNEL, bounds};
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

/// The results of all sites of [`TRACE`], and of the check of [`ROUTE`].
#[inline(never)]
pub fn seen() -> [bool; 4] {
    [static_branch_unlikely!(TRACE), static_branch_likely!(TRACE), static_branch_maybe!(false, TRACE), ROUTE.get()]
}

/// The results of two sites of [`TRACE`] in code that runs only while the kernel starts.
#[inline(never)]
#[unsafe(link_section = ".init.text")]
fn seen_early() -> [bool; 2] {
    [static_branch_unlikely!(TRACE), static_branch_likely!(TRACE)]
}

/// The number of sites of [`seen_early`]: two, until its code is freed.
static INIT_SITES: AtomicUsize = AtomicUsize::new(2);

/// The number of sites of [`TRACE`].
pub fn sites() -> usize {
    3 + unit::SITES + INIT_SITES.load(Relaxed)
}

/// Frees the code of `seen_early`, and lets other data use its memory. Until `KERNEL.free` tells the library so, flips
/// refuse to write there. After that, they leave the memory alone.
pub fn free_init() -> Result<(), Error> {
    unsafe extern "C" {
        static __init: u8;
        static __init_end: u8;
    }
    TRACE.enable()?;
    assert!(seen_early() == [true; 2]);
    let init = (&raw const __init) as usize..(&raw const __init_end) as usize;
    let others = |address| (crate::arch::alias(address) as *mut u32, 0x1234_5678);
    for address in init.clone().step_by(4) {
        let (place, word) = others(address);
        // SAFETY: no CPU runs this code any more, and no CPU uses its memory otherwise.
        unsafe { place.write_volatile(word) };
    }
    assert!(matches!(TRACE.disable(), Err(Error::ForeignBytes { address, .. }) if init.contains(&address)));
    assert!(!KERNEL.free(&(init.start..init.end + bounds().code.end))? && !KERNEL.free(&(init.start..init.start))?);
    assert!(KERNEL.free(&init)? && !KERNEL.free(&init)?);
    INIT_SITES.store(0, Relaxed);
    TRACE.disable()?;
    run()?;
    // SAFETY: nobody else uses this memory.
    assert!(init.step_by(4).map(others).all(|(place, word)| unsafe { place.read_volatile() } == word));
    Ok(())
}

#[inline(never)]
fn others() -> [bool; 3] {
    [static_branch_unlikely!(VERIFY), static_branch_likely!(VERIFY), static_branch_unlikely!(HOOKS[2])]
}

pub fn run() -> Result<(), Error> {
    for _ in 0..3 {
        let outcome = TRACE.enable()?;
        assert!(outcome.sites == sites() && outcome.writer == Some(WriterKind::Custom));
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
    assert!(for_each_site(&TRACE, |_| {})? == sites());
    Ok(())
}

/// Flips static calls.
pub fn calls() -> Result<(), Error> {
    assert!(HASH(20) == 21);
    HASH.update(second_hash)?;
    assert!(HASH(20) == 40);
    HASH.update(first_hash)?;
    assert!(HASH(20) == 21);
    Ok(())
}
