//! The loads. Each turn disables interrupts, locks, writes an entry, clears memory, reads the entry, unlocks, and restores interrupts.
//!
//! The loads differ in the memory that a turn clears. The lock-dense load clears 64 bytes. The sparse load clears 32 pages, like the commit's `mmap`
//! benchmark; each turn clears the next 32 pages of a megabyte.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::hint::black_box;

use jumplabel_paravirt::irq::Cpu;

use super::ways::Way;

/// The number of link layouts. Each layout has a copy of each loop, which begins 16 bytes further than the copy of the previous layout.
pub const LAYOUTS: usize = 16;

/// A value on a cache line of its own.
#[repr(align(64))]
struct Line<T>(T);

/// The number of words that a turn clears: a cache line (`DENSE`), or 32 pages.
pub const DENSE: usize = 8;
pub const SPARSE: usize = 16384;

/// The number of words in a megabyte.
const MEMORY: usize = 1 << 17;

/// The memory that turns use.
#[repr(align(64))]
struct Machine {
    memory: [u64; MEMORY],
    cpu: Line<Cpu>,
    lock: Line<u32>,
    entry: Line<u64>,
}

struct Alone(UnsafeCell<Machine>);
// SAFETY: this command has only one thread that uses it.
unsafe impl Sync for Alone {}

static MACHINE: Alone =
    Alone(UnsafeCell::new(Machine { memory: [0; MEMORY], cpu: Line(Cpu::new()), lock: Line(0), entry: Line(0) }));

/// The code between `enter` and its caller. It takes the lock, and checks that nobody else held it.
///
/// # Safety
/// `lock` is the address of the word of a lock.
#[inline(always)]
unsafe fn lock<W: Way>(lock: *mut u32) {
    #[cold]
    fn held() {
        panic!("nobody else takes this lock");
    }
    // SAFETY: the caller passes the address of the word of a lock.
    let ticket = unsafe { W::enter(lock) };
    if ticket as u16 != (ticket >> 16) as u16 {
        held();
    }
}

/// Makes each copy of a function different, because the compiler merges equal functions.
macro_rules! own {
    () => {
        asm!(".subsection 1\n.skip {layout}*16 + 0*{copy}\n.previous", layout = const L, copy = const C, options(nomem, nostack))
    };
}

/// # Safety
/// `word` is the address of the word of a lock.
#[inline(never)]
unsafe fn spin_lock<W: Way, const C: usize, const L: usize>(word: *mut u32) {
    // SAFETY: the caller passes the address of the word of a lock. The assembler executes nothing.
    unsafe {
        own!();
        lock::<W>(word);
    }
}

/// # Safety
/// `word` is the address of the word of a lock, which the caller holds.
#[inline(never)]
unsafe fn spin_unlock<W: Way, const C: usize, const L: usize>(word: *mut u32) {
    // SAFETY: the caller passes the address of the word of a lock that it holds. The assembler executes nothing.
    unsafe {
        own!();
        W::leave(word);
    }
}

/// Runs `turns` turns of copy `C`, which layout `L` has moved. Each turn clears `WORDS` words.
#[inline(never)]
pub fn turns<W: Way, const IS_INLINED: bool, const WORDS: usize, const C: usize, const L: usize>(turns: u64) -> u64 {
    let machine = black_box(MACHINE.0.get());
    // SAFETY: nobody else uses the machine. The assembler jumps over the bytes that move the loop.
    unsafe {
        own!();
        asm!("jmp 2f\n.skip {layout}*16,0xcc\n2:", layout = const L, options(nomem, nostack));
        let (memory, cpu) = ((&raw mut (*machine).memory).cast::<u64>(), (*machine).cpu.0.as_ptr());
        let (word, entry) = (&raw mut (*machine).lock.0, &raw mut (*machine).entry.0);
        let mut sum = 0_u64;
        for turn in 0..turns {
            let flags = W::save(cpu);
            W::disable(cpu);
            if IS_INLINED {
                lock::<W>(word);
            } else {
                spin_lock::<W, C, L>(word);
            }
            W::set(entry, turn);
            if WORDS == DENSE {
                for at in 0..WORDS {
                    memory.add(at).write_volatile(turn);
                }
            } else {
                // Every compiler gets the same ten instructions for eight words. So the time depends on the stores, and not on the address of the
                // loop.
                let end = memory.add(turn as usize * WORDS % MEMORY + WORDS);
                asm!(
                    "2: mov [{end} + {at}], {turn}\nmov [{end} + {at} + 8], {turn}\nmov [{end} + {at} + 16], {turn}",
                    "mov [{end} + {at} + 24], {turn}\nmov [{end} + {at} + 32], {turn}\nmov [{end} + {at} + 40], {turn}",
                    "mov [{end} + {at} + 48], {turn}\nmov [{end} + {at} + 56], {turn}\nadd {at}, 64\njnz 2b",
                    end = in(reg) end, turn = in(reg) turn, at = inout(reg) -8 * (WORDS as isize) => _, options(nostack)
                );
            }
            sum = sum.wrapping_add(W::read(entry));
            if IS_INLINED {
                W::leave(word);
            } else {
                spin_unlock::<W, C, L>(word);
            }
            W::restore(cpu, flags);
        }
        sum
    }
}

/// Resets the machine: nobody has the lock, in the format of any backend, and interrupts are on.
pub fn reset() {
    // SAFETY: only this command's one thread works on the machine, and it is here.
    unsafe {
        (*MACHINE.0.get()).lock.0 = 0;
        (*MACHINE.0.get()).cpu.0 = Cpu::new();
    }
}

/// The present word of the lock.
pub fn word() -> u32 {
    // SAFETY: only this command's one thread works on the machine. The read is volatile: assembler writes the word.
    unsafe { (&raw const (*MACHINE.0.get()).lock.0).read_volatile() }
}
