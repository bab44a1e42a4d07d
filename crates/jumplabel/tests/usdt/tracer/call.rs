//! The kernel's work for a tracer from 6.18 on: the nop of the note becomes a call, which pushes what it needs onto the stack.

use std::arch::global_asm;

use super::{SEEN, Seen, seen};
use crate::note::write;

// Pushes words below the stack pointer, where a function may keep something only in the red zone.
global_asm!(
    ".globl usdt_tracer_call",
    "usdt_tracer_call:",
    "push rax; push rcx; push rdx; push rsi; push rdi; push r8; push r9; push r10; push r11; push rbx; pushfq; cld",
    "mov rdi, rax; mov rbx, rsp; and rsp, -16; sub rsp, 528; fxsave64 [rsp]; call {seen}; fxrstor64 [rsp]; mov rsp, rbx",
    "popfq; pop rbx; pop r11; pop r10; pop r9; pop r8; pop rdi; pop rsi; pop rdx; pop rcx; pop rax; ret",
    seen = sym seen,
);

unsafe extern "C" {
    fn usdt_tracer_call();
}

/// Writes the call.
pub fn hook(address: usize) {
    let distance = usdt_tracer_call as *const () as isize - (address as isize + 5);
    let mut call = [0xe8, 0, 0, 0, 0];
    call[1..].copy_from_slice(&i32::try_from(distance).unwrap().to_le_bytes());
    write(address, &call);
}

/// Emits like a tracepoint whose words may be in the red zone, as if its nop were a call. Returns whether the tracer gets the words.
pub fn arrive_in_the_red_zone() -> bool {
    #[inline(never)]
    fn emission(first: u64, second: u64) {
        let words = [[first, 0], [second, 0]];
        // SAFETY: it is what the call of a nop does, but that the options say what the note's must not: that nobody uses the stack.
        unsafe {
            std::arch::asm!(
                "call {call}",
                call = sym usdt_tracer_call,
                in("rax") words.as_ptr(),
                options(readonly, nostack, preserves_flags),
            );
        }
    }
    let arguments = vec![(8, 0), (8, 16)];
    *SEEN.lock().unwrap() = Some(Seen { arguments, also: |_| (), words: Vec::new(), hits: 0 });
    let [first, second] = std::hint::black_box([11, 12]);
    emission(first, second);
    SEEN.lock().unwrap().take().unwrap().words == [11, 12]
}
