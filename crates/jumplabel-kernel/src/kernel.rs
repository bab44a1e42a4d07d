//! The platform of a kernel.

use core::ops::Range;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use core::time::Duration;

use jumplabel::format::Object;
use jumplabel::platform::{
    Body, Extent, Failure, Held, Image, Place, Platform, Summary, Token, Visibility, WriteReport, WriterKind,
    WriterList,
};
use jumplabel::{Error, Refusal, set_platform};

use crate::bounds::{Bounds, Slot};
use crate::lock::Lock;
use crate::pen::Pen;
use crate::rendezvous::Rendezvous;
use crate::{Machine, Memory};

// A linker that keeps this section gives bounds to it, even if there are no sites.
#[cfg(target_os = "none")]
core::arch::global_asm!(".pushsection __jump_table, \"aR\", %progbits", ".popsection");

/// How many modules with sites can be loaded at a time.
const MODULES: usize = 16;

/// How many objects without bounds can be told apart.
const UNBOUNDED: usize = 4;
/// An address at which no object lies.
const TOO_MANY: usize = usize::MAX;

const EARLY: u8 = 0;
const LIVE: u8 = 1;
const UNAVAILABLE: u8 = 2;

/// The platform of a kernel with up to `CPUS` CPUs, as a static. It contains `PAGES` pages of [`Memory`].
pub struct Kernel<M, const CPUS: usize, const PAGES: usize> {
    machine: M,
    memory: Memory<PAGES>,
    lock: Lock,
    rendezvous: Rendezvous<CPUS>,
    phase: AtomicU8,
    started: AtomicBool,
    /// The bounds of the kernel, and of the modules.
    objects: [Slot; 1 + MODULES],
    /// The records of objects without bounds; 0 if there is none. If there are more than fit here, the last one is [`TOO_MANY`], for good.
    unbounded: [AtomicUsize; UNBOUNDED],
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
            objects: [const { Slot::new() }; 1 + MODULES],
            unbounded: [const { AtomicUsize::new(0) }; UNBOUNDED],
        }
    }

    /// The machine that this platform uses.
    pub const fn machine(&self) -> &M {
        &self.machine
    }

    /// Call this on the boot CPU, before the first flip, and before any other CPU runs. From then on, flips write. `platform` is this
    /// kernel, as a platform. The kernel's sites are known from then on, whether or not its constructors were run.
    ///
    /// # Safety
    /// `bounds` are the kernel's own. Any other CPU runs code with sites only between its [`online`](Self::online) and its
    /// [`offline`](Self::offline).
    pub unsafe fn start(&'static self, platform: &'static &'static dyn Platform, bounds: &Bounds) {
        if self.started.swap(true, Ordering::Relaxed) {
            return;
        }
        let [own, ..] = &self.objects;
        own.set(bounds);
        self.rendezvous.set_online(self.machine.cpu(), true);
        // SAFETY: nobody has flipped yet. This platform keeps its contract if the machine keeps its own.
        unsafe { set_platform(platform) };
    }

    /// This CPU comes: it serialises, and flips stop it from now on. Before this call, it must not run a site. Its interrupts must get
    /// through as soon as they are on. `notify` is called with the lock held. It can flip with
    /// [`enable_locked`](jumplabel::RawKey::enable_locked) and the like, before anybody else can flip.
    ///
    /// # Errors
    /// The errors of [`Lock::take`](jumplabel::Lock::take).
    pub fn online(&self, notify: impl FnOnce(&mut jumplabel::Lock)) -> Result<(), Error> {
        let mut lock = jumplabel::Lock::take()?;
        self.come();
        notify(&mut lock);
        Ok(())
    }

    /// [`online`](Self::online), with the lock held.
    pub(crate) fn come(&self) {
        let _ = self.phase.compare_exchange(EARLY, LIVE, Ordering::AcqRel, Ordering::Relaxed);
        self.rendezvous.set_online(self.machine.cpu(), true);
        self.machine.serialise();
    }

    /// This CPU goes: it must not run a site any more, until it calls [`online`](Self::online).
    ///
    /// # Errors
    /// The errors of [`Lock::take`](jumplabel::Lock::take).
    pub fn offline(&self) -> Result<(), Error> {
        let _lock = jumplabel::Lock::take()?;
        self.rendezvous.set_online(self.machine.cpu(), false);
        Ok(())
    }

    /// From now on, no flip can begin. Call this before a crash dump. A flip that has begun goes on as before: it stops the other CPUs
    /// before it writes, and if one of them does not answer any more, the flip is refused. If you are going to take away the alias, take
    /// [`Lock`](jumplabel::Lock) first, and call this while you hold it.
    pub fn end(&self) {
        self.phase.store(UNAVAILABLE, Ordering::Release);
    }

    /// The handler of [`Machine::interrupt`] calls this, with interrupts off. Code that waits with interrupts off for a CPU that may be
    /// flipping must call it, too.
    pub fn answer(&self) {
        // The CPU that flips has nobody to answer. It can come here, because a machine may call this while it interrupts another CPU.
        if !self.lock.is_of(self.machine.cpu()) {
            self.rendezvous.answer(&self.machine);
        }
    }

    /// The last CPU for which a flip waited in vain.
    pub fn late(&self) -> Option<usize> {
        self.rendezvous.late()
    }

    /// Call this before the constructors of a module run: it says where the module lies. False if there are too many modules, or if
    /// something is known to lie there already.
    ///
    /// # Safety
    /// The module lies there until [`unload`](Self::unload). Only one CPU at a time loads or unloads.
    pub unsafe fn load(&self, bounds: &Bounds) -> bool {
        let lies_here = |slot: &Slot| slot.get().all.start < bounds.all.end && bounds.all.start < slot.get().all.end;
        if self.objects.iter().any(lies_here) {
            return false;
        }
        let free = self.objects.iter().skip(1).find(|slot| slot.get().all.is_empty());
        free.inspect(|slot| slot.set(bounds)).is_some()
    }

    /// Call this after the destructors of a module have run: nothing lies there any more.
    ///
    /// # Safety
    /// The conditions of [`load`](Self::load).
    pub unsafe fn unload(&self, bounds: &Bounds) {
        let here = self.objects.iter().skip(1).find(|slot| slot.get() == *bounds);
        here.into_iter().for_each(Slot::clear);
        let gone = self.unbounded.iter().filter(|record| bounds.all.contains(&record.load(Ordering::Relaxed)));
        gone.for_each(|record| record.store(0, Ordering::Relaxed));
    }

    /// Call this before code is freed that runs only while the system starts (Linux: init text). From then on the sites in this code are
    /// not written any more, and all other sites of their keys flip as before. A site belongs to this code if one of its bytes lies in it.
    /// It can be called once for the kernel, and once for each module. It returns false if code of the same object was freed before, if
    /// nothing lies at these addresses, or if they are not all code of one object.
    ///
    /// A static call must not lead to this code any more.
    ///
    /// # Errors
    /// The errors of [`Lock::take`](jumplabel::Lock::take).
    pub fn free(&self, code: &Range<usize>) -> Result<bool, Error> {
        let mut lock = jumplabel::Lock::take()?;
        let contains = |slot: &&Slot| slot.get().code.start <= code.start && code.end <= slot.get().code.end;
        let done = !code.is_empty() && self.objects.iter().find(contains).is_some_and(|slot| slot.free(code));
        lock.read_tables_anew();
        Ok(done)
    }

    /// Whether no other CPU has come yet. After the end this is false: other CPUs may be there and run, though nobody can stop them any
    /// more.
    pub(crate) fn is_early(&self) -> bool {
        self.phase.load(Ordering::Acquire) == EARLY
    }

    /// Refuses all flips until this object goes.
    fn refuse(&self, record: usize) {
        let is_noted =
            |place: &AtomicUsize| match place.compare_exchange(0, record, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => true,
                Err(now) => now == record,
            };
        if let (false, [.., last]) = (self.unbounded.iter().any(is_noted), &self.unbounded) {
            last.store(TOO_MANY, Ordering::Relaxed);
        }
    }

    /// Calls `work` while all other CPUs stand still. Also returns whether all of them went on again.
    pub(crate) fn stopped<T>(&self, work: impl FnOnce() -> T) -> Result<(T, bool), Refusal> {
        if self.is_early() {
            return Ok((work(), true));
        }
        self.rendezvous.stop(&self.machine)?;
        let done = work();
        let gone = self.rendezvous.go(&self.machine);
        Ok((done, gone.is_ok()))
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
        let token = self.lock.take(&self.machine, || self.answer())?;
        let unbounded = self.unbounded.iter().map(|record| record.load(Ordering::Relaxed)).find(|&record| record != 0);
        // This is looked at after the lock was taken. So a caller that is refused knows that nobody has the lock, and that nobody gets it.
        let Some(object) = unbounded else { return Ok(token) };
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
        let mut pen = Pen { machine: &self.machine, serialise: &serialise, unsynced: false };
        let (result, gone) = self.stopped(|| body(&mut pen)).map_err(Failure::Refused)?;
        let visibility = if gone && !pen.unsynced { Visibility::Immediate } else { Visibility::Eventual };
        result.map(|()| WriteReport { visibility, ..WriteReport::default() })
    }

    fn core_sync(&self, _: &mut Held) -> Result<(), Refusal> {
        self.stopped(|| self.serialise())?.0
    }

    fn is_alone(&self, _: &mut Held) -> bool {
        self.is_early()
    }

    fn place(&self, record: usize) -> Place {
        let found = self.objects.iter().position(|slot| slot.get().all.contains(&record));
        // SAFETY: the library asks where one of its records lies.
        let object = unsafe { &*(record as *const Object) };
        let is_bounded = |at: usize| self.objects.get(at).is_some_and(|slot| object.has_bounds(&slot.get().all));
        if !found.is_some_and(is_bounded) {
            self.refuse(record);
        }
        // The first word is the place of the linker's address 0.
        Place { words: [0, found.map_or(0, |at| at + 1), 0], in_program: found == Some(0), guarded: false }
    }

    unsafe fn image(&self, [_, number, _]: [usize; 3]) -> Option<Image> {
        let slot = self.objects.get(number.checked_sub(1)?)?;
        let Bounds { code, all } = slot.get();
        let image = Image::of([((code.start, code.end), true), ((all.start, all.end), false)].into_iter());
        image.map(|image| image.without(slot.freed()))
    }
}
