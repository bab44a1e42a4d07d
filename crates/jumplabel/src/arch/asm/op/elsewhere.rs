//! Where no operation is in place: all of them are static calls.

/// No template is for here.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    ($other:ident $here:tt { $($elsewhere:tt)* }) => { $($elsewhere)* };
}

/// A call that does nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ($in_place:tt [$($call:tt)*] $($op:tt)*) => { $($call)*! { $($op)* } };
}
