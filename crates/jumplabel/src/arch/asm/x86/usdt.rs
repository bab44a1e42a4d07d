//! The assembler of an SDT note: a nop of five bytes, and the note that says where the nop is and where its arguments are. The format is
//! that of `<sys/sdt.h>`.
//!
//! ```text
//!   2:  0f 1f 44 00 00        where tracers put a uprobe: kernels from 6.18 on make a call of such a nop
//!
//!   .note.stapsdt             not loaded; tied to the function, so that the linker drops both or neither
//!     nop, base, semaphore      three addresses; the base tells a tool how far somebody has moved the sections of the file
//!     provider, name            of the tracepoint
//!     8@0(%rax) -4@16(%rax)     a size for each argument, with a minus sign if it is signed, and the place of the argument
//! ```
//!
//! The arguments are words in memory, and `rax` leads to them: so any number of arguments of any types takes one register, and a text, which
//! has two words, needs no other text here than a number does. The options do not say `nostack`: where the kernel has made a call of the nop,
//! the call writes below the stack pointer, where the compiler would keep the words of a function that calls nothing. The relocation at the nop changes no bytes. Without it, functions with the
//! same arguments look alike to a linker that folds identical code (`--icf`).

/// The note for the nop, with the provider, the name and, for each argument, a separator, the name of an operand that holds its size (16: two
/// words), and the places of its words. Names these operands: `words` leads to the words, `semaphore` and `function` are symbols.
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note {
    ($provider:expr, $name:expr, $words:expr, $semaphore:path, $function:path, $(($argument:ident $size:expr, $separator:literal $first:literal $second:literal))*) => {
        ::core::arch::asm!(
            "2: .byte 0x0f,0x1f,0x44,0,0;.reloc 2b,BFD_RELOC_NONE,{semaphore}",
            ".pushsection .note.stapsdt,\"o?\",%note,{function};.balign 4;.long 4f-3f,6f-5f,3;3: .asciz \"stapsdt\"",
            ::core::concat!(
                "4: .balign 4;5: .quad 2b,_.stapsdt.base,{semaphore};.asciz \"", $provider, "\";.asciz \"", $name, "\""
            ),
            $(::core::concat!(
                ".if {", ::core::stringify!($argument), "}==16;.ascii \"", $separator, "8@", $first, "(%rax) 8@", $second,
                "(%rax)\";.else;.ascii \"", $separator, "{", ::core::stringify!($argument), "}@", $first, "(%rax)\";.endif"
            ),)*
            ".byte 0;6: .balign 4;.popsection;.ifndef _.stapsdt.base",
            ".pushsection .stapsdt.base,\"aGR\",%progbits,.stapsdt.base,comdat;.weak _.stapsdt.base;.hidden _.stapsdt.base",
            "_.stapsdt.base: .space 1;.size _.stapsdt.base,1;.popsection;.endif",
            $($argument = const $size,)*
            semaphore = sym $semaphore,
            function = sym $function,
            in("rax") $words,
            options(readonly, preserves_flags),
        )
    };
}
