//! Tests that other instruction sets run in user space, or in the kernel with firmware. RISC-V of 32 bits has only this kernel, so the tests run
//! here: keys, naked keys, switches, tables of operations, static calls to near and far functions, keys that load, and the stack that flips take.

use core::arch::asm;
use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::Relaxed;

use jumplabel::{
    Error, modes, prepare, static_branch_likely, static_branch_unlikely, static_call, static_key, static_mode,
    static_switch, verify,
};
use jumplabel_kernel::Machine;

use crate::machine::{Here, REFUSES};
use crate::say;

#[path = "../../../crates/jumplabel/tests/conformance/keys.rs"]
mod keys;
#[path = "../../../crates/jumplabel/tests/conformance/naked.rs"]
mod naked;
#[path = "../../src/operations.rs"]
#[allow(dead_code)] // The other kernel uses all of it.
mod operations;
#[path = "../../../crates/jumplabel/tests/conformance/stack.rs"]
mod painted;

/// The measurement in `painted` reads this, because a kernel has other limits.
const IS_KERNEL: bool = true;

/// A stack for the tests, because those of this kernel have only 4 KiB.
#[repr(align(16))]
struct Stack(UnsafeCell<[u8; STACK]>);
const STACK: usize = 32 << 10;
static LARGE: Stack = Stack(UnsafeCell::new([0; STACK]));

// SAFETY: only hart 0 uses the stack.
unsafe impl Sync for Stack {}

/// Calls `work` on the large stack.
fn on_large_stack(work: extern "C" fn()) {
    let top = LARGE.0.get() as usize + STACK;
    // SAFETY: nobody else uses that stack, and `s2` keeps the pointer to the old one.
    unsafe {
        asm!("mv s2, sp", "mv sp, {top}", "jalr {work}", "mv sp, s2", top = in(reg) top, work = in(reg) work, out("s2") _, clobber_abi("C"));
    }
}

/// Measures the stack of flips. Interrupts are off meanwhile, because their handler uses the same stack.
pub fn stack(when: &str) {
    extern "C" fn rows() {
        let interrupts = Here.interrupts_off();
        painted::rows(&[(&[("a table of operations", operations::toggle)], painted::TABLE)], |name, taken, bound| {
            say!("  {name:<24} {taken:5} {bound:5}");
            assert!(taken <= bound, "{name} takes more stack than it may");
        });
        Here.restore(interrupts);
    }
    say!("stack in bytes, and the most that it may be, {when}:");
    on_large_stack(rows);
}

/// Runs the test of keys that load, on one hart: before the other tests, whose flips patch all sites that load.
pub fn loading() {
    extern "C" fn test() {
        loads().unwrap();
    }
    on_large_stack(test);
    say!("refused writes: checks load");
}

/// Runs the other tests, once.
pub fn run() {
    extern "C" fn all() {
        tests().unwrap();
    }
    on_large_stack(all);
}

macro_rules! of_keys {
    ($($body:ident)*) => { &[$(keys::$body),*] };
}
macro_rules! of_naked_keys {
    ($($body:ident)*) => { &[$(naked::$body),*] };
}
const BODIES: [&[fn()]; 2] = [keys::each!(of_keys), naked::each!(of_naked_keys)];

fn tests() -> Result<(), Error> {
    BODIES.iter().flat_map(|bodies| bodies.iter()).for_each(|body| body());
    switches()?;
    operations::run()?;
    calls()?;
    say!("{} tests of keys, {} of naked keys; switches, operations, calls", BODIES[0].len(), BODIES[1].len());
    assert!(verify()?.sites == 0);
    Ok(())
}

modes! { enum Mode { Fast, Checked, Traced } }
static_mode! { static MODE: Mode = Checked; }

fn switches() -> Result<(), Error> {
    #[inline(never)]
    fn seen() -> u32 {
        static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 })
    }
    assert!(seen() == 2);
    for (mode, number) in [(Mode::Traced, 3), (Mode::Fast, 1), (Mode::Checked, 2)] {
        MODE.set(mode)?;
        assert!(seen() == number);
    }
    Ok(())
}

/// A function whose arguments take all registers for arguments, and a part of the stack.
type Sum = fn(u64, [u32; 2], u8, u64, u16, u64, u32) -> u64;
static_call! { static SUM: fn(u64, [u32; 2], u8, u64, u16, u64, u32) -> u64 = sum; }

fn sum(a: u64, b: [u32; 2], c: u8, d: u64, e: u16, f: u64, g: u32) -> u64 {
    a + u64::from(b[0]) + 2 * u64::from(b[1]) + 3 * u64::from(c) + 4 * d + 5 * u64::from(e) + 6 * f + 7 * u64::from(g)
}

fn product(a: u64, b: [u32; 2], c: u8, d: u64, e: u16, f: u64, g: u32) -> u64 {
    a * u64::from(b[0]) * u64::from(b[1]) * u64::from(c) * d * u64::from(e) * f * u64::from(g)
}

/// The linker puts this function out of the reach of a jump.
#[unsafe(link_section = ".far")]
fn last(_: u64, _: [u32; 2], _: u8, _: u64, _: u16, _: u64, g: u32) -> u64 {
    u64::from(g)
}

fn calls() -> Result<(), Error> {
    let result = || SUM(1 << 40, [2, 3], 4, 5, 6, 7, 8);
    let [near, far] = [sum as Sum, last as Sum].map(|function| function as usize);
    assert!(far - near > 1 << 20);
    assert!(result() == (1 << 40) + 8 + 12 + 20 + 30 + 42 + 56);
    for (target, value) in [(product as Sum, 40320 << 40), (last, 8), (product, 40320 << 40), (last, 8)] {
        SUM.update(target)?;
        let found = result();
        assert!(found == value, "a call returned {found:#x} instead of {value:#x}");
    }
    SUM.update(sum)?;
    assert!(result() == (1 << 40) + 168);
    Ok(())
}

static_key! {
    static OFF: false, or_load;
    static ON: true, or_load;
}

/// Keys whose checks load until they are patched.
fn loads() -> Result<(), Error> {
    #[inline(never)]
    fn seen() -> [bool; 4] {
        [
            static_branch_likely!(OFF),
            static_branch_unlikely!(OFF),
            static_branch_likely!(ON),
            static_branch_unlikely!(ON),
        ]
    }
    let agrees = |off: bool, on: bool| {
        let found = seen();
        assert!(found == [off, off, on, on], "checks that load found {found:?}");
    };
    agrees(false, true);
    REFUSES.store(true, Relaxed);
    for _ in 0..2 {
        assert!(OFF.enable()?.loading == 2);
        agrees(true, true);
        assert!(ON.disable()?.loading == 2);
        agrees(true, false);
        assert!(OFF.disable()?.loading == 2);
        agrees(false, false);
        assert!(ON.enable()?.loading == 2);
        agrees(false, true);
    }
    REFUSES.store(false, Relaxed);
    assert!(prepare()?.sites > 0);
    agrees(false, true);
    assert!(OFF.enable()?.loading == 0 && ON.disable()?.loading == 0);
    agrees(true, false);
    Ok(())
}
