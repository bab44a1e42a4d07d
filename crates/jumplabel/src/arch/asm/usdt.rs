//! The assembler of a tracepoint's SDT probe: a nop, and a note with the address of the nop and the places of the tracepoint's arguments. The format
//! of the note is that of `<sys/sdt.h>`.
//!
//! ```text
//!   2:  nop                   where tracers put a uprobe
//!
//!   .note.stapsdt             not loaded; tied to the function, so that the linker drops both or neither
//!     nop, base, semaphore      three addresses; the base tells a tool how far somebody has moved the sections of the file
//!     provider, name            of the tracepoint
//!     8@0(%rax) -4@16(%rax)     a size for each argument, with a minus sign if it is signed, and the place of the argument
//!
//!                    nop          places                      the register that leads to the words
//!   x86-64           5 bytes      8@0(%rax)  -4@16(%rax)      rax
//!   aarch64          a word       8@[x0, 0]  -4@[x0, 16]      x0
//!   riscv64          a nop        8@0(a0)    -4@16(a0)        a0
//! ```
//!
//! The arguments are words in memory, and one register holds their address. So any number of arguments of any types takes only one register. A string
//! is two words, its address and its length.
//!
//! The options lack `nostack` because of x86-64: kernels from 6.18 on turn a nop of five bytes into a call. The call writes below the stack
//! pointer, where the compiler could otherwise keep words of a function that calls nothing.
//!
//! The relocation at the nop changes no bytes. Without the relocation, functions with the same arguments look alike to a linker that folds identical
//! code (`--icf`).

/// The inline assembly of a note, for this instruction set: see [`__usdt_asm`](crate::__usdt_asm).
#[cfg(all(jumplabel_usdt, target_arch = "x86_64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note {
    (of_text $($note:tt)*) => {
        $crate::__usdt_of_text_asm!(".byte 0x0f,0x1f,0x44,0,0" "rax" $($note)*)
    };
    (places) => {
        ::core::concat!("8@", "", "0", "(%rax)", " 8@", "", "8", "(%rax)", " 8@", "", "16", "(%rax)", " 8@", "", "24", "(%rax)")
    };
    ($($note:tt)*) => {
        $crate::__usdt_asm!(".byte 0x0f,0x1f,0x44,0,0" "rax" "" "(%rax)" $($note)*)
    };
}

/// The inline assembly of a note, for this instruction set: see [`__usdt_asm`](crate::__usdt_asm).
#[cfg(all(jumplabel_usdt, target_arch = "aarch64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note {
    (of_text $($note:tt)*) => {
        $crate::__usdt_of_text_asm!("nop" "x0" $($note)*)
    };
    (places) => {
        ::core::concat!("8@", "[x0, ", "0", "]", " 8@", "[x0, ", "8", "]", " 8@", "[x0, ", "16", "]", " 8@", "[x0, ", "24", "]")
    };
    ($($note:tt)*) => {
        $crate::__usdt_asm!("nop" "x0" "[x0, " "]" $($note)*)
    };
}

/// The inline assembly of a note, for this instruction set: see [`__usdt_asm`](crate::__usdt_asm).
#[cfg(all(jumplabel_usdt, target_arch = "riscv64"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_note {
    (of_text $($note:tt)*) => {
        $crate::__usdt_of_text_asm!("nop" "a0" $($note)*)
    };
    (places) => {
        ::core::concat!("8@", "", "0", "(a0)", " 8@", "", "8", "(a0)", " 8@", "", "16", "(a0)", " 8@", "", "24", "(a0)")
    };
    ($($note:tt)*) => {
        $crate::__usdt_asm!("nop" "a0" "" "(a0)" $($note)*)
    };
}

/// The nop `$nop` and its note, with the provider and the name. The macro takes four things for each argument of the tracepoint: the name and the
/// value of an operand, which is the argument's size (16: two words); a separator; and the offsets of the argument's words from `$register`. An
/// offset between `$before` and `$after` is a place.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_asm {
    ($nop:literal $register:tt $before:literal $after:literal $provider:expr, $name:expr, $words:expr, $semaphore:path, $function:path,
        $(($argument:ident $size:expr, $separator:literal $first:literal $second:literal))*) => {
        ::core::arch::asm!(
            ::core::concat!("2: ", $nop, ";.reloc 2b,BFD_RELOC_NONE,{semaphore}"),
            ".pushsection .note.stapsdt,\"o?\",%note,{function};.balign 4;.long 4f-3f,6f-5f,3;3: .asciz \"stapsdt\"",
            ::core::concat!(
                "4: .balign 4;5: .quad 2b,_.stapsdt.base,{semaphore};.asciz \"", $provider, "\";.asciz \"", $name, "\""
            ),
            $(::core::concat!(
                ".if {", ::core::stringify!($argument), "}==16;.ascii \"", $separator, "8@", $before, $first, $after, " 8@", $before, $second, $after,
                "\";.else;.ascii \"", $separator, "{", ::core::stringify!($argument), "}@", $before, $first, $after, "\";.endif"
            ),)*
            ".byte 0;6: .balign 4;.popsection",
            $crate::__usdt_base_asm!(),
            $($argument = const $size,)*
            semaphore = sym $semaphore,
            function = sym $function,
            in($register) $words,
            options(readonly, preserves_flags),
        )
    };
}

/// Defines the symbol `_.stapsdt.base`, the base that a note names. Each linked file has the symbol once (COMDAT).
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_base_asm {
    () => {
        ".ifndef _.stapsdt.base;.pushsection .stapsdt.base,\"aGR\",%progbits,.stapsdt.base,comdat;.weak _.stapsdt.base
        .hidden _.stapsdt.base;_.stapsdt.base: .space 1;.size _.stapsdt.base,1;.popsection;.endif"
    };
}

/// The nop `$nop` and its note, with names that the compiler has put together. `$text` is a constant of the type
/// [`Text`](crate::trace::usdt::text::Text), and the semaphore is `$offset` bytes after the symbol `$semaphore`. There are few operands, because each
/// costs the compiler time: first the whole words of the names, then the remaining bytes.
#[cfg(jumplabel_usdt)]
#[doc(hidden)]
#[macro_export]
macro_rules! __usdt_of_text_asm {
    ($nop:literal $register:tt $text:path, $words:expr, $semaphore:path, $offset:expr, $function:path, $(($word:ident $number:literal))*) => {
        ::core::arch::asm!(
            ::core::concat!("2: ", $nop, ";.reloc 2b,BFD_RELOC_NONE,{semaphore}"),
            ".pushsection .note.stapsdt,\"o?\",%note,{function};.balign 4;.long 4f-3f,6f-5f,3;3: .asciz \"stapsdt\"",
            "4: .balign 4;5: .quad 2b,_.stapsdt.base,{semaphore}+{offset}",
            $(::core::concat!(".if {size}>=8*", $number, "+8;.quad {", ::core::stringify!($word), "};.endif"),)*
            ".if {size}&4;.long {rest}&0xffffffff;.endif;.if {size}&2;.short ({rest}>>(({size}&4)*8))&0xffff;.endif",
            ".if {size}&1;.byte ({rest}>>(({size}&6)*8))&0xff;.endif",
            ::core::concat!(".asciz \"", $crate::__usdt_note!(places), "\""),
            "6: .balign 4;.popsection",
            $crate::__usdt_base_asm!(),
            $($word = const $text.words[$number],)*
            rest = const $text.rest(),
            size = const $text.size,
            offset = const $offset,
            semaphore = sym $semaphore,
            function = sym $function,
            in($register) $words,
            options(readonly, preserves_flags),
        )
    };
}
