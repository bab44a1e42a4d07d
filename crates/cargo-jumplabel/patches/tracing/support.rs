
    #[cfg(feature = "std")]
    pub use tracing_core::callsite::keys::{check, is_marked, jumplabel, Goes, Keyed, ANY_MARKED, KEYED, SEMAPHORE};
    #[cfg(not(feature = "std"))]
    pub use MacroCallsite as Keyed;

    /// Where an event goes: to subscribers, or nowhere.
    #[cfg(not(feature = "std"))]
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Goes(bool);

    #[cfg(not(feature = "std"))]
    impl Goes {
        pub const NOWHERE: Goes = Goes(false);
        pub const TO_SUBSCRIBERS: Goes = Goes(true);
        pub fn anywhere(self) -> bool {
            self.0
        }
        pub fn to_subscribers(self) -> bool {
            self.0
        }
        pub fn tell(self, _: &'static MacroCallsite, _: &crate::field::ValueSet<'_>) {}
    }

    /// Returns where an event goes, by upstream's checks.
    #[cfg(not(feature = "std"))]
    pub fn check(callsite: &'static MacroCallsite, _: crate::Level) -> Goes {
        let meta = callsite.metadata();
        Goes(*meta.level() <= crate::level_filters::LevelFilter::current() && {
            let interest = callsite.interest();
            !interest.is_never() && __is_enabled(meta, interest)
        })
    }

    /// False: without the feature `std`, callsites cannot be forced or followed.
    #[cfg(not(feature = "std"))]
    pub fn is_marked(_: &'static MacroCallsite) -> bool {
        false
    }

    /// Sends an event to those that `goes` names.
    pub fn event(callsite: &'static Keyed, goes: Goes, values: &crate::field::ValueSet<'_>) {
        if goes == Goes::TO_SUBSCRIBERS {
            crate::Event::dispatch(callsite.metadata(), values);
        } else {
            event_also(callsite, goes, values);
        }
    }

    /// Sends an event to the follower and to tracers, and before that to subscribers if they want it.
    #[cold]
    fn event_also(callsite: &'static Keyed, goes: Goes, values: &crate::field::ValueSet<'_>) {
        if goes.to_subscribers() {
            crate::Event::dispatch(callsite.metadata(), values);
        }
        goes.tell(callsite, values);
    }

    /// Sends an event that has an explicit parent.
    pub fn event_in(
        parent: impl Into<Option<crate::Id>>,
        callsite: &'static Keyed,
        goes: Goes,
        values: &crate::field::ValueSet<'_>,
    ) {
        if goes.to_subscribers() {
            crate::Event::child_of(parent, callsite.metadata(), values);
        }
        goes.tell(callsite, values);
    }

    /// Makes a span, which is disabled if subscribers do not want it.
    pub fn span(callsite: &'static Keyed, goes: Goes, values: &crate::field::ValueSet<'_>) -> crate::Span {
        let span = match goes.to_subscribers() {
            true => crate::Span::new(callsite.metadata(), values),
            false => disabled_span(callsite, values),
        };
        goes.tell(callsite, values);
        span
    }

    /// Makes a span that has an explicit parent.
    pub fn span_in(
        parent: impl Into<Option<crate::Id>>,
        callsite: &'static Keyed,
        goes: Goes,
        values: &crate::field::ValueSet<'_>,
    ) -> crate::Span {
        let span = match goes.to_subscribers() {
            true => crate::Span::child_of(parent, callsite.metadata(), values),
            false => disabled_span(callsite, values),
        };
        goes.tell(callsite, values);
        span
    }

    /// Makes a span that no subscriber wants. As in upstream, it goes to the crate `log`.
    #[allow(unused_variables)]
    fn disabled_span(callsite: &'static Keyed, values: &crate::field::ValueSet<'_>) -> crate::Span {
        let meta = callsite.metadata();
        let span = __disabled_span(meta);
        crate::if_log_enabled! { *meta.level(), {
            span.record_all(values);
        }};
        span
    }
