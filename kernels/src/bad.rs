//! Bad states of a kernel: each flip gets the right error, and the kernel goes on.

use core::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Relaxed, Release},
};

use jumplabel::format::Entry;
use jumplabel::platform::Platform;
use jumplabel::{
    Error, Lock, Refusal, WriterKind, for_each_site, static_branch_likely, static_branch_unlikely, static_key,
};
use jumplabel_kernel::{Bounds, Kernel, TIMED_OUT};

use crate::checks::TRACE;
use crate::machine::{self, Here, KERNEL, PLATFORM, bounds, impatiently, until, written};
use crate::{arch, say};

static_key! {
    static DAMAGED: false;
    static WATCHED: false;
}

#[inline(never)]
fn watched() -> bool {
    static_branch_unlikely!(WATCHED)
}

#[inline(never)]
fn damaged() -> bool {
    static_branch_likely!(DAMAGED)
}

/// A platform that has empty bounds. `SMALL` is a platform that has too little memory.
static NOWHERE: Kernel<Here, 2, 1> = Kernel::new(Here);
static NOWHERE_PLATFORM: &dyn Platform = &NOWHERE;
static SMALL: Kernel<Here, 2, 0> = Kernel::new(Here);
static SMALL_PLATFORM: &dyn Platform = &SMALL;
/// A platform for one CPU, on a machine with two.
static LONE: Kernel<Here, 1, 1> = Kernel::new(Here);

/// Returns the error of a flip that must be refused, and prints it.
fn refused<T>(what: &str, result: Result<T, Error>) -> Error {
    let Err(error) = result else { panic!("{what}: not refused") };
    say!("{what}: {error}");
    error
}

/// Checks that a platform for one CPU refuses CPU 1. Both CPUs call this, because either may have that number: it depends on which one began.
pub fn not_known() {
    if arch::cpu() == 0 {
        return;
    }
    let error = refused("a CPU too many", LONE.online(|_| unreachable!()));
    assert!(error == Error::NoSuchCpu { cpu: 1 });
    assert!(LONE.offline() == Err(error));
}

/// Flips before any platform is set, and with unusable platforms.
pub fn before_start() {
    assert!(refused("before start", WATCHED.enable()) == Error::NoPlatform);
    // SAFETY: nobody flips meanwhile, and neither platform ever writes.
    unsafe {
        NOWHERE.start(&NOWHERE_PLATFORM, &Bounds { code: 0..0, all: 0..0 }).unwrap();
        assert!(matches!(refused("kernel without bounds", WATCHED.enable()), Error::NoBounds { .. }));
        SMALL.start(&SMALL_PLATFORM, &bounds()).unwrap();
    }
}

/// Starts the platform. True if this kernel was built with a table that has no bounds: then no further test is possible.
pub fn start() -> Result<bool, Error> {
    if option_env!("MERGED_TABLE").is_some() {
        assert!(matches!(refused("table without bounds", WATCHED.enable()), Error::NoBounds { .. }));
        return Ok(true);
    }
    assert!(refused("memory is full", WATCHED.enable()) == Error::OutOfMemory);
    assert!(!watched() && !WATCHED.is_enabled());
    damage();
    // SAFETY: the boot CPU is the only one, and nobody has flipped.
    unsafe { KERNEL.start(&PLATFORM, &bounds()) }?;
    // SAFETY: the call is refused, so the first bounds stay, which the flips below need.
    let again = unsafe { KERNEL.start(&PLATFORM, &Bounds { code: 0..0, all: 0..0 }) };
    assert!(refused("a second start", again) == Error::Sealed);
    assert!(matches!(refused("damaged table", DAMAGED.enable()), Error::DamagedTable { .. }));
    assert!(!damaged());
    WATCHED.enable()?;
    assert!(watched());
    WATCHED.disable()?;
    Ok(false)
}

