//! Uses of `ops!` that must not compile, and the compiler's messages for them.

/// The output of this macro does not compile in these cases:
/// * an argument has a name that is taken;
/// * a template has no `unsafe`, or unsafe code is forbidden;
/// * a template is for an instruction set that has no templates;
/// * an arm or a template occurs twice.
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

/// Yields a constant that is made of the user's own tokens. So the compiler applies the user's own lints on unsafe code.
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

/// Fails to compile if a template contains `{call}` but its arm has no `else call`: the jump would go to another arm's call.
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
