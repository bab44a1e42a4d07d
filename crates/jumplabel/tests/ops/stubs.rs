//! Stubs keep registers, the red zone, and the way to the caller.

use std::arch::asm;
use std::sync::atomic::{AtomicBool, Ordering};

use jumplabel::{Error, ops};
use jumplabel_testing::scenario::passes;

use super::{COUNTER, Counting, count};

/// All registers that a backend may write and in which the compiler may keep something: after the operation they are as after its native
/// instruction.
#[test]
fn registers() {
    if !is_x86_feature_detected!("avx") {
        return;
    }
    passes(|| {
        let native = kept();
        for backend in [Counting::Twice, Counting::Closed, Counting::Slow, Counting::Silent] {
            COUNTER.set(backend).unwrap();
            assert_eq!(kept(), native, "{backend:?}");
        }
        // The broken twin of this test: a function that writes what it may, where the instruction is, is found out.
        WRITES.store(true, Ordering::Relaxed);
        assert_ne!(kept(), native);
    });
}

static WRITES: AtomicBool = AtomicBool::new(false);

type Registers = ([u64; 8], [[u64; 4]; 16]);

/// The contents of the registers after the operation.
#[inline(never)]
fn kept() -> Registers {
    let general: [u64; 8] = std::array::from_fn(|at| 0x1111_2222_3333_4400 + at as u64);
    let wide: [[u64; 4]; 16] = std::array::from_fn(|at| std::array::from_fn(|word| (at * 16 + word + 1) as u64));
    let (mut general_after, mut wide_after) = ([0; 8], [[0; 4]; 16]);
    let counter = u32::MAX - 200;
    // SAFETY: loads all registers, jumps to the operation's function and stores them.
    unsafe {
        asm!(
            "push rbx", "push rbp", "mov rbx, {site}", "mov rbp, rsp", "and rsp, -64", "push r14", "push r15",
            "vmovups ymm0, [r13]", "vmovups ymm1, [r13+32]", "vmovups ymm2, [r13+64]", "vmovups ymm3, [r13+96]",
            "vmovups ymm4, [r13+128]", "vmovups ymm5, [r13+160]", "vmovups ymm6, [r13+192]", "vmovups ymm7, [r13+224]",
            "vmovups ymm8, [r13+256]", "vmovups ymm9, [r13+288]", "vmovups ymm10, [r13+320]", "vmovups ymm11, [r13+352]",
            "vmovups ymm12, [r13+384]", "vmovups ymm13, [r13+416]", "vmovups ymm14, [r13+448]", "vmovups ymm15, [r13+480]",
            "mov rax, [r12]", "mov rcx, [r12+8]", "mov rdx, [r12+16]", "mov rsi, [r12+24]",
            "mov r8, [r12+32]", "mov r9, [r12+40]", "mov r10, [r12+48]", "mov r11, [r12+56]",
            "call rbx",
            "mov rdi, [rsp+8]", "mov [rdi], rax", "mov [rdi+8], rcx", "mov [rdi+16], rdx", "mov [rdi+24], rsi",
            "mov [rdi+32], r8", "mov [rdi+40], r9", "mov [rdi+48], r10", "mov [rdi+56], r11",
            "mov rdi, [rsp]",
            "vmovups [rdi], ymm0", "vmovups [rdi+32], ymm1", "vmovups [rdi+64], ymm2", "vmovups [rdi+96], ymm3",
            "vmovups [rdi+128], ymm4", "vmovups [rdi+160], ymm5", "vmovups [rdi+192], ymm6", "vmovups [rdi+224], ymm7",
            "vmovups [rdi+256], ymm8", "vmovups [rdi+288], ymm9", "vmovups [rdi+320], ymm10", "vmovups [rdi+352], ymm11",
            "vmovups [rdi+384], ymm12", "vmovups [rdi+416], ymm13", "vmovups [rdi+448], ymm14", "vmovups [rdi+480], ymm15",
            "vzeroupper", "mov rsp, rbp", "pop rbp", "pop rbx",
            site = in(reg) operation as *const (),
            in("r12") &raw const general,
            in("r13") &raw const wide,
            in("r14") &raw mut general_after,
            in("r15") &raw mut wide_after,
            inout("rdi") &raw const counter => _,
            clobber_abi("C"),
        );
    }
    (general_after, wide_after)
}

/// A function with nothing but the operation: registers hold what the caller put there.
#[inline(never)]
unsafe extern "C" fn operation(counter: *const u32) {
    // SAFETY: a number.
    unsafe { count(counter) };
    if WRITES.load(Ordering::Relaxed) {
        trace_registers();
    }
}

/// Writes some of these registers.
fn trace_registers() {
    // SAFETY: the operands list every register that this writes.
    unsafe {
        asm!("pcmpeqd xmm0, xmm0", "pcmpeqd xmm15, xmm15", out("xmm0") _, out("xmm15") _, options(nomem, nostack))
    };
}

ops! {
    /// A table of one operation, which looks around.
    static LOOKING: Looking = { Native, Traced };

    /// The operation does nothing, or takes a backtrace.
    fn look(at: u64) -> u64 {
        Native => nothing_there, x86_64 unsafe { "{{disp32}} lea {ret}, [{at} + 0]" };
        Traced => backend_that_traces;
    }
}

extern "C" fn nothing_there(_: u64) -> u64 {
    0
}

/// Writes all registers that it may write, and unwinds its own stack.
extern "C" fn backend_that_traces(at: u64) -> u64 {
    assert!(std::panic::catch_unwind(|| std::panic::resume_unwind(Box::new(1))).is_err());
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    let position = |name: &str| trace.find(name).unwrap_or_else(|| panic!("no {name}: {trace}"));
    assert!(
        position("backend_that_traces") < position("caller_of_look")
            && position("caller_of_look") < position("backtraces"),
        "{trace}"
    );
    assert!(std::ptr::from_ref(&at).addr().is_multiple_of(8));
    // SAFETY: asks for the stack pointer, and overwrites what lies below.
    unsafe {
        let mut stack: u64;
        asm!("mov {}, rsp", out(reg) stack, options(nomem, nostack));
        std::hint::black_box(&mut stack);
        asm!("pcmpeqd xmm0, xmm0", "pcmpeqd xmm7, xmm7", "pcmpeqd xmm15, xmm15", out("xmm0") _, out("xmm7") _, out("xmm15") _);
    }
    at + 1
}

#[inline(never)]
fn caller_of_look(at: u64) -> u64 {
    std::hint::black_box(look(std::hint::black_box(at)) + 1)
}

/// From a backend that is called, an unwinder finds the way to the caller of the operation.
#[test]
fn backtraces() {
    passes(|| {
        assert_eq!(caller_of_look(7), 8);
        LOOKING.set(Looking::Traced).unwrap();
        assert_eq!(caller_of_look(7), 9);
    });
}

ops! {
    /// A table of an operation that cannot be in place.
    static BAD: Bad = { Native, Other };

    /// Two instructions.
    fn two(at: u64) -> u64 {
        Native => nothing_there, x86_64 unsafe { "xor {ret}, {ret}\n{{disp32}} lea {ret}, [{at} + 1]" };
        Other => backend_that_traces;
    }
}

#[test]
fn two_instructions() {
    passes(|| {
        std::hint::black_box(two(1));
        let error = BAD.set(Bad::Other).unwrap_err();
        assert_eq!((error, BAD.query()), (Error::UnfitOp { op: "two" }, Bad::Native));
        assert!(
            error.to_string().starts_with("the operation two cannot be in place: give it one instruction"),
            "{error}"
        );
    });
}
