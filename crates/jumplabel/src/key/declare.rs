//! `static_key!`: declares keys, each with its record.

/// Declares keys.
///
/// ```
/// jumplabel::static_key! {
///     /// A key that starts off: `StaticKey<false>`.
///     pub static TRACE: false;
///     /// One that starts on.
///     static VERIFY: true;
///     /// Eight keys, checked as `HOOKS[0]` to `HOOKS[7]`.
///     static HOOKS: [false; 8];
///     /// Linux's `DEFINE_STATIC_KEY_MAYBE`: the default is any constant.
///     static CHECKS: cfg!(debug_assertions);
///     /// A key with a rate-limited `dec`: at most one flip in a second (needs the feature `std` or `alloc`).
///     static NET: false, deferred core::time::Duration::from_secs(1);
///     /// A key that works where nothing may be patched: [`OrLoadKey`](crate::OrLoadKey). Arrays and deferred keys, too.
///     static LOG: false, or_load;
///     static LEVELS: [false; 5], or_load;
///     static SLOW: false, or_load, deferred core::time::Duration::from_secs(1);
///     /// A name for operators, in place of the path, and something of yours that goes with the key.
///     #[key(name = "net.trace")]
///     static NET_TRACE: false, meta &ABOUT;
/// }
/// struct About(&'static str);
/// static ABOUT: About = About("traces packets");
///
/// # fn main() -> Result<(), jumplabel::Error> {
/// # #[cfg(not(target_family = "wasm"))] {
/// let key = jumplabel::find_key("net.trace")?;
/// assert_eq!(key.meta::<About>().map(|about| about.0), Some("traces packets"));
/// # }
/// # Ok(())
/// # }
/// ```
///
/// *Place.* A declaration stands in a module or in a function. In a function, the paths in a declaration are looked up in the module that contains
/// the function. This applies to the default and to all parts after the default. An `impl` block cannot contain statics: declare the key beside the
/// block.
///
/// *Name.* [`find_key`](crate::find_key) takes the path of the static, `crate::module::NAME`; a function is not part of the path.
/// `#[key(name = "...")]` replaces the path by any constant text. In an array, the text is for all elements. With this attribute, a macro that
/// declares keys can give each key a name of its own: `#[key(name = concat!("hook.", stringify!($hook)))]`. Without it, keys with the same path
/// differ only in the place where the macro is invoked: see [`KeyInfo`](crate::KeyInfo).
///
/// *Meta.* `, meta &META` comes last, and attaches data to the key: a reference to anything that is `Sync` and lives as long as the program.
/// [`KeyInfo::meta`](crate::KeyInfo::meta) returns the reference to a caller that asks for data of this type.
///
/// Each key costs 8 bytes of data. Each declaration costs 40 bytes of read-only record, and the texts of path, name and file. Each `meta` costs a
/// function of some 40 bytes. A declaration needs no relocation and no start-up work, except in builds without sites, where it needs both.
#[macro_export]
macro_rules! static_key {
    () => {};
    // The next three rules take defaults that are literals. Without them, the documentation of the user's crate would show the default in braces.
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:literal; $count:expr] $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::StaticKey<$default>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:literal, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<$default> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:literal $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::StaticKey<$default> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:expr; $count:expr] $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::StaticKey<{ $default }>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred; $($rest:tt)*) => {
        compile_error!(::core::concat!("a deferred key has an interval: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default),
            ", deferred Duration::from_secs(1);`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, meta $meta:expr, $($rest:tt)*) => {
        compile_error!(::core::concat!("`meta` comes last: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default), ", ..., meta ",
            ::core::stringify!($meta), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr) => {
        compile_error!(::core::concat!("a declaration ends with `;`: `static ", ::core::stringify!($name), ": ", ::core::stringify!($default), ";`"));
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<{ $default }> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::StaticKey<{ $default }> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$default:expr; $count:expr], or_load $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: [$crate::OrLoadKey<{ $default }>; $count] = [const { $crate::StaticKey::new() }; $count]
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, or_load $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::OrLoadKey<{ $default }> = $crate::StaticKey::new()
        }
        $crate::static_key! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $default:expr, or_load, deferred $interval:expr $(, meta $meta:expr)?; $($rest:tt)*) => {
        $crate::__static_key! {
            $(#[$($attr)*])* $(#[key(meta = $meta)])? $vis $name: $crate::DeferredKey<{ $default }, true> = $crate::DeferredKey::new($interval)
        }
        $crate::static_key! { $($rest)* }
    };
}

/// Makes one declaration: the static, its record, and the other parts. All of them are in a module that has the same name as the static. They need a
/// module because `global_asm!` must stand in one, while keys can be declared in functions. `#[cfg]` applies to the whole declaration; other
/// attributes apply to the static.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_key {
    (@sort $cfg:tt $attr:tt $name:tt $meta:tt #[thread_local] $($rest:tt)*) => {
        compile_error!("a key is one for all threads, which share the code that its sites are in: it cannot be `#[thread_local]`");
    };
    (@sort [$($cfg:tt)*] $attr:tt $name:tt $meta:tt #[cfg $condition:tt] $($rest:tt)*) => {
        $crate::__static_key! { @sort [$($cfg)* #[cfg $condition]] $attr $name $meta $($rest)* }
    };
    (@sort $cfg:tt $attr:tt [] $meta:tt #[key(name = $name:expr)] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg $attr [$name] $meta $($rest)* }
    };
    (@sort $cfg:tt $attr:tt $name:tt [] #[key(meta = $meta:expr)] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg $attr $name [$meta] $($rest)* }
    };
    (@sort $cfg:tt $attr:tt $name:tt $meta:tt #[key $($other:tt)*] $($rest:tt)*) => {
        compile_error!("expected `#[key(name = \"a.name\")]`, once");
    };
    (@sort $cfg:tt [$($attr:tt)*] $name:tt $meta:tt #[$other:meta] $($rest:tt)*) => {
        $crate::__static_key! { @sort $cfg [$($attr)* #[$other]] $name $meta $($rest)* }
    };
    (
        @sort [$($cfg:tt)*] [$($attr:tt)*] [$($given:expr)?] $meta:tt
        $vis:vis $name:ident: $type:ty = $value:expr $(; $($more:tt)*)?
    ) => {
        $($cfg)*
        #[allow(non_snake_case)]
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $($attr)*
            pub static $name: $type = $value;
            $crate::__key_record!(
                $name, $name, 0,
                $crate::key_record::declaration::Texts::of_static(::core::module_path!(), &[$($given)?], ::core::file!()), $meta
            );
            $($($more)*)?
        }
        $($cfg)*
        #[allow(unused_imports, clippy::pub_use)]
        $vis use $name::$name;
    };
    ($($declaration:tt)*) => {
        $crate::__static_key! { @sort [] [] [] [] $($declaration)* }
    };
}
