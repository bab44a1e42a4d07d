//! The platform of a kernel: [`Kernel`], with the functions that a kernel calls, and its implementation of the library's `Platform`.

use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use core::time::Duration;

use jumplabel::platform::{
    Body, Extent, Failure, Held, Image, Place, Platform, Summary, Token, Visibility, WriteReport, WriterKind,
    WriterList,
};
use jumplabel::{Error, Refusal, set_platform};

use crate::alias_writer::AliasWriter;
use crate::bounds::Bounds;
use crate::lock::Lock;
use crate::objects::Objects;
use crate::rendezvous::Rendezvous;
use crate::{Machine, Memory};

// An empty table, for kernels without sites: some linkers define the symbols with the bounds of a section only if the section exists.
#[cfg(target_os = "none")]
core::arch::global_asm!(".pushsection __jump_table, \"aR\", %progbits", ".popsection");

const EARLY: u32 = 0;
const LIVE: u32 = 1;
const UNAVAILABLE: u32 = 2;

/// The platform of a kernel. The kernel declares a static of this type. `CPUS` is the largest number of CPUs: at most 64, or 32 if a word has 32
/// bits. Each CPU's number must be below `CPUS`. `PAGES` is the number of pages of this platform's [`Memory`].
pub struct Kernel<M, const CPUS: usize, const PAGES: usize> {
    machine: M,
    memory: Memory<PAGES>,
    lock: Lock,
    rendezvous: Rendezvous<CPUS>,
    // Words, because some processors cannot exchange a single byte.
    phase: AtomicU32,
    started: AtomicU32,
    objects: Objects,
}

impl<M: Machine, const CPUS: usize, const PAGES: usize> Kernel<M, CPUS, PAGES> {
    /// A platform that calls the functions of `machine`.
    #[must_use]
    pub const fn new(machine: M) -> Self {
        Kernel {
            machine,
            memory: Memory::new(),
            lock: Lock::new(),
            rendezvous: Rendezvous::new(),
            phase: AtomicU32::new(EARLY),
            started: AtomicU32::new(0),
            objects: Objects::new(),
        }
    }

    /// The machine that this platform uses.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// Makes flips possible, and the kernel's sites known, whether or not the kernel runs its constructors. Call this on the boot CPU, before the
    /// first flip, and before any other CPU runs. `platform` must lead to this kernel.
    ///
    /// # Safety
    /// `bounds` are the kernel's own. Each other CPU runs code with sites only between its [`online`](Self::online) and its
    /// [`offline`](Self::offline).
    ///
    /// # Errors
    /// [`Error::NoSuchCpu`], if this CPU's number is not below `CPUS`. [`Error::Sealed`], if an earlier call succeeded: each other CPU calls
    /// [`online`](Self::online) instead. In both cases this call has done nothing, and the bounds of the earlier call stay.
    pub unsafe fn start(&'static self, platform: &'static &'static dyn Platform, bounds: &Bounds) -> Result<(), Error> {
        let cpu = self.this_cpu()?;
        if self.started.swap(1, Ordering::Relaxed) != 0 {
            return Err(Error::Sealed);
        }
        self.objects.set_kernel(bounds);
        self.rendezvous.set_online(cpu, true);
        // SAFETY: the caller calls this before the first flip. The implementation of `Platform` below keeps the contract of that trait, because the
        // implementer of `Machine` has guaranteed that each of its functions does what it says.
        unsafe { set_platform(platform) };
        Ok(())
    }

    /// The number of the CPU that calls; an error if it is not below `CPUS`. Called with interrupts off, or before another CPU runs: otherwise a
    /// scheduler could move the caller to another CPU.
    fn this_cpu(&self) -> Result<usize, Error> {
        let cpu = self.machine.cpu();
        if cpu < CPUS { Ok(cpu) } else { Err(Error::NoSuchCpu { cpu }) }
    }