/// Makes the entries of a key lead to a wrong address, before anybody has read the table, and while constants are writable.
fn damage() {
    unsafe extern "C" {
        static __start___jump_table: [Entry; 0];
        static __stop___jump_table: [Entry; 0];
    }
    let [start, stop] = [&raw const __start___jump_table, &raw const __stop___jump_table].map(|at| at as usize);
    for address in (start..stop).step_by(size_of::<Entry>()) {
        // SAFETY: this is an entry of the table. Its first word leads to its site.
        unsafe {
            if (*(address as *const Entry)).key() == DAMAGED.raw().address() {
                (address as *mut i32).write_volatile(0);
            }
        }
    }
}

static STORES: AtomicBool = AtomicBool::new(false);

/// Checks that text is not writable at its own address.
pub fn store_to_text() {
    STORES.store(true, Relaxed);
    arch::store_to_text(bounds().code.start);
    assert!(!STORES.load(Relaxed), "text can be written");
}

/// True if the fault comes from [`store_to_text`]. The function returns true only once for each call of [`store_to_text`].
pub fn takes_fault() -> bool {
    STORES.swap(false, Relaxed)
}

/// True once a flip in the handler of a fault was refused with [`Error::Reentrant`].
static REENTRANT: AtomicBool = AtomicBool::new(false);

pub fn in_handler() {
    let error = refused("in a handler, while locked", WATCHED.enable());
    REENTRANT.store(error == Error::Reentrant, Relaxed);
}

static DEAF: AtomicBool = AtomicBool::new(false);
static HEARS: AtomicBool = AtomicBool::new(false);
static GONE: AtomicBool = AtomicBool::new(false);

/// The other CPU's part of the test: that CPU is deaf, with interrupts off, until `HEARS` is set.
pub fn on_other_cpu() {
    let interrupts = arch::interrupts_off();
    DEAF.store(true, Release);
    until(|| HEARS.load(Acquire));
    // This CPU stays deaf a little longer, so that the CPU that flips has to wait for some turns.
    let [relaxed, asked] = machine::relaxed();
    until(|| machine::relaxed()[1] >= asked + 10);
    assert!(machine::relaxed()[0] >= relaxed + 5, "the CPU that flips does not relax");
    arch::restore(interrupts);
    until(|| !WATCHED.is_enabled() && GONE.load(Acquire));
    KERNEL.offline().unwrap();
    DEAF.store(false, Release);
}

pub fn run() -> Result<(), Error> {
    {
        let _lock = Lock::take()?;
        arch::fault();
    }
    assert!(REENTRANT.load(Relaxed));

    until(|| DEAF.load(Acquire));
    let before = written();
    let enabled = impatiently(|| WATCHED.enable());
    let Error::Denied { refused: by } = refused("a CPU that does not answer", enabled) else { panic!() };
    assert!(by.of(WriterKind::Custom) == Refusal::errno(TIMED_OUT) && KERNEL.late() == Some(1 - arch::cpu()));
    assert!(!watched() && !WATCHED.is_enabled() && written() == before);
    HEARS.store(true, Release);
    WATCHED.enable()?;
    assert!(watched());
    say!("it waited {} turns in all, and relaxed in each", machine::relaxed()[0]);

    let mut site = 0;
    for_each_site(&WATCHED, |found| site = found.address)?;
    let place = arch::alias(site) as *mut [u8; 4];
    // SAFETY: this reads a site that nobody runs.
    let right = unsafe { place.read() };
    // SAFETY: this writes to the same site, which nobody runs.
    unsafe { place.write_volatile(arch::FOREIGN) };
    assert!(
        matches!(refused("foreign bytes", WATCHED.disable()), Error::ForeignBytes { address, .. } if address == site)
    );
    // SAFETY: this is the same site, and the refused flip has left it as it was.
    unsafe {
        assert!(place.read_volatile() == arch::FOREIGN);
        place.write_volatile(right);
    }
    WATCHED.disable()?;
    assert!(!watched());

    GONE.store(true, Release);
    until(|| !DEAF.load(Acquire));
    TRACE.enable()?; // The only other CPU is offline, so this waits for nobody.
    KERNEL.end();
    assert!(refused("after the end", TRACE.disable()) == Error::NoWriter && TRACE.is_enabled());
    Ok(())
}
