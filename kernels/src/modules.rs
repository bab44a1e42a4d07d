//! A module: loaded, flipped, unloaded. Whoever boots this has put it behind the kernel.

use core::ops::Range;
use core::slice::from_raw_parts;

use jumplabel::{Error, RawKey, static_branch_unlikely, static_key};
use jumplabel_kernel::Bounds;

use crate::machine::{KERNEL, bounds};
use crate::{arch, say};

static_key! {
    /// The module's sites are this key's, too.
    #[unsafe(export_name = "kernel_key")]
    static SHARED: false;
}

/// What a module begins its constants with.
#[repr(C)]
struct Header {
    magic: u64,
    text_end: usize,
    end: usize,
    constructors: Range<usize>,
    destructors: Range<usize>,
    key: &'static RawKey,
    /// A bit for each site.
    seen: extern "C" fn() -> u32,
    /// How many of them are of the kernel's key; one is of the module's.
    foreign: usize,
}

const LARGE: usize = 2 << 20;

#[inline(never)]
fn seen() -> bool {
    static_branch_unlikely!(SHARED)
}

/// Functions between two addresses, in their order.
fn call(functions: &Range<usize>) {
    let count = (functions.end - functions.start) / size_of::<usize>();
    // SAFETY: the module's constructors or destructors.
    let functions = unsafe { from_raw_parts(functions.start as *const extern "C" fn(), count) };
    functions.iter().for_each(|function| function());
}

pub fn run() -> Result<(), Error> {
    // Behind text, constants and data, each of which begins at a large page.
    let start = bounds().code.start + 3 * LARGE;
    let header = (start + LARGE) as *const Header;
    // SAFETY: memory, with a header or without.
    if unsafe { (&raw const (*header).magic).read_volatile() } != u64::from_le_bytes(*b"a module") {
        return Ok(());
    }
    // SAFETY: there is one.
    let module = unsafe { &*header };
    let bounds = Bounds { code: start..module.text_end, all: start..module.end };

    let (shared, all) = (1 + module.foreign, u32::MAX >> (31 - module.foreign));
    assert!(SHARED.enable()?.sites == 1 && seen());
    // SAFETY: it lies there; this is the only CPU.
    assert!(unsafe { KERNEL.load(&bounds) });
    call(&module.constructors);
    // Its sites are in the state of the kernel's key, which was flipped before.
    assert!((module.seen)() == all);
    assert!(module.key.disable()?.sites == 1 && SHARED.disable()?.sites == shared);
    assert!((module.seen)() == 0 && !seen());
    assert!(module.key.enable()?.sites == 1 && SHARED.enable()?.sites == shared);
    assert!((module.seen)() == all && seen());

    call(&module.destructors);
    // SAFETY: nobody is in there, and the memory is this kernel's. This is the only CPU.
    let rest = unsafe {
        KERNEL.unload(&bounds);
        let alias = arch::alias(start) as *mut u8;
        alias.write_bytes(0, bounds.code.len());
        from_raw_parts(alias, bounds.code.len())
    };
    // Nobody writes there any more.
    assert!(SHARED.disable()?.sites == 1 && !seen() && rest.iter().all(|byte| *byte == 0));
    say!("a module: loaded, flipped, unloaded; {} sites of the kernel's key", module.foreign);
    Ok(())
}