    /// Brings this CPU online: the CPU serialises, and from now on flips stop it. Before this call, it must not run a site. As soon as its interrupts
    /// are on, interrupts from other CPUs must reach it. Then calls `notify` with the lock held, so `notify` can flip before anybody else can, by
    /// [`enable_locked`](jumplabel::RawKey::enable_locked) and the like.
    ///
    /// # Errors
    /// [`Error::NoSuchCpu`], if this CPU's number is not below `CPUS`: no flip would stop this CPU, so it must not run a site. Also the errors of
    /// [`Lock::take`](jumplabel::Lock::take).
    pub fn online(&self, notify: impl FnOnce(&mut jumplabel::Lock)) -> Result<(), Error> {
        let mut lock = jumplabel::Lock::take()?;
        self.come(self.this_cpu()?); // Interrupts are off while the lock is held.
        notify(&mut lock);
        Ok(())
    }

    /// The part of [`online`](Self::online) that is done with the lock held, before `notify`: the first call makes the phase live.
    pub(crate) fn come(&self, cpu: usize) {
        let _ = self.phase.compare_exchange(EARLY, LIVE, Ordering::AcqRel, Ordering::Relaxed);
        self.rendezvous.set_online(cpu, true);
        self.machine.serialise();
    }

    /// Takes this CPU offline: flips do not stop it any more. It must not run a site until it calls [`online`](Self::online) again.
    ///
    /// # Errors
    /// The errors of [`online`](Self::online).
    pub fn offline(&self) -> Result<(), Error> {
        let _lock = jumplabel::Lock::take()?;
        self.rendezvous.set_online(self.this_cpu()?, false); // Interrupts are off while the lock is held.
        Ok(())
    }

    /// Ends flips: from now on, no flip can begin. Call this before a crash dump. A flip that has begun goes on: it stops the other CPUs before it
    /// writes, and if one of them does not answer any more, the flip is refused. If you are going to take away the mapping that [`Machine::map`]
    /// uses, take [`Lock`](jumplabel::Lock), and call this while you hold the lock.
    pub fn end(&self) {
        self.phase.store(UNAVAILABLE, Ordering::Release);
    }

    /// Carries out the orders of the CPU that flips: this CPU serialises and stands still until it may go on. The handler of
    /// [`Machine::interrupt`] calls this function, with interrupts off. Code that waits with interrupts off for a CPU that may be flipping must
    /// call it, too.
    ///
    /// Before the calling CPU's [`online`](Self::online), it does nothing. If the number of the calling CPU is not below `CPUS`, flips cannot stop
    /// this CPU: from then on, all flips are refused as [`Error::NoSuchCpu`].
    pub fn answer(&self) {
        match self.this_cpu() {
            Err(_) => self.rendezvous.note_unknown(self.machine.cpu()),
            // The CPU that flips has no orders to carry out. It gets here if the machine's `interrupt` calls this function.
            Ok(cpu) if self.lock.is_of(cpu) => {}
            Ok(_) => self.rendezvous.answer(&self.machine),
        }
    }

    /// The last CPU that did not answer a flip in time; `None` if there was none.
    pub fn late(&self) -> Option<usize> {
        self.rendezvous.late()
    }

    /// Tells the platform where a module lies. Call it before the module's constructors run. Returns false if there are too many modules (16), or if
    /// the module overlaps another module or the kernel.
    ///
    /// # Safety
    /// The module lies at `bounds` until [`unload`](Self::unload). Only one CPU at a time loads or unloads.
    pub unsafe fn load(&self, bounds: &Bounds) -> bool {
        self.objects.load(bounds)
    }

    /// True if the module overlaps a module that is loaded, or the kernel.
    #[doc(hidden)] // For the C API: `load` refuses modules for two reasons.
    pub fn overlaps(&self, bounds: &Bounds) -> bool {
        self.objects.overlaps(bounds)
    }

    /// Forgets a module. Call it after the module's destructors have run.
    ///
    /// # Safety
    /// The conditions of [`load`](Self::load).
    pub unsafe fn unload(&self, bounds: &Bounds) {
        self.objects.unload(bounds);
    }

