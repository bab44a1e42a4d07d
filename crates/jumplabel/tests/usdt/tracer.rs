//! A tracer within the process, which does what the kernel does for a tracer from 6.18 on: the nop of the note becomes a call, which pushes what
//! it needs onto the stack. One at a time.

use std::arch::global_asm;
use std::sync::Mutex;

use super::note::{Note, read, write};

/// What the call finds.
struct Seen {
    arguments: Vec<(i32, usize)>,
    also: fn(&mut Vec<u64>),
    words: Vec<u64>,
    hits: usize,
}

static SEEN: Mutex<Option<Seen>> = Mutex::new(None);

// Pushes as much as fits below the stack pointer where no function may keep anything, were it not for the red zone.
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

/// The nop was executed; `rax` is what the notes of Rust lead from.
extern "C" fn seen(rax: usize) {
    let mut all = SEEN.lock().unwrap();
    let seen = all.as_mut().unwrap();
    seen.hits += 1;
    seen.words = seen.arguments.iter().map(|&(size, offset)| value(size, rax + offset)).collect();
    (seen.also)(&mut seen.words);
}

/// The value of a size that a note says.
fn value(size: i32, at: usize) -> u64 {
    match size {
        1 => u8::from_le_bytes(read(at)).into(),
        2 => u16::from_le_bytes(read(at)).into(),
        4 => u32::from_le_bytes(read(at)).into(),
        -1 => i64::from(i8::from_le_bytes(read(at))) as u64,
        -2 => i64::from(i16::from_le_bytes(read(at))) as u64,
        -4 => i64::from(i32::from_le_bytes(read(at))) as u64,
        _ => u64::from_le_bytes(read(at)),
    }
}

/// A tracer that is attached.
pub struct Tracer(Note);

impl Tracer {
    /// Writes the call, and counts the semaphore up.
    pub fn attach(provider: &str, name: &str) -> Tracer {
        let note = Note::of(provider, name);
        let argument = |text: &str| {
            let (size, place) = text.split_once('@').unwrap();
            let offset = place.strip_suffix("(%rax)").unwrap_or_else(|| panic!("{text}"));
            (size.parse().unwrap(), offset.parse().unwrap())
        };
        let arguments = note.arguments.split_whitespace().map(argument).collect();
        let old = SEEN.lock().unwrap().replace(Seen { arguments, also: |_| (), words: Vec::new(), hits: 0 });
        assert!(old.is_none());
        let distance = usdt_tracer_call as *const () as isize - (note.address as isize + 5);
        let mut call = [0xe8, 0, 0, 0, 0];
        call[1..].copy_from_slice(&i32::try_from(distance).unwrap().to_le_bytes());
        write(note.address, &call);
        let tracer = Tracer(note);
        tracer.count(1);
        tracer
    }

    /// Counts the semaphore up or down.
    pub fn count(&self, by: i16) {
        let now = i16::from_le_bytes(read(self.0.semaphore));
        write(self.0.semaphore, &(now + by).to_le_bytes());
    }

    /// Has more be read while the arguments are there.
    pub fn read_also(&self, also: fn(&mut Vec<u64>)) {
        SEEN.lock().unwrap().as_mut().unwrap().also = also;
    }

    /// The arguments of the last emission.
    pub fn taken(&self) -> Vec<u64> {
        std::mem::take(&mut SEEN.lock().unwrap().as_mut().unwrap().words)
    }

    pub fn hits(&self) -> usize {
        SEEN.lock().unwrap().as_ref().unwrap().hits
    }
}

impl Drop for Tracer {
    /// Counts down, and leaves the call until the last.
    fn drop(&mut self) {
        self.count(-1);
        write(self.0.address, &[0x0f, 0x1f, 0x44, 0, 0]);
        *SEEN.lock().unwrap() = None;
    }
}

/// Emits as a tracepoint would whose words may be in the red zone, as if its nop were a call. Whether the tracer gets them.
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
