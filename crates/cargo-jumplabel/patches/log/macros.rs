
// `cargo jumplabel log` has written the following lines; upstream does not have them. If the level is part of a macro's name, as in `info!`, each
// callsite asks its static key first. On systems other than Linux, and where the library does not patch code, all is as in upstream.

/// True if a callsite can do anything. The arguments after the level are those of upstream's macro for the target and the logger.
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_gate {
    ($lvl:ident) => {
        $crate::__jumplabel_key!($lvl, ::core::option::Option::Some($crate::__private_api::module_path!()))
    };
    ($lvl:ident target: $target:literal,) => {
        $crate::__jumplabel_key!($lvl, ::core::option::Option::Some($target))
    };
    ($lvl:ident $($computed:tt)+) => {
        $crate::__jumplabel_key!($lvl, ::core::option::Option::None)
    };
}

/// True if a callsite's key is on: one instruction.
#[cfg(target_os = "linux")]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_key {
    ($lvl:ident, $target:expr) => {
        $crate::Level::$lvl <= $crate::STATIC_MAX_LEVEL && $crate::keys::jumplabel::if_sites!({
            static __CALLSITE: $crate::keys::Keyed = $crate::keys::Keyed::new($crate::Level::$lvl, $target);
            $crate::keys::jumplabel::list_element!($crate::keys::KEYED, __CALLSITE);
            $crate::keys::jumplabel::static_branch_unlikely!(__CALLSITE.key)
        } else {
            true
        })
    };
}

#[cfg(not(target_os = "linux"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __jumplabel_key {
    ($lvl:ident, $target:expr) => { true };
}
