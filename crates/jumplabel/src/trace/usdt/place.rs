//! The places where tracers find the arguments of a tracepoint. The text in the note leads to words of 8 bytes, which the function with the note
//! fills.
//!
//! ```text
//!   u32, i32, bool, char, *const T, &T, Option<&T>    the value                                4@0(%rax) -4@0(%rax) ...
//!   &str, &[T]                                        two arguments: the address, the length   8@0(%rax) 8@8(%rax)
//!   all other types: f64, structs, &dyn T             the address of the value                 8@0(%rax)
//! ```

use core::marker::PhantomData;

/// The size and the words for an argument of type `T`. For the types in the figure's first two lines, they are inherent items, which take precedence
/// over the items of [`Else`], the trait for all types.
#[derive(Debug)]
pub struct Place<T>(PhantomData<T>);

/// A size that stands for two words of 8 bytes.
pub const PAIR: i32 = 16;

/// The size and the words for all other types: tracers get the address of the value.
pub trait Else<T> {
    /// The size in the note; negative if the value is signed.
    const SIZE: i32 = 8;
    /// The words to which the note leads.
    #[must_use]
    fn words(value: &T) -> [u64; 2] {
        [core::ptr::from_ref(value) as u64, 0]
    }
}

impl<T> Else<T> for Place<T> {}

macro_rules! values {
    ($($type:ty: $size:expr),*) => { $(
        impl Place<$type> {
            /// The size in the note; negative if the value is signed.
            pub const SIZE: i32 = $size;
            /// The words to which the note leads.
            #[must_use]
            pub fn words(value: &$type) -> [u64; 2] {
                [*value as u64, 0]
            }
        }
    )* };
}

values! {
    u8: 1, u16: 2, u32: 4, u64: 8, usize: 8, i8: -1, i16: -2, i32: -4, i64: -8, isize: -8, bool: 1, char: 4
}

macro_rules! pointers {
    ($(<$t:ident> $type:ty: $size:expr, $value:ident => $words:expr;)*) => { $(
        impl<$t> Place<$type> {
            /// The size in the note.
            pub const SIZE: i32 = $size;
            /// The words to which the note leads.
            #[must_use]
            pub fn words($value: &$type) -> [u64; 2] {
                $words
            }
        }
    )* };
}

pointers! {
    <T> &T: 8, value => [core::ptr::from_ref(*value) as u64, 0];
    <T> Option<&T>: 8, value => [value.map_or(0, |value| core::ptr::from_ref(value) as u64), 0];
    <T> *const T: 8, value => [*value as u64, 0];
    <T> *mut T: 8, value => [*value as u64, 0];
    <T> &[T]: PAIR, value => [value.as_ptr() as u64, value.len() as u64];
}

impl Place<&str> {
    /// The size in the note.
    pub const SIZE: i32 = PAIR;
    /// The words to which the note leads.
    #[must_use]
    pub fn words(value: &&str) -> [u64; 2] {
        [value.as_ptr() as u64, value.len() as u64]
    }
}
