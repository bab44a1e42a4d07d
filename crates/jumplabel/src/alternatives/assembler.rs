//! The inline assembly of an alternative: the site, the arms after the function, the table entry.
//!
//! ```text
//!  .subsection 2   8804: count; of each arm: feature and length, address  8805:   the list of arms
//!  .subsection 1   8840: new  8841: jmp 8803    the arm of a feature
//!  in line         8802: old  8806: nops  8803: the site: as long as the longest arm, and at least 4 bytes
//!  .subsection 1   8807: old  8808:             the arm without a feature: a copy of the old instructions
//! ```
//!
//! The subsections lie after the function. If the instructions of an arm have more than seven bytes, the site is as long as the old instructions, and
//! at least 5 bytes. Then only the first five bytes of the site change: they become a jump to the arm.

/// Yields assembler text: instructions that [`alternatives::apply`](crate::alternatives::apply) replaces by others if the processor has a feature
/// (Linux: `ALTERNATIVE`). Write `asm!(alternative!("old", popcnt => "new"), ...)`. Until `apply` has run, the processor executes the old
/// instructions. After that, it executes those of a named feature that it has. If it has several of the named features, it executes those of the last
/// one.
///
/// ```
/// use jumplabel::{alternative, alternatives};
///
/// /// How many zeros are above the highest one of a number that is not 0.
/// fn zeros_above(number: u32) -> u32 {
///     # #[cfg(target_arch = "x86_64")] {
///     let zeros;
///     unsafe {
///         std::arch::asm!(
///             alternative!("bsr {z:e}, {n:e}\n xor {z:e}, 31", lzcnt => "lzcnt {z:e}, {n:e}"),
///             n = in(reg) number, z = out(reg) zeros, options(pure, nomem, nostack),
///         );
///     }
///     return zeros;
///     # }
///     # #[cfg(not(target_arch = "x86_64"))]
///     # number.leading_zeros()
/// }
///
/// assert_eq!(zeros_above(0b1011), 28);
/// alternatives::apply()?; // before the first thread starts
/// assert_eq!(zeros_above(0b1011), 28);
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// All alternatives must do the same, with the same operands: those of the `asm!`. An alternative may jump inside its own text. It may call symbols,
/// and jump to them. It must not jump to another alternative.
///
/// The site costs as many bytes as the longest alternative, at least 4. If an alternative is longer than 7 bytes, the site costs as many bytes as the
/// old instructions instead, at least 5. In the code after the function, each alternative costs its instructions and at most 13 bytes. The table
/// entry costs 16 bytes. A feature is named as in rustc, or as in Linux (`erms`, `fsrm`).
///
/// On instruction sets other than x86-64, on Windows, and in the fallback, the macro yields the old instructions.
#[cfg(jumplabel_alternatives)]
#[macro_export]
macro_rules! alternative {
    ($old:literal $(, $feature:ident => $new:literal)+ $(,)?) => {
        ::core::concat!(
            $crate::__alternative_begin_asm!(),
            $($crate::__alternative_new_asm!($feature, $new),)+
            $crate::__alternative_old_asm!($old)
        )
    };
}

/// Yields the old instructions, because this build has no alternatives.
#[cfg(not(jumplabel_alternatives))]
#[macro_export]
macro_rules! alternative {
    ($old:literal $(, $feature:ident => $new:literal)+ $(,)?) => {
        $old
    };
}

/// The beginning of the list of arms. Before it come the parts that an assembler file needs once: the object's record and key, and the assembler's
/// macros.
///
/// The macro `jumplabel_longer` measures a length by counting bytes with `.rept`. `.if` needs the length as a number. A symbol that is set to the
/// difference of two labels has no value yet at that point, but `.rept` can use the difference at once.
#[cfg(jumplabel_alternatives)]
#[doc(hidden)]
#[macro_export]
macro_rules! __alternative_begin_asm {
    () => {
        ::core::concat!(
            ".ifndef .Ljump_size\n",
            $crate::__once_asm!(),
            "\n",
            $crate::__own_key_asm!("__jumplabel_alternatives"),
            ".macro jumplabel_longer b\n.set .Ljump_len,0\n.rept \\b\n.set .Ljump_len,.Ljump_len+1\n.endr\n\
            .if .Ljump_len>.Ljump_size\n.set .Ljump_size,.Ljump_len\n.endif\n.endm\n",
            ".macro jumplabel_nops n\n.if \\n==1\n.byte 0x90\n.elseif \\n==2\n.byte 0x66,0x90\n.elseif \\n==3\n.byte 0x0f,0x1f,0\n\
            .elseif \\n==4\n.byte 0x0f,0x1f,0x40,0\n.elseif \\n==5\n.byte 0x0f,0x1f,0x44,0,0\n.elseif \\n==6\n.byte 0x66,0x0f,0x1f,0x44,0,0\n\
            .elseif \\n==7\n.byte 0x0f,0x1f,0x80,0,0,0,0\n.endif\n.endm\n.endif\n",
            ".set .Ljump_size,4\n.set .Ljump_far,0\n.subsection 2\n.balign 4\n8804: .long (8805f-8804b-4)/8\n.previous\n"
        )
    };
}

/// An arm for a feature: its instructions, the jump back to the site, and its row in the list of arms.
#[cfg(jumplabel_alternatives)]
#[doc(hidden)]
#[macro_export]
macro_rules! __alternative_new_asm {
    ($feature:ident, $new:literal) => {
        ::core::concat!(
            ".subsection 1\n8840:\n",
            $new,
            "\n8841: .byte 0xe9\n.long 8803f-.-4\n.previous\njumplabel_longer 8841b-8840b\n\
            .subsection 2\n.long ",
            $crate::__alternative_feature!($feature),
            "|(8841b-8840b)<<8,8840b-.\n.previous\n"
        )
    };
}

/// The site of an alternative, the arm without a feature, and the table entry.
#[cfg(jumplabel_alternatives)]
#[doc(hidden)]
#[macro_export]
macro_rules! __alternative_old_asm {
    ($old:literal) => {
        ::core::concat!(
            $crate::__op_begin_asm!(),
            "8802:\n",
            $old,
            "\n8806:\n\
            jumplabel_longer 8806b-8802b\n.if .Ljump_size>7\n.set .Ljump_size,5\n.set .Ljump_far,1\n.endif\n\
            .altmacro\njumplabel_nops %(.Ljump_size-.Ljump_len)\n.noaltmacro\n8803:\n\
            .subsection 1\n8807:\n",
            $old,
            "\n8808:\n.previous\n.subsection 2\n.long (8808b-8807b)<<8,8807b-.\n8805:\n.previous\n",
            $crate::__op_entry_asm!(),
            "\n.long __jumplabel_alternatives-.,20|.Ljump_size<<8|.Ljump_far<<11",
            $crate::__op_prefixed_asm!(),
            "\n.popsection\n"
        )
    };
}
