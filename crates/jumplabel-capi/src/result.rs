//! Errors for C: functions return 0 or a negated number of errno.h, and each number has a text. This file also has the functions that change one key
//! and return such an error.

use core::ffi::{CStr, c_char, c_int, c_long};

use jumplabel::text::Pieces;
use jumplabel::{Error, RawKey, same_in_c};

use crate::errno::*;
use crate::say::Heed;
use crate::system::is_mapped;

mod message;

/// The address of a key, as C passes it.
pub type Key = *const RawKey;

/// The reason why a call was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The address is not that of a key.
    NotAKey,
    /// The function is NULL, and the static call is not optional.
    Nowhere,
    /// The probe is NULL.
    NoProbe,
    /// The tracepoint already has this probe with these data.
    Registered,
    /// The tracepoint has no such probe with these data.
    NotRegistered,
    /// A `*_cpuslocked` function, or `jump_label_unlock`, was called by a thread that does not hold the lock.
    NotLocked,
    /// The core returned this error.
    Core(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Core(error)
    }
}

impl Refusal {
    /// Passes the text of a warning about this refusal to `pieces`, piece by piece.
    #[cold]
    pub(crate) fn tell(&self, pieces: Pieces<'_>) {
        match self {
            Refusal::Core(error) => message::tell(error, pieces),
            Refusal::Nowhere => pieces("NULL for a static call that was not defined by DEFINE_STATIC_CALL_NULL()"),
            Refusal::NoProbe => pieces("NULL for a tracepoint's probe"),
            Refusal::NotRegistered => pieces("the tracepoint has no such probe with these data"),
            refusal => jumplabel::text::name(text(refusal.code()), pieces),
        }
    }

    /// The negated error number, for a function that otherwise returns a count. (On Windows, `c_long` has only 32 bits.)
    #[must_use]
    pub fn long_code(self) -> c_long {
        self.code() as c_long
    }

    /// The negated error number. Linux uses the same numbers on all architectures that have sites.
    #[must_use]
    pub fn code(self) -> c_int {
        -c_int::from(self.number())
    }

    /// The error number without its sign.
    #[inline(never)] // So the compiler makes a table of bytes; inlined, one of words.
    fn number(self) -> u8 {
        match self {
            Refusal::NotAKey | Refusal::Nowhere | Refusal::NoProbe => EINVAL,
            Refusal::Registered => EEXIST,
            Refusal::NotRegistered => ENOENT,
            Refusal::NotLocked => EPERM,
            Refusal::Core(error) => match error {
                Error::Denied { .. } | Error::Unreadable { .. } => EACCES,
                Error::ForeignBytes { .. } => EADDRINUSE,
                Error::UnknownWriter => ENOENT,
                Error::NoWriter | Error::NoPlatform => ENOSYS,
                Error::Reentrant => EDEADLK,
                Error::Overflow => EOVERFLOW,
                Error::Underflow => ERANGE,
                Error::Counted { .. } => EBUSY,
                Error::Sealed => EROFS,
                Error::NotCode { .. } => EFAULT,
                Error::Circular { .. } => ELOOP,
                Error::NoSuchMode { .. }
                | Error::NoSuchCpu { .. }
                | Error::UnfitOp { .. }
                | Error::UnfitAlternative { .. }
                | Error::IsTable => EINVAL,
                Error::OutOfRange { .. }
                | Error::DamagedTable { .. }
                | Error::CopiedCode { .. }
                | Error::UnknownKind { .. }
                | Error::NoBounds { .. } => ENOEXEC,
                Error::MultiThreaded { .. } => EAGAIN,
                Error::OutOfMemory => ENOMEM,
                Error::TooEarly => EINPROGRESS,
                _ => EIO,
            },
        }
    }
}

/// A `match` whose texts are statics, so that a linker leaves out each text that nothing uses. (Compilers put all constant texts into one section,
/// and GNU ld keeps a section as a whole.)
macro_rules! text_of {
    ($number:expr, $($error:pat => $text:expr,)*) => {
        match $number {
            $($error => {
                static TEXT: [u8; $text.count_bytes() + 1] = with_nul($text);
                // SAFETY: `with_nul` has copied a `CStr`, whose only NUL is at its end.
                unsafe { CStr::from_bytes_with_nul_unchecked(&TEXT) }
            })*
        }
    };
}

const fn with_nul<const LENGTH: usize>(text: &CStr) -> [u8; LENGTH] {
    match text.to_bytes_with_nul().first_chunk() {
        Some(bytes) => *bytes,
        None => panic!("a text of another length"),
    }
}

fn text(error: c_int) -> &'static CStr {
    match u8::try_from(error.wrapping_neg()).unwrap_or(u8::MAX) {
        // These texts are those of the core, so that a program has them only once.
        ENOMEM => same_in_c::OUT_OF_MEMORY,
        ERANGE => same_in_c::UNDERFLOW,
        EOVERFLOW => same_in_c::OVERFLOW,
        EINPROGRESS => same_in_c::TOO_EARLY,
        other => of_c_alone(other),
    }
}

