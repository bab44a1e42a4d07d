//! Prints how much stack each function takes that flips, and what it may take. The last two rows are twins that take too much.

#[path = "../../../crates/jumplabel/tests/conformance/stack.rs"]
mod painted;

/// For the measurement: this is a program.
const IS_KERNEL: bool = false;

/// More than anything may take.
#[inline(never)]
fn wasteful() {
    core::hint::black_box(&mut [1_u8; 2048]);
}

/// Flips nothing, and yet has the frame of what it would call.
#[inline(never)]
fn wasteful_caller() {
    painted::flip_never(wasteful_inline);
}

#[inline(always)]
fn wasteful_inline() {
    core::hint::black_box(&mut [1_u8; 2048]);
}

fn main() {
    painted::rows(&[], |name, taken, bound| println!("{name:24} {taken:5} {bound:5}"));
    println!("{:24} {:5} {:5}", "a caller's twin", painted::taken(wasteful_caller), painted::CALLER);
    println!("{:24} {:5} {:5}", "a twin", painted::taken(wasteful), painted::FLIP);
}
