
    #[cfg(feature = "std")]
    pub use tracing_core::callsite::keys::{check, jumplabel, Keyed, KEYED};
    #[cfg(not(feature = "std"))]
    pub use MacroCallsite as Keyed;

    /// Upstream's checks.
    #[cfg(not(feature = "std"))]
    pub fn check(callsite: &'static MacroCallsite) -> bool {
        let meta = callsite.metadata();
        *meta.level() <= crate::level_filters::LevelFilter::current() && {
            let interest = callsite.interest();
            !interest.is_never() && __is_enabled(meta, interest)
        }
    }
