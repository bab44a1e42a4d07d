//! The function that `listing` lists. It is in two programs: in this command, and in test-crates/short, which `jumplabel link` processes.

use std::hint::black_box;

/// A task. The listed function returns the number of the task's parent.
pub struct Task {
    pub parent: *const Task,
    pub number: u64,
}

/// The work of the arm that is never taken. The check is at the end of the function, so no register must be saved for later code. So only the check
/// differs.
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
