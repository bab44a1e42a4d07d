//! Rules for `ops!`: uses that do not compile, and the compiler's messages for them.

/// The output of this macro does not compile in these cases:
/// * an argument has a reserved name, `ret` or `call`;
/// * a template has no `unsafe`, or the user's lints forbid unsafe code;
/// * a template is for an instruction set that has no templates;
/// * two arms are for the same backend, or two templates of an arm are for the same instruction set.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_rules {
    (
        ($table:ident $backends:ident $attr:tt $vis:tt $of:tt $op:ident) [$($argument:ident)*]
        $([$arm:ident $([$arch:ident $unsafe:tt $template:tt])*])+
    ) => {
        $($crate::__op_argument! { $op $argument })*
        #[allow(non_camel_case_types, dead_code, unused_unsafe, clippy::undocumented_unsafe_blocks)]
        const _: () = {
            enum Arms { $($arm),+ }
            $({
                enum Templates { $($arch),* }
                $($crate::__op_arch! { $op $arch })*
                $($crate::__op_promise! { $op [$unsafe] $unsafe $template })*
            })+
        };
    };
}

/// Yields a constant made of the user's own tokens `unsafe { "template" }`. So the user's own lints on unsafe code apply to the template.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_promise {
    ($op:ident [unsafe] $unsafe:tt $template:tt) => {
        const _: &::core::primitive::str = $unsafe $template;
    };
    ($op:ident $other:tt $not_unsafe:tt $template:tt) => {
        ::core::compile_error!(::core::concat!(
            "the operation ", ::core::stringify!($op), ": a template is assembler; say `unsafe { \"template\" }`"
        ));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_argument {
    ($op:ident ret) => {
        ::core::compile_error!(::core::concat!(
            "the operation ",
            ::core::stringify!($op),
            ": `{ret}` is what it gives back: give the argument `ret` another name"
        ));
    };
    ($op:ident call) => {
        ::core::compile_error!(::core::concat!(
            "the operation ",
            ::core::stringify!($op),
            ": `{call}` is the arm's call: give the argument `call` another name"
        ));
    };
    ($op:ident $other:ident) => {};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_arch {
    ($op:ident x86_64) => {};
    ($op:ident aarch64) => {};
    ($op:ident riscv64) => {};
    ($op:ident $other:ident) => {
        ::core::compile_error!(::core::concat!(
            "the operation ",
            ::core::stringify!($op),
            ": templates are for x86_64, aarch64 and riscv64, not for ",
            ::core::stringify!($other)
        ));
    };
}

/// Does not compile if a template contains `{call}` but its arm has no `else call`: the template would then jump to the call of another arm.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_slow_way {
    ($op:ident $arm:ident in $template:literal []) => {
        const _: () = ::core::assert!(
            !$crate::ops::names_call($template),
            ::core::concat!(
                "the operation ",
                ::core::stringify!($op),
                ": a template jumps to a call, but has no `else call` behind it: that of ",
                ::core::stringify!($arm)
            )
        );
    };
    ($($other:tt)*) => {};
}
