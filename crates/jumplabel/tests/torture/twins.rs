//! Broken twins: writers that do what the real ones must not do. The suite has to find each of them out.
//!
//! | twin | what it does | found out by |
//! |---|---|---|
//! | `Steps` | all that the engine asks for: not broken, the control | nothing |
//! | `Bytes` | all five bytes of the new state at once, one by one, with time between them | a trap |
//! | `Word` | all five bytes, and the three behind them, by one unaligned store | a trap |
//! | `Forgets` | leaves the last site out | readers, to whom its arm was promised |

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

use jumplabel::patch::{EditList, Failure, Step, plan::Edit, plan::Summary};
use jumplabel::text::{Text, Visibility, Warnings, Writer, Written, builtin, set_text};
use jumplabel::{Errno, WriterKind, arch};

use crate::wrapped::{Body, Opens, Wrapped};

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    Steps,
    Bytes,
    Word,
    Forgets,
}

static TEXTS: [&dyn Text; 4] =
    [&Wrapped(Twin::Steps), &Wrapped(Twin::Bytes), &Wrapped(Twin::Word), &Wrapped(Twin::Forgets)];

impl Twin {
    /// Makes all flips from now on go through this writer.
    pub fn install(self) {
        FORGETS.store(self == Twin::Forgets, Ordering::Relaxed);
        // SAFETY: before the first flip. The contract is broken on purpose, in a process of its own.
        unsafe { set_text(&TEXTS[self as usize]) };
    }
}

static FORGETS: AtomicBool = AtomicBool::new(false);

/// Whether the flipper, which would see from the outcomes that sites were left out, is to leave it to the readers.
pub fn is_for_readers() -> bool {
    FORGETS.load(Ordering::Relaxed)
}

impl Opens for Twin {
    fn choose(&self, _: &Summary, attempt: u32) -> Option<WriterKind> {
        (attempt == 0).then_some(WriterKind::Custom)
    }

    unsafe fn open(&self, _: WriterKind, edits: &EditList, body: Body<'_>) -> Result<Written, Failure> {
        let page = builtin().page_size();
        for edit in edits {
            // The word twin writes eight bytes.
            let (start, end) = (edit.address / page * page, edit.address + 8);
            let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            // SAFETY: pages of text; they stay writable, which costs little time, so that there is more for flips.
            assert_eq!(unsafe { libc::mprotect(start as *mut libc::c_void, end - start, all) }, 0);
        }
        body(&mut Own { twin: *self, done: false })?;
        Ok(Written { visibility: Visibility::Immediate, warnings: Warnings::default() })
    }
}

/// The writer of one transaction.
struct Own {
    twin: Twin,
    /// Those who ignore the steps write all at the first one.
    done: bool,
}

impl Writer for Own {
    unsafe fn write(&mut self, edits: &EditList, step: Step) -> Result<(), (usize, Errno)> {
        match self.twin {
            Twin::Steps => take(edits, step),
            Twin::Forgets => take(&edits[..edits.len() - 1], step),
            Twin::Bytes if !self.done => edits.iter().for_each(bytes),
            Twin::Word if !self.done => edits.iter().for_each(word),
            Twin::Bytes | Twin::Word => {}
        }
        self.done = true;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Errno> {
        const PRIVATE_EXPEDITED_SYNC_CORE: i32 = 1 << 5;
        const REGISTER: i32 = 1 << 6;
        static REGISTERED: AtomicU32 = AtomicU32::new(0);
        // SAFETY: membarrier with two integers.
        unsafe {
            if REGISTERED.swap(1, Ordering::Relaxed) == 0 {
                assert_eq!(libc::syscall(libc::SYS_membarrier, REGISTER, 0), 0);
            }
            assert_eq!(libc::syscall(libc::SYS_membarrier, PRIVATE_EXPEDITED_SYNC_CORE, 0), 0);
        }
        Ok(())
    }
}

/// As the engine asks.
fn take(edits: &EditList, step: Step) {
    for edit in edits {
        let Some(piece) = step.piece(edit) else { continue };
        let first = edit.address + usize::from(piece.offset);
        for (byte, address) in piece.bytes().iter().zip(first..) {
            // SAFETY: a byte of a site on a page that is open.
            unsafe { (address as *mut u8).write_volatile(*byte) };
        }
    }
}

fn bytes(edit: &Edit) {
    for (byte, address) in arch::encode(edit.to, edit.displacement).iter().zip(edit.address..) {
        // SAFETY: as above.
        unsafe { (address as *mut u8).write_volatile(*byte) };
        (0..100).for_each(|_| std::hint::spin_loop());
    }
}

fn word(edit: &Edit) {
    // SAFETY: the site and the three bytes behind it, which are of its function.
    let mut word = unsafe { (edit.address as *const [u8; 8]).read_volatile() };
    word[..arch::SITE_SIZE].copy_from_slice(&arch::encode(edit.to, edit.displacement));
    compiler_fence(Ordering::SeqCst);
    // SAFETY: one instruction that stores eight bytes.
    unsafe {
        std::arch::asm!("movq [{}], {}", in(reg) edit.address, in(xmm_reg) f64::from_le_bytes(word));
    }
}
