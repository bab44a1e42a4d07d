//! The function that `listing` lists. Two programs have it: this command, and test-crates/short, which is linked by the tool.

use std::hint::black_box;

/// Whose parent's number is asked for.
pub struct Task {
    pub parent: *const Task,
    pub number: u64,
}

/// What the arm does that nobody takes. At the end of the function, so that no register is kept for what follows: a check is all that differs.
#[cold]
#[inline(never)]
pub fn said(number: u64) -> u64 {
    println!("I am the true branch");
    number
}

/// Functions that differ in their check, and in nothing else.
macro_rules! parents {
    ($($(#[$attribute:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$attribute])*
        #[inline(never)]
        fn $name(task: &Task) -> u64 {
            // SAFETY: a task has one.
            let number = unsafe { (*task.parent).number };
            if $check { said(number) } else { number }
        }
    )*};
}
pub(crate) use parents;

/// Asks a task whose parent's number is 3.
pub fn ask(function: fn(&Task) -> u64) -> u64 {
    let own = Task { parent: std::ptr::null(), number: 3 };
    black_box(function)(&Task { parent: &raw const own, number: 4 })
}
