//! `record_key!`: the record of a key that is somewhere in a static.

/// Lets keys be listed and found that `static_key!` did not declare: a key in a field of a static, an element of one, or an
/// array there.
///
/// ```
/// use jumplabel::{StaticKey, find_key, record_key};
///
/// struct Config { trace: StaticKey<false>, hooks: [StaticKey<true>; 4] }
/// static CONFIG: Config =
///     Config { trace: StaticKey::new(), hooks: [const { StaticKey::new() }; 4] };
///
/// record_key! {
///     #[key(name = "trace")]
///     CONFIG.trace;
///     CONFIG.hooks;
/// }
///
/// # fn main() -> Result<(), jumplabel::Error> {
/// # #[cfg(not(target_family = "wasm"))] {
/// find_key("trace")?.key.enable()?;
/// assert!(CONFIG.trace.is_enabled());
/// let hook = find_key(concat!(module_path!(), "::CONFIG.hooks[3]"))?;
/// assert!(std::ptr::eq(hook.key, CONFIG.hooks[3].raw()));
/// # }
/// # Ok(())
/// # }
/// ```
///
/// The path of such a key is that of the module, and the place as it is written. `#[key(name = "...")]` gives a name, and
/// `, meta &META` adds something, as in [`static_key!`](crate::static_key). The compiler refuses what is not a key, or not in a
/// static. A key with two records is listed twice, once under each name.
///
/// Names are looked up in the module around it, in a function too; `self::` and `super::` do not work.
///
/// Costs what the record of a declaration costs.
#[macro_export]
macro_rules! record_key {
    ($(
        $(#[key(name = $name:expr)])?
        $($key:ident)::+ $(. $field:tt)* $([ $($index:tt)* ] $(. $inner:tt)*)* $(, meta $meta:expr)?;
    )*) => { $(
        const _: () = {
            mod record {
                #[allow(unused_imports)]
                use super::*;
                $crate::__place_record!(
                    $($key)::+, [$($key)::+ $(. $field)* $([ $($index)* ] $(. $inner)*)*], [$($name)?], [$($meta)?]
                );
            }
        };
    )* };
    ($($other:tt)*) => {
        compile_error!("expected places of keys, each with `;` behind it: NAME.field; NAME[CONSTANT]; NAME;");
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __place_record {
    ($symbol:path, [$($place:tt)*], [$($name:expr)?], [$($meta:expr)?]) => {
        $crate::__key_record!(
            $symbol,
            $($place)*,
            // SAFETY: the place is in the static that it begins with.
            unsafe { $crate::key_record::declaration::offset_in(&$($place)*, &$symbol) },
            $crate::key_record::declaration::Texts::of_place(::core::module_path!(), ::core::stringify!($($place)*), &[$($name)?], ::core::file!()),
            [$($meta)?]
        );
    };
}
