//! Instruction sets on which no operation is in place: all operations are static calls.

/// Yields the tokens for other instruction sets. Templates are only for instruction sets that have operations in place.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}

/// Every operation is a static call, even one that does nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ($in_place:tt [$($call:tt)*] $($op:tt)*) => { $($call)*! { $($op)* } };
}
