//! What `tracepoint!` makes for tracers: a function with a note, and a semaphore.

/// The function and the semaphore. The parameters are those of the tracepoint, each with its type and its places in the note.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt {
    ($group:ident $name:ident $(($parameter:ident: $type:ty, $($place:literal)*))*) => {
        // Tracers count it up while they are attached: the kernel, for a uprobe that names it, or a tool, by /proc/PID/mem.
        #[unsafe(link_section = ".probes")]
        static __SEMAPHORE: ::core::sync::atomic::AtomicU16 = ::core::sync::atomic::AtomicU16::new(0);
        #[allow(clippy::too_many_arguments, clippy::undocumented_unsafe_blocks)]
        #[cold]
        #[inline(never)] // It contains a note, which a program must have only once.
        fn __usdt($($parameter: $type),*) {
            #[allow(unused_imports)]
            use $crate::trace::usdt::place::Else as _;
            let __words: &[[u64; 2]] = &[$($crate::trace::usdt::place::Place::<$type>::words(&$parameter)),*];
            // SAFETY: a nop.
            unsafe {
                $crate::__usdt_note!(
                    ::core::stringify!($group), ::core::stringify!($name), __words.as_ptr(), __SEMAPHORE, __usdt,
                    $(($parameter $crate::trace::usdt::place::Place::<$type>::SIZE, $($place)*))*
                );
            }
        }
    };
}

/// Calls the function, if there is a tracer.
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

/// What a watcher of semaphores needs.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_description {
    ($name:ident) => {
        ::core::option::Option::Some($name.describe(&__SEMAPHORE))
    };
}

/// Without notes, nothing.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt {
    ($($tracepoint:tt)*) => {};
}

/// Without notes, nothing.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_emit {
    ($($parameter:ident)*) => {};
}

/// Without notes, `None`.
#[cfg(not(jumplabel_usdt))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_description {
    ($name:ident) => {
        ::core::option::Option::None
    };
}
