//! The macros that make the parts of a tracepoint for tracers: a function with a note, and a semaphore.

/// Makes the function with the note, and the semaphore. The macro gets the parameters of the tracepoint, each with its type and its places in the
/// note.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt {
    ($group:ident $name:ident $(($parameter:ident: $type:ty, $($place:literal)*))*) => {
        // Tracers add 1 to the semaphore while they are attached. For a uprobe that names the semaphore, the kernel does that; a tool can do it
        // through /proc/PID/mem.
        #[unsafe(link_section = ".probes")]
        static __SEMAPHORE: ::core::sync::atomic::AtomicU16 = ::core::sync::atomic::AtomicU16::new(0);
        #[allow(clippy::too_many_arguments, clippy::undocumented_unsafe_blocks)]
        #[cold]
        #[inline(never)] // Not inlined: it contains a note, which a program must have only once.
        fn __usdt($($parameter: $type),*) {
            #[allow(unused_imports)]
            use $crate::trace::usdt::place::Else as _;
            let __words: &[[u64; 2]] = &[$($crate::trace::usdt::place::Place::<$type>::words(&$parameter)),*];
            // SAFETY: the assembly emits a note and one nop, which changes nothing.
            unsafe {
                $crate::__usdt_note!(
                    ::core::stringify!($group), ::core::stringify!($name), __words.as_ptr(), __SEMAPHORE, __usdt,
                    $(($parameter $crate::trace::usdt::place::Place::<$type>::SIZE, $($place)*))*
                );
            }
        }
    };
}

/// Calls the function with the note if a tracer is attached.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_emit {
    ($($parameter:ident)*) => {
        if __SEMAPHORE.load(::core::sync::atomic::Ordering::Relaxed) != 0 {
            __usdt($($parameter),*);
        }
    };
}

/// Yields the description of the tracepoint for [`look`](crate::usdt::look).
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_description {
    ($name:ident) => {
        ::core::option::Option::Some($name.describe(&__SEMAPHORE))
    };
}

/// Yields `Some(fn(&[u64; 4]))`: a function that contains the note of a callsite of tracing (see
/// [`__usdt_note_of_text`](crate::__usdt_note_of_text)). The semaphore is `$offset` bytes after the beginning of the static `$callsite`.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_callsite {
    ($callsite:ident, $offset:expr, $target:expr $(,)?) => {{
        #[allow(clippy::undocumented_unsafe_blocks)]
        #[cold]
        #[inline(never)] // Not inlined: it contains a note, which a program must have only once.
        fn __note(__words: &[u64; 4]) {
            const __TEXT: $crate::trace::usdt::text::Text =
                $crate::trace::usdt::text::Text::of($target, ::core::line!());
            // SAFETY: the assembly emits a note and one nop, which changes nothing.
            unsafe {
                $crate::__usdt_note_of_text!(__TEXT, __words.as_ptr(), $callsite, $offset, __note);
            }
        }
        ::core::option::Option::Some(__note as fn(&[u64; 4]))
    }};
}

/// Yields `None`, in builds without notes.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_callsite {
    ($callsite:ident, $offset:expr, $target:expr $(,)?) => {
        ::core::option::Option::None
    };
}

/// Makes nothing, in builds without notes.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt {
    ($($tracepoint:tt)*) => {};
}

/// Calls nothing, in builds without notes.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_emit {
    ($($parameter:ident)*) => {};
}

/// Yields `None`, in builds without notes.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_description {
    ($name:ident) => {
        ::core::option::Option::None
    };
}
