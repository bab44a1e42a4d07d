//! Prints how much stack each function takes that flips, and what it may take. The last row is a twin that takes too much.

#[path = "../../../crates/jumplabel/tests/conformance/stack.rs"]
mod painted;

/// More than anything may take.
#[inline(never)]
fn wasteful() {
    core::hint::black_box(&mut [1_u8; 2048]);
}

fn main() {
    painted::rows(&[], |name, taken, bound| println!("{name:24} {taken:5} {bound:5}"));
    println!("{:24} {:5} {:5}", "a twin", painted::taken(wasteful), painted::FLIP);
}
