//! `record_key!`: emits the record of a key that is part of a static, such as a field.

/// Leaves records for keys that `static_key!` did not declare, so that these keys can be listed and found. Such a key is in a field or an element of
/// a static. An array of keys in a static can have a record, too.
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
/// The path of such a key is the path of the module, followed by the place as you write it. `#[key(name = "...")]` gives the key a name, and
/// `, meta &META` attaches data, as in [`static_key!`](crate::static_key). The compiler refuses a place that is not a key, or that is not in a
/// static. If a key has two records, it is listed twice, once for each record.
///
/// All paths are looked up in the module that contains the macro, even if the macro stands in a function. `self::` and `super::` do not work.
///
/// Costs the same as the record of a declaration.
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
        compile_error!("expected places of keys, each with `;` after it: NAME.field; NAME[CONSTANT]; NAME;");
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __place_record {
    ($symbol:path, [$($place:tt)*], [$($name:expr)?], [$($meta:expr)?]) => {
        $crate::__key_record!(
            $symbol,
            $($place)*,
            // SAFETY: the expression of the place begins with the static `$symbol`, so the key lies in `$symbol`.
            unsafe { $crate::key_record::declaration::offset_in(&$($place)*, &$symbol) },
            $crate::key_record::declaration::Texts::of_place(::core::module_path!(), ::core::stringify!($($place)*), &[$($name)?], ::core::file!()),
            [$($meta)?]
        );
    };
}
