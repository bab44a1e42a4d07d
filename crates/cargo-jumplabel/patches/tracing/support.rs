
    #[cfg(feature = "std")]
    pub use tracing_core::callsite::keys::{check, goes_on, is_marked, jumplabel, Keyed, ANY_MARKED, KEYED};
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

    /// All events and spans go to subscribers.
    #[cfg(not(feature = "std"))]
    fn goes_on(_: &'static MacroCallsite, _: &crate::field::ValueSet<'_>) -> bool {
        true
    }

    /// Nobody forces or follows callsites.
    #[cfg(not(feature = "std"))]
    pub fn is_marked(_: &'static MacroCallsite) -> bool {
        false
    }

    /// An event, if subscribers want it.
    pub fn event(callsite: &'static Keyed, values: &crate::field::ValueSet<'_>) {
        if goes_on(callsite, values) {
            crate::Event::dispatch(callsite.metadata(), values);
        }
    }

    /// An event with a parent.
    pub fn event_in(
        parent: impl Into<Option<crate::Id>>,
        callsite: &'static Keyed,
        values: &crate::field::ValueSet<'_>,
    ) {
        if goes_on(callsite, values) {
            crate::Event::child_of(parent, callsite.metadata(), values);
        }
    }

    /// A span, which is disabled if subscribers do not want it.
    pub fn span(callsite: &'static Keyed, values: &crate::field::ValueSet<'_>) -> crate::Span {
        match goes_on(callsite, values) {
            true => crate::Span::new(callsite.metadata(), values),
            false => __disabled_span(callsite.metadata()),
        }
    }

    /// A span with a parent.
    pub fn span_in(
        parent: impl Into<Option<crate::Id>>,
        callsite: &'static Keyed,
        values: &crate::field::ValueSet<'_>,
    ) -> crate::Span {
        match goes_on(callsite, values) {
            true => crate::Span::child_of(parent, callsite.metadata(), values),
            false => __disabled_span(callsite.metadata()),
        }
    }
