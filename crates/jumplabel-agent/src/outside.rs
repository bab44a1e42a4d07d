//! Data that a tool reads from the memory of a process with this crate, whether an agent runs there or not. From these data, `jumplabel set --force`
//! learns where the agent's socket is, and which keys an operator must not change. The struct `Outside` has this layout:
//!
//! ```text
//!   0   MAGIC, VERSION          in writable data, at a multiple of 8
//!  12   pid                     of the process whose agent runs, in its own pid namespace; 0 if there is no agent
//!  16   socket ───────────────► the path of that agent's socket, with a zero byte at the end
//!  24   declared ─────────────► Text[count]: the selectors of startup!, which take effect when an agent starts
//!  32   count
//!  40   forbidden ────────────► next, Text ──► next, Text ... 0     the selectors of no_remote
//! ```

use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use jumplabel_selector::What;

/// The first eight bytes of `Outside`, as two words.
pub const MAGIC: [u32; 2] = [0x6167_6a6c, 0x746e_e65e];
/// The version of this layout.
pub const VERSION: u32 = 1;
/// The offset in `Outside` of the number of the process whose agent runs.
pub const PID: usize = offset_of!(Outside, pid);
/// The offset in `Outside` of the pointer to the socket's path.
pub const SOCKET: usize = offset_of!(Outside, socket);
/// The offset in `Outside` of the pointer to the selectors that `startup!` declares.
pub const DECLARED: usize = offset_of!(Outside, declared);
/// The offset in `Outside` of the number of selectors that `startup!` declares.
pub const COUNT: usize = offset_of!(Outside, count);
/// The offset in `Outside` of the pointer to the first element of the list of `no_remote`'s selectors.
pub const FORBIDDEN: usize = offset_of!(Outside, forbidden);
/// The offset of the text in an element of that list.
pub const TEXT: usize = offset_of!(Forbidden, text);

/// A text of the program that lives for ever, in a layout that tools can read.
#[doc(hidden)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    address: *const u8,
    length: usize,
}

// SAFETY: a `Text` is made of a `&'static str`, which all threads may read.
unsafe impl Sync for Text {}

impl Text {
    #[doc(hidden)]
    pub const fn new(text: &'static str) -> Text {
        Text { address: text.as_ptr(), length: text.len() }
    }

    pub(crate) fn get(self) -> &'static str {
        // SAFETY: `new` has taken address and length from a `&'static str`.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.address, self.length)) }
    }
}

/// An element of the list of `no_remote`'s selectors. It is never freed. Tools read the first two fields.
#[repr(C)]
pub(crate) struct Forbidden {
    pub next: *const Forbidden,
    /// The selector as it was written.
    pub text: Text,
    pub what: What,
    /// The reason, in the program's words.
    pub reason: Option<&'static str>,
}

#[repr(C)]
pub(crate) struct Outside {
    magic: [u32; 2],
    version: u32,
    pid: AtomicU32,
    socket: AtomicPtr<u8>,
    declared: AtomicPtr<Text>,
    count: AtomicUsize,
    pub forbidden: AtomicPtr<Forbidden>,
}

pub(crate) static OUTSIDE: Outside = Outside {
    magic: MAGIC,
    version: VERSION,
    pid: AtomicU32::new(0),
    socket: AtomicPtr::new(ptr::null_mut()),
    declared: AtomicPtr::new(ptr::null_mut()),
    count: AtomicUsize::new(0),
    forbidden: AtomicPtr::new(ptr::null_mut()),
};

impl Outside {
    /// Publishes that an agent runs, and where it listens.
    pub fn agent(&self, pid: u32, socket: &'static std::ffi::CStr) {
        self.socket.store(socket.as_ptr().cast_mut().cast(), Ordering::Release);
        self.pid.store(pid, Ordering::Release);
    }

    /// Publishes that no agent runs.
    pub fn no_agent(&self) {
        self.pid.store(0, Ordering::Release);
    }

    /// Publishes the selectors of the process's first `startup!`. Later calls do nothing.
    pub fn declare(&self, texts: &'static [Text]) {
        let first = texts.as_ptr().cast_mut();
        if self.declared.compare_exchange(ptr::null_mut(), first, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.count.store(texts.len(), Ordering::Release);
        }
    }

    /// The selectors that [`declare`](Self::declare) has published.
    pub fn declared(&self) -> &'static [Text] {
        match self.count.load(Ordering::Acquire) {
            0 => &[],
            // SAFETY: `declare` stores the address of a slice that lives for ever, and then its length (`Release`). This load has found the length,
            // so the address is there, too.
            count => unsafe { std::slice::from_raw_parts(self.declared.load(Ordering::Acquire), count) },
        }
    }
}
