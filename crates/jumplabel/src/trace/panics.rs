//! Panics while closures are dropped.

/// With std, all closures are dropped even if dropping one of them panics. Then the first panic continues.
#[cfg(feature = "std")]
mod caught {
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

    /// The first panic; `Ok` if there was none.
    pub(crate) type Dropped = std::thread::Result<()>;

    pub(crate) fn dropped<T>(closure: T) -> Dropped {
        catch_unwind(AssertUnwindSafe(|| drop(closure)))
    }

    pub(crate) fn go_on(dropped: Dropped) {
        if let (Err(panic), false) = (dropped, std::thread::panicking()) {
            resume_unwind(panic);
        }
    }
}

/// Without std, a panic cannot be caught, so it ends the program. (For tracepoints of C there is no such panic: a probe is a function and a pointer,
/// so dropping it calls nothing.)
#[cfg(not(feature = "std"))]
mod caught {
    /// Always `Ok`, because no panic is caught.
    pub(crate) type Dropped = Result<(), core::convert::Infallible>;

    pub(crate) fn dropped<T>(closure: T) -> Dropped {
        drop(closure);
        Ok(())
    }

    pub(crate) fn go_on(_: Dropped) {}
}

pub(super) use caught::{Dropped, dropped, go_on};
