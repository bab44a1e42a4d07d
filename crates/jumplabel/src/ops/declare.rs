//! `ops!` and its output: a static and a type for the table, and, for each operation, either a function or a static call.
//!
//! ```text
//!   macro            what it does
//!   ops!             declares the table
//!   __ops!           goes through the operations, and collects their names
//!   __op!            takes an operation apart: its arguments, their types, and its result (`none`, `out R` or `inout a R`)
//!   __op_arms!       looks in each arm for a template for this instruction set
//!   __op_form!       makes an operation in place if enough arms have a template, and otherwise a static call. x86-64: the first arm must
//!                    have one. aarch64, riscv64: all arms must, without `else call`. `nothing` counts as a template. Elsewhere, and on
//!                    Windows, always a static call.
//! ```

/// Declares a table of operations: its backends, and, for each operation, one arm for each backend. The first backend is the native one.
///
/// An arm names a function. It can also have templates, one for each instruction set (`x86_64`, `aarch64`, `riscv64`). A template is assembler that
/// works on the operation's arguments; `{ret}` stands for the operation's result. The `unsafe` of a template is a promise: the template does the same
/// as the function beside it, and comes to an end. It writes only the result, the flags, and memory that the operation's contract gives it. It does
/// not name the stack pointer. `docs/ops.md` has the rules for native instructions and for `else call`.
///
/// ```
/// jumplabel::ops! {
///     /// How a flag is raised.
///     pub static FLAG: Flagging = { Native, Counted { init: begin }, Off };
///
///     /// Raises it.
///     /// # Safety
///     /// `flag` is a word.
///     pub unsafe fn raise(flag: *mut u32) {
///         Native => native, x86_64 unsafe { "or dword ptr [{flag}], 0x10000" };
///         Counted => counted;
///         Off => nothing;
///     }
/// }
/// # fn begin() {}
/// unsafe extern "C" fn native(flag: *mut u32) {
///     unsafe { *flag |= 0x10000 };
/// }
/// unsafe extern "C" fn counted(flag: *mut u32) {
///     unsafe { *flag = (*flag + 1) | 0x10000 };
/// }
/// ```
#[macro_export]
macro_rules! ops {
    (
        $(#[$($attr:tt)*])* $vis:vis static $table:ident: $backends:ident = {
            $($(#[$of:meta])* $backend:ident $({ $($hook:ident: $function:path),* $(,)? })?),+ $(,)?
        };
        $($ops:tt)*
    ) => {
        $crate::modes! {
            #[doc = ::core::concat!("The backends of [`", ::core::stringify!($table), "`].")]
            #[allow(missing_docs, clippy::exhaustive_enums)]
            $vis enum $backends { $($(#[$of])* $backend),+ }
        }
        $crate::__ops_static! { [$(#[$($attr)*])* $vis] $table $backends $($backend)+ }
        $crate::__ops! { $table $backends [$({ $($($hook: $function),*)? })+] [] $($ops)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __ops_static {
    ($head:tt $table:ident $backends:ident $first:ident $($others:ident)*) => {
        $crate::__cfg_apart! { __static_mode [] [] $head Ops $table $backends, $first }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __ops {
    ($table:ident $backends:ident [$({ $($hook:ident: $function:path),* })+] [$($op:ident)*]) => {
        #[allow(clippy::undocumented_unsafe_blocks, clippy::needless_update)]
        // SAFETY: `commit` gets only `__table` and requests for calls of this table: an `Operation` returns only a request for its own call.
        unsafe impl $crate::ops::Table for $table {
            const HOOKS: &'static [$crate::ops::Hooks] = &[$($crate::ops::Hooks {
                $($hook: ::core::option::Option::Some($function),)* ..$crate::ops::Hooks::NONE
            }),+];
            fn requests(
                __table: $crate::ops::Request<'_>,
                __backend: $backends,
                __commit: &mut dyn ::core::ops::FnMut(&[$crate::ops::Request<'_>])
                    -> ::core::result::Result<$crate::Outcome, $crate::Error>,
            ) -> ::core::result::Result<$crate::Outcome, $crate::Error> {
                __commit(&[
                    __table,
                    $(<$op as $crate::ops::Operation<$backends>>::request(__backend).unwrap_or(::core::result::Result::Ok(__table))?,)*
                ])
            }
        }
    };
    (
        $table:ident $backends:ident $hooks:tt [$($done:ident)*]
        $(#[$($attr:tt)*])* $vis:vis unsafe fn $op:ident($($argument:tt)*) $(-> $result:ty)? { $($arms:tt)* }
        $($rest:tt)*
    ) => {
        $crate::__op! { ($table $backends [$(#[$($attr)*])*] [$vis] [unsafe] $op) ($($argument)*) ($($result)?) $($arms)* }
        $crate::__ops! { $table $backends $hooks [$($done)* $op] $($rest)* }
    };
    (
        $table:ident $backends:ident $hooks:tt [$($done:ident)*]
        $(#[$($attr:tt)*])* $vis:vis fn $op:ident($($argument:tt)*) $(-> $result:ty)? { $($arms:tt)* }
        $($rest:tt)*
    ) => {
        $crate::__op! { ($table $backends [$(#[$($attr)*])*] [$vis] [] $op) ($($argument)*) ($($result)?) $($arms)* }
        $crate::__ops! { $table $backends $hooks [$($done)* $op] $($rest)* }
    };
}

/// Takes an operation apart: its arguments, their types, and its result.
#[doc(hidden)]
#[macro_export]
macro_rules! __op {
    (
        $head:tt (inout $first:ident: $type:ty $(, $argument:ident: $of:ty)* $(,)?) ($result:ty)
        $($arm:ident => $($function:ident)::+ $(, $arch:ident $unsafe:tt $template:tt $(else $call:ident)?)*;)+
    ) => {
        $crate::__op_rules! { $head [$first $($argument)*] $([$arm $([$arch $unsafe $template])*])+ }
        $crate::__op_arms! { ($head [($first, $type) $(($argument, $of))*] (inout $first $result) [$type $(, $of)*] ($result)) []
            $([$arm ($($function)::+) $({ $arch $template [$($call)?] })*])+ }
    };
    (
        $head:tt ($($argument:ident: $of:ty),* $(,)?) ($result:ty)
        $($arm:ident => $($function:ident)::+ $(, $arch:ident $unsafe:tt $template:tt $(else $call:ident)?)*;)+
    ) => {
        $crate::__op_rules! { $head [$($argument)*] $([$arm $([$arch $unsafe $template])*])+ }
        $crate::__op_arms! { ($head [$(($argument, $of))*] (out $result) [$($of),*] ($result)) []
            $([$arm ($($function)::+) $({ $arch $template [$($call)?] })*])+ }
    };
    (
        $head:tt ($($argument:ident: $of:ty),* $(,)?) ()
        $($arm:ident => $($function:ident)::+ $(, $arch:ident $unsafe:tt $template:tt $(else $call:ident)?)*;)+
    ) => {
        $crate::__op_rules! { $head [$($argument)*] $([$arm $([$arch $unsafe $template])*])+ }
        $crate::__op_arms! { ($head [$(($argument, $of))*] (none) [$($of),*] ()) []
            $([$arm ($($function)::+) $({ $arch $template [$($call)?] })*])+ }
    };
    (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $($other:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "the operation ", ::core::stringify!($op), ": expected `fn ", ::core::stringify!($op),
            "(name: Type, ...) -> Type { Backend => function, x86_64 unsafe { \"template\" }; ... }`; what it gives back may be its first argument: \
             `(inout name: Type, ...) -> Type`"
        ));
    };
}

/// Reduces each arm to one of three forms: `in "template" [call]` has a template for this instruction set; `nothing` does nothing; `out` only calls
/// its function. `[call]` is empty unless the template has `else call`.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_arms {
    ($op:tt [$($done:tt)+]) => {
        $crate::__op_form! { $op $($done)+ }
    };
    (
        (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $arguments:tt (out $result:ty) $($types:tt)*) $done:tt
        [$arm:ident (nothing) $($templates:tt)*] $($rest:tt)*
    ) => {
        ::core::compile_error!(::core::concat!(
            "the operation ", ::core::stringify!($op), " has a result, which `nothing` does not give: name a function for ",
            ::core::stringify!($arm), ", or make the argument that it gives back `inout`"
        ));
    };
    ($op:tt [$($done:tt)*] [$arm:ident (nothing) $($templates:tt)*] $($rest:tt)*) => {
        $crate::__op_arms! { $op [$($done)* [$arm (nothing) nothing]] $($rest)* }
    };
    ($op:tt [$($done:tt)*] [$arm:ident $function:tt] $($rest:tt)*) => {
        $crate::__op_arms! { $op [$($done)* [$arm $function out]] $($rest)* }
    };
    ($op:tt $done:tt [$arm:ident $function:tt { $arch:ident $template:tt $call:tt } $($more:tt)*] $($rest:tt)*) => {
        $crate::__op_if_here! { $arch
            { $crate::__op_here! { { $op $done $arm $function $template $call } { [$($more)*] $($rest)* } } }
            { $crate::__op_elsewhere! { { $op $done $arm $function $template $call } { [$($more)*] $($rest)* } } } }
    };
}

/// Used if the template is for this instruction set: keeps the template, and drops the arm's other templates.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_here {
    ({ $op:tt [$($done:tt)*] $arm:ident $function:tt { $template:literal } $call:tt } { $more:tt $($rest:tt)* }) => {
        $crate::__op_arms! { $op [$($done)* [$arm $function in $template $call]] $($rest)* }
    };
}

/// Used if the template is for another instruction set: drops the template.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_elsewhere {
    ({ $op:tt $done:tt $arm:ident $function:tt $template:tt $call:tt } { [$($more:tt)*] $($rest:tt)* }) => {
        $crate::__op_arms! { $op $done [$arm $function $($more)*] $($rest)* }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_form {
    ($op:tt [$arm:ident $function:tt in $template:literal $call:tt] $($others:tt)*) => {
        $crate::__op_if_in_place! { [$crate::__op_in_place] [$crate::__op_call] $op [$arm $function $template] $($others)* }
    };
    ($op:tt [$arm:ident (nothing) nothing] $($others:tt)*) => {
        $crate::__op_if_in_place! { [$crate::__op_in_place] [$crate::__op_call] $op [$arm (nothing) nothing] $($others)* }
    };
    ($op:tt $($arms:tt)+) => {
        $crate::__op_call! { $op $($arms)+ }
    };
}

/// Makes an operation that is a static call.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_call {
    (
        (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $arguments:tt $kind:tt $of:tt $result:tt)
        [$first:ident $default:tt $($first_of:tt)*] $($others:tt)*
    ) => {
        $crate::__op_static! { $attr $vis $unsafe $op $of $result $default }
        $crate::__op_operation! { $backends $op $of $result (<$op as $crate::call::Trampoline>::Function)
            (__function => ::core::option::Option::Some($crate::Settable::request(&$op, __function))) [$first $default] $($others)* }
    };
}

/// Implements `ops::Operation` for the type of an operation. Its request leads the operation's call to the function of the backend's arm. Does not
/// compile if a backend has no arm, or if the arms are functions of different types.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_operation {
    (
        $backends:ident $op:ident $of:tt $result:tt ($type:ty) ($function:ident => $request:expr)
        [$first:ident $first_named:tt $($first_of:tt)*] $([$arm:ident $named:tt $($arm_of:tt)*])*
    ) => {
        const _: () = ::core::assert!(
            <$backends>::$first as ::core::primitive::u8 == 0,
            ::core::concat!("the operation ", ::core::stringify!($op), ": its first arm is not of the first backend of the table")
        );
        $($crate::__op_slow_way! { $op $arm $($arm_of)* })*
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: for a static call, the request is for this operation's call. For an operation in place, there is no request.
        unsafe impl $crate::ops::Operation<$backends> for $op {
            fn request(__backend: $backends)
                -> ::core::option::Option<::core::result::Result<$crate::ops::Request<'static>, $crate::Error>>
            {
                let $function: $type = match __backend {
                    $backends::$first => $crate::__op_function!($first_named $of $result),
                    $($backends::$arm => $crate::__op_function!($named $of $result),)*
                };
                $request
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_static {
    ([$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident [$($of:ty),*] () (nothing)) => {
        $crate::__op_static_nothing! { [$($attr)*] [$vis] $op ($($unsafe)? extern "C" fn($($of),*)) { extern "C" fn __nothing($(_: $of),*) {} } }
    };
    ([$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident [$first:ty $(, $of:ty)*] ($result:ty) (nothing)) => {
        $crate::__op_static_nothing! { [$($attr)*] [$vis] $op ($($unsafe)? extern "C" fn($first $(, $of)*) -> $result)
            { extern "C" fn __nothing(__same: $first, $(_: $of),*) -> $result { __same } } }
    };
    ([$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident [$($of:ty),*] ($($result:ty)?) ($($default:ident)::+)) => {
        $crate::static_call! {
            $($attr)*
            #[allow(non_upper_case_globals)]
            $vis static $op: $($unsafe)? extern "C" fn($($of),*) $(-> $result)? = $($default)::+;
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_static_nothing {
    ([$($attr:tt)*] [$vis:vis] $op:ident ($function:ty) $nothing:tt) => {
        $crate::__static_call! { [$($attr)* #[allow(non_upper_case_globals)] $vis] $op: $function = __nothing, $function,
            (|__target| ::core::option::Option::Some(__target)) (|__function| __function.unwrap_or(__nothing)) $nothing }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_type {
    ([$($unsafe:tt)?] [$($of:ty),*] ($($result:ty)?)) => { $($unsafe)? extern "C" fn($($of),*) $(-> $result)? };
}
