//! Operations in place where each instruction is a word: AArch64 and RV64. An operation is in place only if all its arms have templates,
//! because on these instruction sets no stub saves registers and calls a function. If an arm has no template, the operation is a static
//! call.

/// Expands to the first tokens if a template is for this instruction set, and to the second tokens if it is for another one.
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    (aarch64 { $($here:tt)* } $elsewhere:tt) => { $($here)* };
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    (riscv64 { $($here:tt)* } $elsewhere:tt) => { $($here)* };
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}

/// Decides whether an operation is in place or a static call. If the operation's native form does nothing, the site holds a nop.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ($in_place:tt $call:tt $op:tt [$arm:ident (nothing) nothing] $($others:tt)*) => {
        $crate::__op_if_all_in_place! { [$($others)*] $in_place { $op [$arm (nothing) "nop"] $($others)* }
            $call { $op [$arm (nothing) nothing] $($others)* } }
    };
    ($in_place:tt $call:tt $op:tt [$arm:ident $function:tt $template:literal] $($others:tt)*) => {
        $crate::__op_if_all_in_place! { [$($others)*] $in_place { $op [$arm $function $template] $($others)* }
            $call { $op [$arm $function in $template []] $($others)* } }
    };
}

/// Makes an operation in place if each arm after the first has a template or is `nothing`. Otherwise makes a static call.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_all_in_place {
    ([] [$($in_place:tt)*] $op:tt $call:tt $called:tt) => { $($in_place)*! $op };
    ([[$arm:ident $function:tt nothing] $($others:tt)*] $($rest:tt)*) => { $crate::__op_if_all_in_place! { [$($others)*] $($rest)* } };
    ([[$arm:ident $function:tt in $template:literal []] $($others:tt)*] $($rest:tt)*) => {
        $crate::__op_if_all_in_place! { [$($others)*] $($rest)* }
    };
    ([$arm:tt $($others:tt)*] $in_place:tt $op:tt [$($call:tt)*] $called:tt) => { $($call)*! $called };
}

/// Passes its arguments on to the macro `$then`. (On x86-64, the macro of this name also adds operands.)
#[doc(hidden)]
#[macro_export]
macro_rules! __op_operands {
    ([$($then:tt)*] $($operands:tt)*) => { $($then)*! { $($operands)* } };
}

/// The text around a site's instruction, in three parts: before the instruction and its label; after the instruction; and the jump back from a stub.
/// On RISC-V, the alignment stands in front of the line that forbids compressed instructions, for the reason that `__nop_asm` gives.
#[cfg(target_arch = "aarch64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_instruction_asm {
    (before) => {
        ".p2align 2\n"
    };
    (behind) => {
        ""
    };
    (back) => {
        "b 8803b"
    };
}
#[cfg(target_arch = "riscv64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_instruction_asm {
    (before) => {
        ".option push\n.p2align 2\n.option norvc\n.option norelax\n"
    };
    (behind) => {
        ".option pop\n"
    };
    (back) => {
        "j 8803b"
    };
}

/// The check of a native instruction's length, in two parts: `wrong` is the condition for an error, and `message` is the text of the error.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_length_asm {
    (wrong) => {
        "!=4"
    };
    (message) => {
        " is not one instruction of 4 bytes"
    };
}

/// The code of an arm that does nothing, with its row in the list of arms: a nop, which the site can hold.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_nothing_asm {
    () => {
        ::core::concat!(
            ".subsection 1\n",
            $crate::__op_instruction_asm!(before),
            "8811: nop\n",
            $crate::__op_instruction_asm!(behind),
            ".previous\n.subsection 2\n.long {}|4<<8,8811b-.\n.previous"
        )
    };
}

/// The stub of a backend that has a template: the template, and a jump back.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_closed_asm {
    ($op:ident, $template:literal) => {
        ::core::concat!(
            ".subsection 1\n.p2align 2\n8811:\n",
            $template,
            "\n",
            $crate::__op_instruction_asm!(back),
            "\n.previous\n"
        )
    };
}
