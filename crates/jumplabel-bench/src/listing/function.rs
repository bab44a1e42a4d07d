//! The function that `listing` lists. Two programs have it: this command, and test-crates/short, which `jumplabel link` links.

use std::hint::black_box;

/// A task. The function asks for the number of its parent.
pub struct Task {
    pub parent: *const Task,
    pub number: u64,
}

/// The work of the arm that nobody takes. It is at the end of the function, so that no register is kept for later code. So only the check differs.
#[cold]
#[inline(never)]
pub fn said(number: u64) -> u64 {
    println!("I am the true branch");
    number
}

/// Makes functions that differ only in their check.
macro_rules! parents {
    ($($(#[$attribute:meta])* $name:ident: $check:expr;)*) => {$(
        $(#[$attribute])*
        #[inline(never)]
        fn $name(task: &Task) -> u64 {
            // SAFETY: each task has a parent.
            let number = unsafe { (*task.parent).number };
            if $check { said(number) } else { number }
        }
    )*};
}
pub(crate) use parents;

/// Calls the function with a task whose parent has the number 3.
pub fn ask(function: fn(&Task) -> u64) -> u64 {
    let own = Task { parent: std::ptr::null(), number: 3 };
    black_box(function)(&Task { parent: &raw const own, number: 4 })
}
