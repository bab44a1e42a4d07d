//! The functions for arms called `nothing`. They do nothing. For an operation of N arguments, `of_N` has no result, and `same_N` returns its first
//! argument.

macro_rules! nothing {
    ($($none:ident $same:ident [$first:ident $($of:ident)*])*) => {$(
        pub extern "C" fn $none<$first, $($of),*>(_: $first, $(_: $of),*) {}
        pub extern "C" fn $same<$first, $($of),*>(first: $first, $(_: $of),*) -> $first {
            first
        }
    )*};
}
nothing! {
    of_1 same_1 [A] of_2 same_2 [A B] of_3 same_3 [A B C] of_4 same_4 [A B C D] of_5 same_5 [A B C D E]
    of_6 same_6 [A B C D E F]
}
pub extern "C" fn of_0() {}

/// Yields the function that an arm names. For the arm `nothing`, yields the function above that fits the types of the arguments and the result.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_function {
    ((nothing) [] ()) => { $crate::ops::nothing::of_0 };
    ((nothing) [$a:ty] ()) => { $crate::ops::nothing::of_1::<$a> };
    ((nothing) [$a:ty, $b:ty] ()) => { $crate::ops::nothing::of_2::<$a, $b> };
    ((nothing) [$a:ty, $b:ty, $c:ty] ()) => { $crate::ops::nothing::of_3::<$a, $b, $c> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty] ()) => { $crate::ops::nothing::of_4::<$a, $b, $c, $d> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty, $e:ty] ()) => { $crate::ops::nothing::of_5::<$a, $b, $c, $d, $e> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty, $e:ty, $f:ty] ()) => { $crate::ops::nothing::of_6::<$a, $b, $c, $d, $e, $f> };
    ((nothing) [$a:ty] ($r:ty)) => { $crate::ops::nothing::same_1::<$a> };
    ((nothing) [$a:ty, $b:ty] ($r:ty)) => { $crate::ops::nothing::same_2::<$a, $b> };
    ((nothing) [$a:ty, $b:ty, $c:ty] ($r:ty)) => { $crate::ops::nothing::same_3::<$a, $b, $c> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty] ($r:ty)) => { $crate::ops::nothing::same_4::<$a, $b, $c, $d> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty, $e:ty] ($r:ty)) => { $crate::ops::nothing::same_5::<$a, $b, $c, $d, $e> };
    ((nothing) [$a:ty, $b:ty, $c:ty, $d:ty, $e:ty, $f:ty] ($r:ty)) => { $crate::ops::nothing::same_6::<$a, $b, $c, $d, $e, $f> };
    (($($function:ident)::+) $of:tt $result:tt) => {{
        // A function has size 0; a static that holds a function pointer does not. In an operation in place, the assembler would accept such a static,
        // and would call the static itself, not the address in it.
        const _: () = ::core::assert!(::core::mem::size_of_val(&$($function)::+) == 0, "an arm is a function, by its path");
        $($function)::+
    }};
}