fn of_c_alone(error: u8) -> &'static CStr {
    text_of!(error,
        0 => c"success",
        EPERM => c"the caller does not hold jump_label_lock()",
        ENOENT => c"no such writer: the name in JUMPLABEL_WRITER, or for jumplabel_set_writer(), must be auto, procmem, mprotect or remap; or no such probe of a tracepoint",
        EIO => c"writing code was refused in mid-batch and could not be undone: allow it again and flip the key once more",
        ENOEXEC => c"a table entry leads out of its object or out of reach, or to code of which a copy runs (BOLT): rebuild the binary, or use it as it was before the tool that rewrote it",
        EAGAIN => c"threads are running and membarrier, or for an operation in place remap, is refused: allow it, or flip once before the first thread starts; alternatives and lock prefixes change only while there is one thread",
        EACCES => c"the system refuses to change code: allow mprotect(PROT_EXEC) or writes to /proc/self/mem, or build with -DJUMPLABEL_FALLBACK; or to block signals: allow rt_sigprocmask and gettid; or code that has sites cannot be read: allow that, or link without --execute-only",
        ELOOP => c"a static call cannot lead to itself: to lead it back later, keep what static_call_query returns",
        EFAULT => c"a static call cannot lead to where no code is mapped: give it a function of an object that is loaded",
        EBUSY => c"the key is held by several users: use inc and dec, or enable and disable, not both on one key; or the kernel was started before",
        EEXIST => c"the tracepoint has this probe with these data: unregister it first",
        EINVAL => c"not the address of a static key, or of an array of changes (NULL, misaligned, or in an object that was unloaded), a static call or a probe that is NULL, or not the number of a mode; or the system refuses msync, which tells whether an address is mapped",
        EROFS => c"the key is sealed: it cannot change any more",
        EDEADLK => c"this thread is in a flip, or eight of on_change deep, or holds jump_label_lock(): use the _cpuslocked form, or flip later",
        ENOSYS => c"nothing can write this code: procmem cannot change calls that a table lists, so allow another writer; or this build of the library writes no code: use one with sites, for Linux",
        EADDRINUSE => c"a site holds foreign bytes: remove the breakpoint, uprobe or other patcher there and flip again",
        _ => c"not an error of jumplabel",
    )
}

/// Returns a text that says what the error number means and what to do about it. The text lives as long as the library is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn jumplabel_strerror(error: c_int) -> *const c_char {
    text(error).as_ptr()
}

/// The key at an address from C.
///
/// # Safety
/// `key` is null, misaligned, not mapped, or the address of a key that lives as long as the result.
///
/// # Errors
/// [`Refusal::NotAKey`] if the address is null, misaligned or not mapped.
pub unsafe fn key<'key>(key: Key) -> Result<&'key RawKey, Refusal> {
    if is_mapped(key) {
        // SAFETY: the address is mapped. So the caller guarantees that it is that of a key that lives, or one that `mapped_key` refuses.
        unsafe { mapped_key(key) }
    } else {
        Err(Refusal::NotAKey)
    }
}

/// The key at an address from C. Unlike [`key`], does not check whether the address is mapped.
///
/// # Safety
/// `key` is null, misaligned, or the address of a key that lives as long as the result.
///
/// # Errors
/// [`Refusal::NotAKey`] if the address is null or misaligned.
pub unsafe fn mapped_key<'key>(key: Key) -> Result<&'key RawKey, Refusal> {
    if key.is_aligned() {
        // SAFETY: `key` is aligned. So the caller guarantees that it is null or the address of a key that lives.
        unsafe { key.as_ref() }.ok_or(Refusal::NotAKey)
    } else {
        Err(Refusal::NotAKey)
    }
}

/// Returns 0 for a success, otherwise the negated error number. If a success comes with a warning ([`Heed`]), passes the warning to the hook.
pub(crate) fn code<T: Heed>(result: Result<T, Refusal>) -> c_int {
    result.inspect(T::heed).err().map_or(0, Refusal::code)
}

macro_rules! change {
    ($(#[$doc:meta] $name:ident: $method:expr;)*) => {$(
        #[$doc]
        /// # Safety
        /// `at` meets the conditions of [`key`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(at: Key) -> c_int {
            // SAFETY: the caller guarantees that `at` is a key that lives, or an address that `key` refuses.
            code(unsafe { key(at) }.and_then(|key| Ok($method(key)?)))
        }
    )*};
}

change! {
    /// Turns the key on.
    jumplabel_enable: RawKey::enable;
    /// Turns the key off.
    jumplabel_disable: RawKey::disable;
    /// Adds one user.
    jumplabel_inc: RawKey::inc;
    /// Removes one user.
    jumplabel_dec: RawKey::dec;
    /// Forbids all further changes of the key.
    jumplabel_seal: RawKey::seal;
    /// Puts the compiler's instructions back into the sites that fall through.
    jumplabel_restore_pristine: jumplabel::restore_pristine;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_has_a_text() {
        let errors = [
            Error::NoWriter,
            Error::UnknownWriter,
            Error::NoPlatform,
            Error::Reentrant,
            Error::Overflow,
            Error::Underflow,
            Error::Counted { count: 2 },
            Error::Sealed,
            Error::NotCode { address: 0 },
            Error::Circular { address: 0 },
            Error::OutOfRange { address: 0 },
            Error::Unreadable { address: 0 },
            Error::DamagedTable { entry: 0 },
            Error::CopiedCode { address: 0 },
            Error::TooEarly,
            Error::OutOfMemory,
            Error::RollbackFailed { address: 0 },
        ];
        let refusals = errors.map(Refusal::Core).into_iter().chain([
            Refusal::NotAKey,
            Refusal::Nowhere,
            Refusal::NoProbe,
            Refusal::Registered,
            Refusal::NotRegistered,
            Refusal::NotLocked,
        ]);
        for refusal in refusals {
            assert_ne!(text(refusal.code()), c"not an error of jumplabel", "{refusal:?}");
        }
        // These two errors have different texts: each text names the cause of its error.
        let [none, unknown] = [Error::NoWriter, Error::UnknownWriter].map(|error| text(Refusal::from(error).code()));
        assert!(none != unknown && unknown.to_string_lossy().contains("JUMPLABEL_WRITER"));
        assert_eq!(text(1), c"not an error of jumplabel");
    }
}
