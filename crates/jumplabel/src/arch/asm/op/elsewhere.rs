//! Instruction sets on which no operation is in place: all operations are static calls.

/// Expands to the tokens for other instruction sets: a template is never for this one.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}

/// Makes every operation a static call, even one that does nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ($in_place:tt [$($call:tt)*] $($op:tt)*) => { $($call)*! { $($op)* } };
}
