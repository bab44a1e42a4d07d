//! Operations in place on x86-64: stubs, and the unwind information of stubs. A *closed* arm has a template: its stub is the template. An *open* arm
//! has none: its stub calls the backend's function, and code in `thunk` preserves the registers.

/// Expands to the first tokens if a template is for this instruction set, and to the second tokens if it is for another one.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    (x86_64 { $($here:tt)* } $elsewhere:tt) => { $($here)* };
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}

/// Decides whether an operation is in place or a static call. An operation is in place if its first arm has a template or is `nothing`. If the first
/// arm is `nothing`, the site holds a nop that is long enough.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ([$($in_place:tt)*] $call:tt $op:tt [$arm:ident $function:tt $template:literal] $($others:tt)*) => {
        $($in_place)*! { $op [$arm $function $template] $($others)* }
    };
    ([$($in_place:tt)*] $call:tt $op:tt [$arm:ident (nothing) nothing] $($others:tt)*) => {
        $($in_place)*! { $op [$arm (nothing) ".byte 0x0f,0x1f,0x44,0,0"] $($others)* }
    };
}

/// Passes its arguments on to the macro `$then`, and adds the operands that an open arm needs.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_operands {
    ([$($then:tt)*] $table:ident $backends:ident [$($text:tt)*] [$($operand:tt)*] $named:tt) => {
        $($then)*! { $table $backends [$($text)* "// {call} {__thunk}",]
            [$($operand)* call = const 8806, __thunk = sym $crate::arch::__op_thunk,] $named }
    };
}

/// The text around a site's instruction, which on x86-64 is empty.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_instruction_asm {
    ($place:ident) => {
        ""
    };
}

/// The check of a native instruction's length, in two parts: `wrong` is the condition for an error, and `message` is the text of the error.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_length_asm {
    (wrong) => {
        "<5"
    };
    (message) => {
        " is shorter than 5 bytes: make it longer, by {{disp32}} or a prefix"
    };
}

/// The code of an arm that does nothing, with its row in the list of arms: a nop as long as the native instruction. The length of the nop follows
/// from the bytes of the nop alone. No nop has more than 10 bytes. If the native instruction is longer, the code is a stub that jumps back.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_nothing_asm {
    () => {
        ".subsection 1\n.if (8803b-8802b)>10\n8811:\n8812: .byte 0xe9\n.long 8803b-.-4\n.else\n8811:\n\
        .if (8803b-8802b)==6 || (8803b-8802b)>8\n.byte 0x66\n.endif\n.if (8803b-8802b)==10\n.byte 0x66\n.endif\n\
        .if (8803b-8802b)<7\n.byte 0x0f,0x1f,0x44,0,0\n.elseif (8803b-8802b)==7\n.byte 0x0f,0x1f,0x80,0,0,0,0\n\
        .else\n.byte 0x0f,0x1f,0x84,0,0,0,0,0\n.endif\n8812:\n.endif\n.previous\n\
        .subsection 2\n.long {}|(8812b-8811b)<<8,8811b-.\n.previous"
    };
}

/// The stub of a closed arm: at most 64 bytes. If the stub is longer, the assembler reports the line of the `.org`, and so shows the comment on that
/// line.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_closed_asm {
    ($op:ident, $template:literal) => {
        ::core::concat!(
            ".subsection 1\n.p2align 6,0xcc\n8811:\n",
            $template,
            "\n.byte 0xe9\n8812: .long 8803b-.-4\n8813:\n.org 8811b+64,0xcc # jumplabel: an arm of the operation ",
            ::core::stringify!($op),
            " is longer than 64 bytes with its jump back: make it shorter, or name a function alone\n.previous\n",
            $crate::__op_unwind_asm!("0xc0", "")
        )
    };
}

/// The stub of an open arm. The stub also has the label 8806, to which a closed arm jumps for its slow path. The stub steps over the red zone, and
/// passes the operands to `__op_thunk`, which calls the backend's function and preserves all other registers.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_open_asm {
    ([$(($argument:ident, $of:ty))*] $kind:tt) => {
        ::core::concat!(
            ".subsection 1\n.p2align 7,0xcc\n8806:\n8811: lea rsp,[rsp-184]\n8814:\n",
            $crate::__op_arguments_asm!([8 16 24 32 40 48] $($argument)*),
            "mov [rsp],rax\nmov rax,[rip+{}@GOTPCREL]\ncall [rip+{__thunk}@GOTPCREL]\nmov rax,[rsp]\n",
            $crate::__op_result_asm!($kind),
            "lea rsp,[rsp+184]\n8815:\n.byte 0xe9\n8812: .long 8803b-.-4\n8813:\n.org 8811b+128,0xcc\n.previous\n",
            $crate::__op_unwind_asm!("0x80", ".byte 0x40+8814b-8811b,0x0e,0xb8,1,0x02,8815b-8814b,0x0e,0\n")
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_arguments_asm {
    ([$($slot:literal)*]) => { "" };
    ([$slot:literal $($slots:literal)*] $argument:ident $($arguments:ident)*) => {
        ::core::concat!("mov [rsp+", $slot, "],{", ::core::stringify!($argument), ":r}\n", $crate::__op_arguments_asm!([$($slots)*] $($arguments)*))
    };
    ([] $($argument:ident)+) => { compile_error!("an operation has six arguments at most") };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __op_result_asm {
    ((none)) => {
        ""
    };
    ((out $result:ty)) => {
        "mov {ret:r},[rsp+8]\n"
    };
    ((inout $same:ident $result:ty)) => {
        ::core::concat!("mov {", ::core::stringify!($same), ":r},[rsp+8]\n")
    };
}

/// The unwind information of the stub at labels 8811 to 8813 (DWARF 5, 6.4). To an unwinder the stub is a function with an empty frame that was
/// called from the place after the site. The stub's last jump leads to that place, and an expression in the unwind information computes the place
/// from the jump. `$mask` rounds an address in the stub down to the stub's alignment.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_unwind_asm {
    ($mask:literal, $rows:literal) => {
        ::core::concat!(
            ".pushsection .eh_frame,\"a\",@unwind\n8820: .long 8822f-8821f\n8821: .long 0\n.byte 1\n.asciz \"zR\"\n\
            .byte 1,0x78,16,1,0x1b,0x0c,7,0\n.p2align 3,0\n8822: .long 8824f-8823f\n8823: .long 8823b-8820b\n.long 8811b-.\n\
            .long 8813b-8811b\n.byte 0\n\
            .byte 0x16,16,19,0x80,0,0x09,", $mask, ",0x1a,0x23,8812b-8811b,0x12,0x94,4,8,32,0x24,8,32,0x26,0x22,0x23,4\n",
            $rows, ".p2align 3,0\n8824:\n.popsection"
        )
    };
}
