//! A module: loaded, flipped and unloaded while the other CPU runs, through its sites, too. Whoever boots this has put it behind the kernel.

use core::ops::Range;
use core::ptr::null_mut;
use core::slice::from_raw_parts;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};

use jumplabel::{Batch, Error, RawKey, static_branch_unlikely, static_key};
use jumplabel_kernel::Bounds;

use crate::machine::{KERNEL, bounds, until};
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

/// The module that another CPU may be in; and whether it may be in there now.
static LOADED: AtomicPtr<Header> = AtomicPtr::new(null_mut());
static INSIDE: AtomicBool = AtomicBool::new(false);

fn loaded() -> Option<&'static Header> {
    // SAFETY: a module's header, which stays.
    unsafe { LOADED.load(SeqCst).as_ref() }
}

impl Header {
    /// What [`Header::seen`] says if all keys are on.
    fn all(&self) -> u32 {
        u32::MAX >> (31 - self.foreign)
    }

    fn bounds(&self) -> Bounds {
        let start = (&raw const *self) as usize - LARGE;
        Bounds { code: start..self.text_end, all: start..self.end }
    }
}

/// What the other CPU runs: whether the module's sites, if it is there, and the kernel's see their keys as they are.
pub fn agrees(on: bool) -> bool {
    INSIDE.store(true, SeqCst);
    let agrees = loaded().is_none_or(|module| (module.seen)() == if on { module.all() } else { 0 } && seen() == on);
    INSIDE.store(false, SeqCst);
    agrees
}

/// A flip of the module's key and of the kernel's that it has sites of, if it is there.
pub fn with<'key>(batch: Batch<'key>, on: bool) -> Batch<'key> {
    if let Some(module) = loaded() { batch.set(module.key, on).set(&SHARED, on) } else { batch }
}

/// The sites of that flip.
pub fn sites() -> usize {
    loaded().map_or(0, |module| 2 + module.foreign)
}

/// While the other CPU runs. Then it runs through the module, too, whose keys are `on`.
pub fn load(on: bool) -> Result<(), Error> {
    // Behind text, constants and data, each of which begins at a large page.
    let header = (bounds().code.start + 4 * LARGE) as *mut Header;
    // SAFETY: memory, with a header or without.
    if unsafe { (&raw const (*header).magic).read_volatile() } != u64::from_le_bytes(*b"a module") {
        return Ok(());
    }
    // SAFETY: there is one.
    let module = unsafe { &*header };
    let (shared, all) = (1 + module.foreign, module.all());
    assert!(SHARED.enable()?.sites == 1 && seen());
    // SAFETY: it lies there; no other CPU loads.
    assert!(unsafe { KERNEL.load(&module.bounds()) });
    call(&module.constructors);
    // Its sites are in the state of the kernel's key, which was flipped before.
    assert!((module.seen)() == all);
    assert!(module.key.disable()?.sites == 1 && SHARED.disable()?.sites == shared);
    assert!((module.seen)() == 0 && !seen());
    assert!(module.key.enable()?.sites == 1 && SHARED.enable()?.sites == shared);
    assert!((module.seen)() == all && seen());
    Batch::new().set(module.key, on).set(&SHARED, on).commit()?;
    LOADED.store(header, SeqCst);
    Ok(())
}

/// While the other CPU runs: first it must be out of there.
pub fn unload() -> Result<(), Error> {
    let Some(module) = loaded() else { return Ok(()) };
    LOADED.store(null_mut(), SeqCst);
    until(|| !INSIDE.load(SeqCst));
    let bounds = module.bounds();
    call(&module.destructors);
    // SAFETY: nobody is in there, and the memory is this kernel's. No other CPU unloads.
    let rest = unsafe {
        KERNEL.unload(&bounds);
        let alias = arch::alias(bounds.code.start) as *mut u8;
        alias.write_bytes(0, bounds.code.len());
        from_raw_parts(alias, bounds.code.len())
    };
    // Nobody writes there any more.
    let on = !SHARED.is_enabled();
    assert!(Batch::new().set(&SHARED, on).commit()?.sites == 1 && seen() == on && rest.iter().all(|byte| *byte == 0));
    say!("a module: loaded, flipped, unloaded beside the other CPU; {} sites of the kernel's key", module.foreign);
    Ok(())
}
