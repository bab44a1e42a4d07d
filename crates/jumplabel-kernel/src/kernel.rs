//! The platform of a kernel.

use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};
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

// Some linkers give bounds to a section only if it exists. So an empty one is here, for kernels without sites.
#[cfg(target_os = "none")]
core::arch::global_asm!(".pushsection __jump_table, \"aR\", %progbits", ".popsection");

const EARLY: u8 = 0;
const LIVE: u8 = 1;
const UNAVAILABLE: u8 = 2;

/// The platform of a kernel, to be declared as a static. `CPUS` is the largest number of CPUs: at most 64, or 32 if a word has 32 bits. `PAGES` is
/// the number of pages of [`Memory`] in it.
pub struct Kernel<M, const CPUS: usize, const PAGES: usize> {
    machine: M,
    memory: Memory<PAGES>,
    lock: Lock,
    rendezvous: Rendezvous<CPUS>,
    phase: AtomicU8,
    started: AtomicBool,
    objects: Objects,
}

impl<M: Machine, const CPUS: usize, const PAGES: usize> Kernel<M, CPUS, PAGES> {
    /// The platform that uses this machine.
    #[must_use]
    pub const fn new(machine: M) -> Self {
        Kernel {
            machine,
            memory: Memory::new(),
            lock: Lock::new(),
            rendezvous: Rendezvous::new(),
            phase: AtomicU8::new(EARLY),
            started: AtomicBool::new(false),
            objects: Objects::new(),
        }
    }

    /// The machine that this platform uses.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// Call this on the boot CPU, before the first flip, and before any other CPU runs. From then on, the kernel's sites are known, whether or not
    /// its constructors were run, and flips write. `platform` must lead to this kernel.
    ///
    /// # Safety
    /// `bounds` are the kernel's own. Any other CPU runs code with sites only between its [`online`](Self::online) and its
    /// [`offline`](Self::offline).
    ///
    /// # Errors
    /// [`Error::NoSuchCpu`], if this CPU's number is not below `CPUS`. [`Error::Sealed`], if this succeeded before: each other CPU calls
    /// [`online`](Self::online) instead. In both cases nothing was done, and the bounds of the first call stay.
    pub unsafe fn start(&'static self, platform: &'static &'static dyn Platform, bounds: &Bounds) -> Result<(), Error> {
        let cpu = self.this_cpu()?;
        if self.started.swap(true, Ordering::Relaxed) {
            return Err(Error::Sealed);
        }
        self.objects.set_kernel(bounds);
        self.rendezvous.set_online(cpu, true);
        // SAFETY: nobody has flipped yet. This platform keeps its contract if the machine keeps its own.
        unsafe { set_platform(platform) };
        Ok(())
    }

    /// The number of the CPU that calls. Called with interrupts off, or before another CPU runs: otherwise a scheduler could move the caller.
    fn this_cpu(&self) -> Result<usize, Error> {
        let cpu = self.machine.cpu();
        if cpu < CPUS { Ok(cpu) } else { Err(Error::NoSuchCpu { cpu }) }
    }

    /// Brings this CPU online: it serialises, and flips stop it from now on. Before this call, it must not run a site. As soon as its interrupts are
    /// on, interrupts from other CPUs must reach it. `notify` is called with the lock held, so it flips before anybody else can, with
    /// [`enable_locked`](jumplabel::RawKey::enable_locked) and the like.
    ///
    /// # Errors
    /// [`Error::NoSuchCpu`], if this CPU's number is not below `CPUS`: no flip would stop it, so it must not run a site. The errors of
    /// [`Lock::take`](jumplabel::Lock::take).
    pub fn online(&self, notify: impl FnOnce(&mut jumplabel::Lock)) -> Result<(), Error> {
        let mut lock = jumplabel::Lock::take()?;
        self.come(self.this_cpu()?); // Interrupts are off while the lock is held.
        notify(&mut lock);
        Ok(())
    }

    /// [`online`](Self::online), with the lock held.
    pub(crate) fn come(&self, cpu: usize) {
        let _ = self.phase.compare_exchange(EARLY, LIVE, Ordering::AcqRel, Ordering::Relaxed);
        self.rendezvous.set_online(cpu, true);
        self.machine.serialise();
    }

