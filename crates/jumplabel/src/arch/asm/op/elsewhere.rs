//! Where no operation is in place: all of them are static calls.

/// No template is for here.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_here {
    ($other:ident $($rest:tt)*) => { $crate::__op_elsewhere! { $($rest)* } };
}

/// A call that does nothing.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_if_in_place {
    ($($op:tt)*) => { $crate::__op_call! { $($op)* } };
}
