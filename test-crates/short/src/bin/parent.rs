//! The function that `jumplabel-bench listing` lists, with a short site.

use std::hint::black_box;

use jumplabel::{static_branch_unlikely, static_key};

static_key! { static KEY: false; }

pub struct Task {
    parent: *const Task,
    number: u64,
}

#[cold]
#[inline(never)]
fn said(number: u64) -> u64 {
    println!("I am the true branch");
    number
}

#[unsafe(no_mangle)]
#[inline(never)]
fn with_short_key(task: &Task) -> u64 {
    // SAFETY: a task has one.
    let number = unsafe { (*task.parent).number };
    if static_branch_unlikely!(KEY) { said(number) } else { number }
}

fn main() {
    let own = Task { parent: std::ptr::null(), number: 3 };
    let task = Task { parent: &raw const own, number: 4 };
    assert_eq!(black_box(with_short_key as fn(&Task) -> u64)(&task), 3);
    KEY.enable().unwrap();
    assert_eq!(black_box(with_short_key as fn(&Task) -> u64)(&task), 3);
}
