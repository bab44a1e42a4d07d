//! What a tool finds in the memory of a process with this library, whether an agent runs there or not. It tells `jumplabel set --force`
//! where the socket of the agent is, and which keys nobody may change from outside. The struct `Outside` has this layout:
//!
//! ```text
//!   0   MAGIC, VERSION          in data that the program may write, at a multiple of 8
//!  12   pid                     of the process whose agent runs, in its own pid namespace; 0 if there is no agent
//!  16   socket ───────────────► the path of its socket, with a zero byte behind it
//!  24   declared ─────────────► Text[count]: selectors of startup!, looked at when an agent starts
//!  32   count
//!  40   forbidden ────────────► next ──► ... 0     selectors of no_remote: a Text behind each `next`
//! ```

use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use jumplabel_selector::What;

/// The first eight bytes.
pub const MAGIC: [u32; 2] = [0x6167_6a6c, 0x746e_e65e];
/// Of this layout.
pub const VERSION: u32 = 1;
/// Where the number of the process is.
pub const PID: usize = offset_of!(Outside, pid);
/// Where the address of the socket's path is.
pub const SOCKET: usize = offset_of!(Outside, socket);
/// Where the address of what `startup!` declares is.
pub const DECLARED: usize = offset_of!(Outside, declared);
/// Where their number is.
pub const COUNT: usize = offset_of!(Outside, count);
/// Where the address of the first selector of `no_remote` is.
pub const FORBIDDEN: usize = offset_of!(Outside, forbidden);
/// Where the text of such a selector is.
pub const TEXT: usize = offset_of!(Forbidden, text);

/// A text of the program's, which is there for good.
#[doc(hidden)]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    address: *const u8,
    length: usize,
}

// SAFETY: nobody writes to it.
unsafe impl Sync for Text {}

impl Text {
    #[doc(hidden)]
    pub const fn new(text: &'static str) -> Text {
        Text { address: text.as_ptr(), length: text.len() }
    }

    pub(crate) fn get(self) -> &'static str {
        // SAFETY: by `new`.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.address, self.length)) }
    }
}

/// A selector of `no_remote`, which is never freed. Tools read the first two fields.
#[repr(C)]
pub(crate) struct Forbidden {
    pub next: *const Forbidden,
    /// As it was written.
    pub text: Text,
    pub what: What,
    /// The program's words.
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
    /// Says that an agent runs, and where it listens.
    pub fn agent(&self, pid: u32, socket: &'static std::ffi::CStr) {
        self.socket.store(socket.as_ptr().cast_mut().cast(), Ordering::Release);
        self.pid.store(pid, Ordering::Release);
    }

    /// Says that none runs.
    pub fn no_agent(&self) {
        self.pid.store(0, Ordering::Release);
    }

    /// Notes what `startup!` names; the first time.
    pub fn declare(&self, texts: &'static [Text]) {
        let first = texts.as_ptr().cast_mut();
        if self.declared.compare_exchange(ptr::null_mut(), first, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.count.store(texts.len(), Ordering::Release);
        }
    }

    /// What `startup!` names.
    pub fn declared(&self) -> &'static [Text] {
        match self.count.load(Ordering::Acquire) {
            0 => &[],
            // SAFETY: a slice that `declare` was given, which says its length last.
            count => unsafe { std::slice::from_raw_parts(self.declared.load(Ordering::Acquire), count) },
        }
    }
}
