//! A module is loaded, flipped and unloaded while the other CPU runs through the module's sites, too. The module is already in memory, after the
//! kernel, when this kernel boots.

use core::ops::Range;
use core::ptr::null_mut;
use core::slice::from_raw_parts;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering::SeqCst};

use jumplabel::{Batch, Error, RawKey, static_branch_unlikely, static_key};
use jumplabel_kernel::Bounds;

use crate::machine::{KERNEL, bounds, until};
use crate::{arch, say};

static_key! {
    /// A key of the kernel that has sites in the module, too.
    #[unsafe(export_name = "kernel_key")]
    static SHARED: false;
}

/// The header of a module, at the beginning of the module's constants.
#[repr(C)]
struct Header {
    magic: u64,
    text_end: usize,
    end: usize,
    constructors: Range<usize>,
    destructors: Range<usize>,
    key: &'static RawKey,
    /// Runs the module's sites. Returns a bit for each.
    seen: extern "C" fn() -> u32,
    /// The number of these sites that belong to the kernel's key. The last of the sites belongs to the module's key.
    foreign: usize,
}

const LARGE: usize = 2 << 20;

#[inline(never)]
fn seen() -> bool {
    static_branch_unlikely!(SHARED)
}

/// Calls the functions in a table of pointers, in their order.
fn call(functions: &Range<usize>) {
    let count = (functions.end - functions.start) / size_of::<usize>();
    // SAFETY: `functions` comes from the module's header, and is the table of its constructors or destructors.
    let functions = unsafe { from_raw_parts(functions.start as *const extern "C" fn(), count) };
    functions.iter().for_each(|function| function());
}

/// The module, if the other CPU may enter it. `INSIDE` is true while that CPU may be in the module.
static LOADED: AtomicPtr<Header> = AtomicPtr::new(null_mut());
static INSIDE: AtomicBool = AtomicBool::new(false);

fn loaded() -> Option<&'static Header> {
    // SAFETY: `LOADED` is null or points to a module's header, which stays.
    unsafe { LOADED.load(SeqCst).as_ref() }
}

impl Header {
    /// The result of [`Header::seen`] if all keys are on.
    fn all(&self) -> u32 {
        u32::MAX >> (31 - self.foreign)
    }

    fn bounds(&self) -> Bounds {
        let start = (&raw const *self) as usize - LARGE;
        Bounds { code: start..self.text_end, all: start..self.end }
    }
}

/// True if there is no module, or if the module's sites and the kernel's site agree with their keys, which must be `on`. The other CPU runs this.
pub fn agrees(on: bool) -> bool {
    INSIDE.store(true, SeqCst);
    let agrees = loaded().is_none_or(|module| (module.seen)() == if on { module.all() } else { 0 } && seen() == on);
    INSIDE.store(false, SeqCst);
    agrees
}

/// Adds the module's key and the shared key to a batch, if a module is loaded.
pub fn with<'key>(batch: Batch<'key>, on: bool) -> Batch<'key> {
    if let Some(module) = loaded() { batch.set(module.key, on).set(&SHARED, on) } else { batch }
}

/// The number of sites that [`with`] adds to a flip.
pub fn sites() -> usize {
    loaded().map_or(0, |module| 2 + module.foreign)
}

/// Loads the module while the other CPU runs, and sets its keys to `on`. From then on, the other CPU runs through the module's sites.
pub fn load(on: bool) -> Result<(), Error> {
    // The module follows text, constants and data, which begin at a large page each.
    let header = (bounds().code.start + 4 * LARGE) as *mut Header;
    // SAFETY: this memory exists, whether it holds a module or not.
    if unsafe { (&raw const (*header).magic).read_volatile() } != u64::from_le_bytes(*b"a module") {
        return Ok(());
    }
    // SAFETY: the magic number shows that there is a header.
    let module = unsafe { &*header };
    let (shared, all) = (1 + module.foreign, module.all());
    assert!(SHARED.enable()?.sites == 1 && seen());
    // SAFETY: the module lies within these bounds, and no other CPU loads.
    assert!(unsafe { KERNEL.load(&module.bounds()) });
    call(&module.constructors);
    // The kernel's key was turned on before the module was loaded. The module's sites have that state from the start.
    assert!((module.seen)() == all);
    assert!(module.key.disable()?.sites == 1 && SHARED.disable()?.sites == shared);
    assert!((module.seen)() == 0 && !seen());
    assert!(module.key.enable()?.sites == 1 && SHARED.enable()?.sites == shared);
    assert!((module.seen)() == all && seen());
    Batch::new().set(module.key, on).set(&SHARED, on).commit()?;
    LOADED.store(header, SeqCst);
    Ok(())
}

/// Unloads the module while the other CPU runs, after that CPU has left the module.
pub fn unload() -> Result<(), Error> {
    let Some(module) = loaded() else { return Ok(()) };
    LOADED.store(null_mut(), SeqCst);
    until(|| !INSIDE.load(SeqCst));
    let bounds = module.bounds();
    call(&module.destructors);
    // SAFETY: no CPU is in the module, and the memory is this kernel's. No other CPU unloads.
    let rest = unsafe {
        KERNEL.unload(&bounds);
        let alias = arch::alias(bounds.code.start) as *mut u8;
        alias.write_bytes(0, bounds.code.len());
        from_raw_parts(alias, bounds.code.len())
    };
    // After `unload`, the library does not write to that memory.
    let on = !SHARED.is_enabled();
    assert!(Batch::new().set(&SHARED, on).commit()?.sites == 1 && seen() == on && rest.iter().all(|byte| *byte == 0));
    say!("a module: loaded, flipped, unloaded beside the other CPU; {} sites of the kernel's key", module.foreign);
    Ok(())
}
