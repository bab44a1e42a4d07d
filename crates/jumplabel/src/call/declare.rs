//! `static_call!` and its output: a static, its trampoline, and a type that stands for the trampoline.

/// A type that has a zero. A static call that is declared with `return 0` returns such a type.
#[doc(hidden)]
pub trait Zero {
    const ZERO: Self;
}

macro_rules! zero {
    ($($type:ty = $zero:expr),*) => { $(impl Zero for $type { const ZERO: $type = $zero; })* };
}
zero! { u8 = 0, u16 = 0, u32 = 0, u64 = 0, u128 = 0, usize = 0, i8 = 0, i16 = 0, i32 = 0, i64 = 0, i128 = 0, isize = 0, bool = false }

impl<T> Zero for *const T {
    const ZERO: *const T = core::ptr::null();
}

impl<T> Zero for *mut T {
    const ZERO: *mut T = core::ptr::null_mut();
}

/// Declares static calls.
///
/// ```
/// fn plain(x: u64) -> u64 {
///     x + 1
/// }
///
/// jumplabel::static_call! {
///     /// What is called for each item.
///     pub static EACH: fn(u64) -> u64 = plain;
///     /// Called if it leads somewhere. Its arguments are evaluated all the same.
///     static TRACE: Option<fn(&str)> = None;
///     /// 0 as long as nobody says more.
///     static COUNT: unsafe extern "C" fn(*const u8, usize) -> usize = return 0;
/// }
///
/// assert_eq!(EACH(1), 2);
/// TRACE("nothing");
/// assert_eq!(unsafe { COUNT(std::ptr::null(), 9) }, 0);
///
/// TRACE.update(Some(|text| assert_eq!(text, "something")))?;
/// TRACE("something");
/// TRACE.update(None)?;
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// The type can be any type of function pointers that names no type parameter. The default is a path to a function of that type, with all its generic
/// arguments. It can be any function that a pointer can point to, even a method of a trait object or a `#[track_caller]` function. (A
/// `#[track_caller]` function then gets the location of its own declaration, and not that of its caller.)
#[macro_export]
macro_rules! static_call {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<unsafe fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [unsafe] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: unsafe fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [unsafe] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<extern $abi:literal fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [extern $abi] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: extern $abi:literal fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [extern $abi] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: Option<unsafe extern $abi:literal fn($($argument:ty),* $(,)?)> = None; $($rest:tt)*) => {
        $crate::__static_call_optional! { [$(#[$($attr)*])* $vis] $name [unsafe extern $abi] ($($argument),*) }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: unsafe extern $abi:literal fn($($argument:ty),* $(,)?) -> $result:ty = return 0; $($rest:tt)*) => {
        $crate::__static_call_zero! { [$(#[$($attr)*])* $vis] $name [unsafe extern $abi] ($($argument),*) $result }
        $crate::static_call! { $($rest)* }
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $function:ty = None; $($rest:tt)*) => {
        compile_error!("a call that leads nowhere is of a type spelled `Option<fn(A, B)>`: without names of arguments, `for<'a>` and a result");
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $function:ty = return $zero:tt; $($rest:tt)*) => {
        compile_error!("a call that returns 0 is of a type spelled `fn(A, B) -> R`: without names of arguments and `for<'a>`");
    };
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: $function:ty = $default:expr; $($rest:tt)*) => {
        $crate::__static_call! { [$(#[$($attr)*])* $vis] $name: $function = $default, $function,
            (|__target| ::core::option::Option::Some(__target)) (|__function| __function.unwrap_or($default)) {} }
        $crate::static_call! { $($rest)* }
    };
}

/// Makes a call whose default does nothing (`= None`).
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_optional {
    ($head:tt $name:ident [$($of:tt)*] ($($argument:ty),*)) => {
        $crate::__static_call! { $head $name: $($of)* fn($($argument),*) = __nowhere, ::core::option::Option<$($of)* fn($($argument),*)>,
            (|__target| __target) (|__function| __function) { $($of)* fn __nowhere($(_: $argument),*) {} } }
    };
}

/// Makes a call whose default returns 0 (`= return 0`).
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_zero {
    ($head:tt $name:ident [$($of:tt)*] ($($argument:ty),*) $result:ty) => {
        $crate::__static_call! { $head $name: $($of)* fn($($argument),*) -> $result = __zero, $($of)* fn($($argument),*) -> $result,
            (|__target| ::core::option::Option::Some(__target)) (|__function| __function.unwrap_or(__zero))
            { $($of)* fn __zero($(_: $argument),*) -> $result { <$result as $crate::call::Zero>::ZERO } } }
    };
}

/// Sorts the attributes of the declaration of a call. Then makes the static of the call, and the type that stands for the trampoline.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call {
    ($head:tt $($rest:tt)*) => {
        $crate::__cfg_apart! { __static_call_of [] [] $head $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_of {
    (
        [$($cfg:tt)*] [$($attr:tt)*] [$vis:vis] $name:ident: $function:ty = $default:expr, $target:ty,
        ($($from:tt)*) ($($to:tt)*) { $($item:tt)* }
    ) => {
        // The enum has the same name as the static. That is possible because types and values are in different namespaces.
        $($cfg)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::exhaustive_enums)]
        $vis enum $name {}
        $($cfg)*
        $($attr)*
        #[doc = ::core::concat!("\n\nLeads to: `", ::core::stringify!($target), "`.")]
        $vis static $name: $crate::StaticCall<$name> = $crate::StaticCall::new();
        $($cfg)*
        const _: () = {
            $($item)*
            $crate::__declaration!($name, 0, $crate::key_record::declaration::Texts::of_path(
                [::core::module_path!(), "::", ::core::stringify!($name)], ::core::module_path!().len(), ::core::file!()));
            $crate::__static_call_function!(__FUNCTION, $name, $function, $default);
            #[allow(clippy::undocumented_unsafe_blocks)]
            // SAFETY: only the call `$name` has this type. `FUNCTION` is its trampoline, whose table entry names `$name`. In a build without
            // trampolines, `FUNCTION` is its default.
            unsafe impl $crate::call::Trampoline for $name {
                type Function = $function;
                const FUNCTION: &'static $function = __FUNCTION;
                type Target = $target;
                fn function(__target: $target) -> ::core::option::Option<$function> {
                    let __from: fn($target) -> ::core::option::Option<$function> = $($from)*;
                    __from(__target)
                }
                fn target(__function: ::core::option::Option<$function>) -> $target {
                    let __to: fn(::core::option::Option<$function>) -> $target = $($to)*;
                    __to(__function)
                }
            }
        };
    };
}

/// Makes the trampoline of a call, and a constant that gives the trampoline the call's type, because the function that the assembler makes has no
/// signature.
#[cfg(jumplabel_trampolines)]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_function {
    ($constant:ident, $name:ident, $function:ty, $default:expr) => {
        // A function has size 0; a static that holds a function pointer does not. The assembler would accept such a static, and would jump into the
        // static itself, not to the address in it.
        const _: () = assert!(::core::mem::size_of_val(&$default) == 0, "the default is a function, by its path");
        $crate::__trampoline_asm!(__trampoline, $name, $default, [$crate::__key_record_asm!()]);
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: the trampoline leads only to functions of this type: to `$default` at first, and later to those that `update` takes.
        const $constant: &$function =
            &unsafe { ::core::mem::transmute::<unsafe extern "C-unwind" fn(), $function>(__trampoline) };
    };
}

/// Makes the record of a call in a build without sites: a node of the chain of records, and its constructor.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_node {
    ($name:ident) => {
        $crate::__constructor!(
            $crate::key_record::Record,
            $crate::chain::Node::new(&$name, &__JUMPLABEL_DECLARATION, &[])
        );
    };
}

/// Makes no record, in a build that has sites but no trampolines: a call's record is part of the trampoline's assembler. The constant only uses the
/// declaration, so that the compiler does not report it as unused.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_node {
    ($name:ident) => {
        const _: &$crate::format::Declaration<{ __JUMPLABEL_TEXTS.len() }> = &__JUMPLABEL_DECLARATION;
    };
}

/// Makes the constant in a build without trampolines. It is the call's default function.
#[cfg(not(jumplabel_trampolines))]
#[doc(hidden)]
#[macro_export]
macro_rules! __static_call_function {
    ($constant:ident, $name:ident, $function:ty, $default:expr) => {
        $crate::__static_call_node!($name);
        const $constant: &$function = &{
            let function: $function = $default;
            function
        };
    };
}
