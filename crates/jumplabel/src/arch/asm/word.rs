//! The assembler of sites of one word, for instruction sets whose assemblers call the two instructions `nop` and `b`. (The macro of a check
//! is not here, because it also contains the stub that loads, which differs between instruction sets.)

/// A pristine site after `$label`.
#[doc(hidden)]
#[macro_export]
macro_rules! __nop_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\nnop\n")
    };
}

/// A site after `$label` that jumps.
#[doc(hidden)]
#[macro_export]
macro_rules! __jump_asm {
    ($label:literal, $target:literal) => {
        ::core::concat!($label, "\nb ", $target, "\n")
    };
}

/// The site of an N-way switch.
#[doc(hidden)]
#[macro_export]
macro_rules! __switch_options {
    ($($switch:tt)*) => {
        $crate::__switch_asm!((nostack, nomem, preserves_flags), "", "b \\t", "", "", $($switch)*)
    };
}
