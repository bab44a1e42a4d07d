
// `cargo jumplabel tracing` has written the following lines; upstream does not have them. Each callsite asks its static key first. Without the
// feature `std`, and where the library does not patch code, all is as in upstream.

#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_callsite {
    (name: $name:expr, kind: $kind:expr, target: $target:expr, level: $lvl:expr, fields: $($fields:tt)*) => {{
        static META: $crate::Metadata<'static> = {
            $crate::metadata! {
                name: $name,
                target: $target,
                level: $lvl,
                fields: $crate::fieldset!( $($fields)* ),
                callsite: &__CALLSITE.inner,
                kind: $kind,
            }
        };
        $crate::__macro_support::Keyed::new(
            &META,
            $crate::__jumplabel_text!($($fields)*,),
            $crate::__macro_support::jumplabel::__usdt_callsite!(__CALLSITE, $crate::__macro_support::SEMAPHORE, $target),
        )
    }};
}

/// The text of an event's message before values are inserted, from the tokens that upstream takes for fields; "" if there is none.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_text {
    (message = ::core::format_args ! ($text:literal $($arguments:tt)*), $($rest:tt)*) => { $text };
    (message = $a:tt :: __macro_support :: format_args ! ($text:literal $($arguments:tt)*), $($rest:tt)*) => { $text };
    ($($k:ident).+ = ?$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($($k:ident).+ = %$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($($k:ident).+ = $val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    (?$($k:ident).+, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    (%$($k:ident).+, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($($k:ident).+, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($k:literal = ?$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($k:literal = %$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($k:literal = $val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ({ $k:expr } = ?$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ({ $k:expr } = %$val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ({ $k:expr } = $val:expr, $($rest:tt)*) => { $crate::__jumplabel_text!($($rest)*) };
    ($text:literal $($arguments:tt)*) => { $text };
    ($($arguments:tt)*) => { "" };
}

#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_callsite {
    ($($callsite:tt)*) => { $crate::callsite2! { $($callsite)* } };
}

/// True if the callsite's key is on: one instruction.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_key {
    ($callsite:ident) => {
        $crate::__macro_support::jumplabel::if_sites!({
            $crate::__macro_support::jumplabel::list_element!($crate::__macro_support::KEYED, $callsite);
            $crate::__macro_support::jumplabel::static_branch_unlikely!($callsite.key)
        } else {
            true
        })
    };
}

#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_key {
    ($callsite:ident) => { true };
}

/// True if a span may be wanted although its level is above the maximum of subscribers.
#[cfg(feature = "std")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_any_marked {
    () => {
        $crate::__macro_support::jumplabel::if_sites!({
            $crate::__macro_support::jumplabel::static_branch_unlikely!($crate::__macro_support::ANY_MARKED)
        } else {
            false
        })
    };
}

#[cfg(not(feature = "std"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_any_marked {
    () => { false };
}

/// True if an event may go anywhere: to a subscriber, or, with the feature `log`, to the crate `log`.
#[cfg(not(feature = "log"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_gate {
    ($callsite:ident, $lvl:expr) => {
        $lvl <= $crate::level_filters::STATIC_MAX_LEVEL && $crate::__jumplabel_key!($callsite)
    };
}

#[cfg(all(feature = "log", not(feature = "log-always")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_gate {
    ($callsite:ident, $lvl:expr) => { $crate::__jumplabel_key!($callsite) };
}

#[cfg(feature = "log-always")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_gate {
    ($callsite:ident, $lvl:expr) => { true };
}

/// Returns where an event goes, as `check` decides. The caller has asked the gate before.
#[cfg(not(feature = "log-always"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_check {
    ($callsite:ident, $lvl:expr) => {
        if $lvl <= $crate::level_filters::STATIC_MAX_LEVEL {
            $crate::__macro_support::check(&$callsite, $lvl)
        } else {
            $crate::__macro_support::Goes::NOWHERE
        }
    };
}

#[cfg(feature = "log-always")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_check {
    ($callsite:ident, $lvl:expr) => { $crate::__jumplabel_enabled!($callsite, $lvl) };
}

/// Returns where an event goes, as the key and `check` decide.
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_enabled {
    ($callsite:ident, $lvl:expr) => {
        if $lvl <= $crate::level_filters::STATIC_MAX_LEVEL && $crate::__jumplabel_key!($callsite) {
            $crate::__macro_support::check(&$callsite, $lvl)
        } else {
            $crate::__macro_support::Goes::NOWHERE
        }
    };
}