    /// Tells the platform that `code` is going to be freed: code that runs only while the system starts (Linux: init text). Call this before the
    /// memory is used for something else. From then on, flips do not write to sites in `code`; they write to all other sites as before. A site is in
    /// `code` if one of its bytes is. No static call may lead into `code` any more.
    ///
    /// The kernel, and each module, can free one range. Returns false if code of the same object was freed before, or if `code` is empty or does not
    /// lie in the code of one object.
    ///
    /// # Errors
    /// The errors of [`Lock::take`](jumplabel::Lock::take).
    pub fn free(&self, code: &Range<usize>) -> Result<bool, Error> {
        let mut lock = jumplabel::Lock::take()?;
        let done = self.objects.free(code);
        lock.read_tables_anew();
        Ok(done)
    }

    /// Whether only the boot CPU runs: true until another CPU comes online. After [`end`](Self::end) always false, because other CPUs may run then.
    pub(crate) fn is_early(&self) -> bool {
        self.phase.load(Ordering::Acquire) == EARLY
    }

    /// Calls `work` while all other CPUs stand still. Returns its result, and true if all of them went on again in time.
    pub(crate) fn stopped<T>(&self, work: impl FnOnce() -> T) -> Result<(T, bool), Refusal> {
        let is_early = self.is_early();
        if !is_early {
            self.rendezvous.stop(&self.machine)?;
        }
        let done = work();
        let gone = is_early || self.rendezvous.go(&self.machine).is_ok();
        Ok((done, gone))
    }

    fn serialise(&self) -> Result<(), Refusal> {
        if self.is_early() {
            self.machine.serialise();
            return Ok(());
        }
        self.rendezvous.serialise(&self.machine)
    }
}

// SAFETY: the lock lets one CPU at a time flip. `open` lets the writer write only while all other CPUs stand still. Nothing in this crate has sites.
unsafe impl<M: Machine, const CPUS: usize, const PAGES: usize> Platform for Kernel<M, CPUS, PAGES> {
    fn lock(&self) -> Result<Token, Error> {
        let token = self.lock.take(&self.machine, CPUS, || self.answer())?;
        if let Some(cpu) = self.rendezvous.unknown() {
            self.lock.release(token, &self.machine);
            return Err(Error::NoSuchCpu { cpu });
        }
        // This is checked after the lock is taken. So a caller that is refused knows that no flip is going on, and that none can begin.
        let Some(object) = self.objects.unbounded() else { return Ok(token) };
        self.lock.release(token, &self.machine);
        Err(Error::NoBounds { object })
    }

    unsafe fn unlock(&self, token: Token) {
        self.lock.release(token, &self.machine);
    }

    fn allocate(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.memory.allocate(bytes)
    }

    unsafe fn release(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller guarantees that `memory` came from `allocate`, and that nobody uses it any more. `bytes` is the size that was asked for,
        // or a smaller one that rounds up to the same whole pages: `page_size` returns the size of a page of `Memory`.
        unsafe { self.memory.release(memory, bytes) };
    }

    fn page_size(&self) -> usize {
        4096
    }

    fn now(&self) -> Duration {
        self.machine.now()
    }

    fn writers(&self, _: &Summary, _: &mut Held) -> WriterList {
        match self.phase.load(Ordering::Acquire) {
            UNAVAILABLE => WriterList::default(),
            _ => WriterList::of(&[WriterKind::Custom]),
        }
    }

    unsafe fn open(
        &self,
        _: WriterKind,
        _: &[Extent],
        _: &mut Held,
        body: &mut Body<'_>,
    ) -> Result<WriteReport, Failure> {
        let serialise = || self.serialise();
        let mut writer = AliasWriter { machine: &self.machine, serialise: &serialise, unsynced: false };
        let (result, gone) = self.stopped(|| body(&mut writer)).map_err(Failure::Refused)?;
        let visibility = if gone && !writer.unsynced { Visibility::Immediate } else { Visibility::Eventual };
        result.map(|()| WriteReport { visibility, ..WriteReport::default() })
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Refusal> {
        self.stopped(|| self.serialise())?.0
    }

    fn is_alone(&self, _: &mut Held) -> bool {
        self.is_early()
    }

    fn place(&self, record: usize) -> Place {
        // SAFETY: the library calls `place` only with the address of an object's record.
        unsafe { self.objects.place(record) }
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        self.objects.image(words)
    }
}