    /// Takes this CPU offline: it must not run a site any more, until it calls [`online`](Self::online).
    ///
    /// # Errors
    /// The errors of [`online`](Self::online).
    pub fn offline(&self) -> Result<(), Error> {
        let _lock = jumplabel::Lock::take()?;
        self.rendezvous.set_online(self.this_cpu()?, false); // Interrupts are off while the lock is held.
        Ok(())
    }

    /// From now on, no flip can begin. Call this before a crash dump. A flip that has begun goes on as before. It stops the other CPUs before it
    /// writes; if one of them does not answer any more, the flip is refused. Before you take away the mapping behind [`Machine::map`], take
    /// [`Lock`](jumplabel::Lock), and call this while you hold the lock.
    pub fn end(&self) {
        self.phase.store(UNAVAILABLE, Ordering::Release);
    }

    /// Acknowledges the orders of a CPU that flips. The handler of [`Machine::interrupt`] calls it, with interrupts off. Code that waits with
    /// interrupts off for a CPU that may be flipping must call it, too.
    ///
    /// A CPU that calls it before its [`online`](Self::online) does nothing. If the number of the calling CPU is not below `CPUS`, it cannot be
    /// stopped: from then on, all flips are refused as [`Error::NoSuchCpu`].
    pub fn answer(&self) {
        match self.this_cpu() {
            Err(_) => self.rendezvous.note_unknown(self.machine.cpu()),
            // The CPU that flips has nobody to answer. It gets here if a machine calls this while it interrupts another CPU.
            Ok(cpu) if self.lock.is_of(cpu) => {}
            Ok(_) => self.rendezvous.answer(&self.machine),
        }
    }

    /// The CPU that has not answered a flip in time, the last time that this happened.
    pub fn late(&self) -> Option<usize> {
        self.rendezvous.late()
    }

    /// Tells where a module lies. Call it before the module's constructors run. False if there are too many modules, or if it overlaps a module or
    /// the kernel.
    ///
    /// # Safety
    /// The module lies there until [`unload`](Self::unload). Only one CPU at a time loads or unloads.
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

    /// Tells that code is going to be freed: code that runs only while the system starts (Linux: init text). Call it before the memory is used
    /// otherwise. From then on, sites in this code are not written any more; all other sites of their keys flip as before. A site belongs to this
    /// code if one of its bytes lies in it. No static call may lead to this code any more.
    ///
    /// The kernel, and each module, can free one range. False if code of the same object was freed before, or if `code` is empty or does not lie in
    /// the code of one object.
    ///
    /// # Errors
    /// The errors of [`Lock::take`](jumplabel::Lock::take).
    pub fn free(&self, code: &Range<usize>) -> Result<bool, Error> {
        let mut lock = jumplabel::Lock::take()?;
        let done = self.objects.free(code);
        lock.read_tables_anew();
        Ok(done)
    }

    /// True until another CPU comes online. False after the end: CPUs may be online then, although flips cannot stop them any more.
    pub(crate) fn is_early(&self) -> bool {
        self.phase.load(Ordering::Acquire) == EARLY
    }

    /// Calls `work` while all other CPUs stand still. Also returns true if all of them went on again in time.
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

// SAFETY: the lock excludes other CPUs; `open` writes through an alias while all other CPUs stand still; nothing here has sites.
unsafe impl<M: Machine, const CPUS: usize, const PAGES: usize> Platform for Kernel<M, CPUS, PAGES> {
    fn lock(&self) -> Result<Token, Error> {
        let token = self.lock.take(&self.machine, CPUS, || self.answer())?;
        if let Some(cpu) = self.rendezvous.unknown() {
            self.lock.release(token, &self.machine);
            return Err(Error::NoSuchCpu { cpu });
        }
        // This check is made under the lock: after a refusal, the caller knows that no flip is going on, and that none can begin.
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
        // SAFETY: the caller gives back memory that came from `allocate`, with the same size.
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
        // SAFETY: `record` is the address of one of the library's records.
        unsafe { self.objects.place(record) }
    }

    unsafe fn image(&self, words: [usize; 3]) -> Option<Image> {
        self.objects.image(words)
    }
}
