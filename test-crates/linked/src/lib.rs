//! A library with static calls, for dlopen.

use hooks::{SHARED, one};

fn two(number: u64) -> u64 {
    number.wrapping_add(2)
}

/// What the calls lead to, in turn; 0 if all is well.
#[unsafe(no_mangle)]
pub extern "C" fn linked_calls() -> u64 {
    for round in 0..100 {
        let (target, add): (fn(u64) -> u64, u64) = if round % 2 == 0 { (two, 2) } else { (one, 1) };
        if SHARED.update(target).is_err() || hooks::here(round) != round + 2 * add || SHARED(round) != round + add {
            return round + 1;
        }
    }
    0
}
