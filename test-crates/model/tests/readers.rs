//! Lists of probes: none is freed while a reader is in it.

use jumplabel_model::readers::{Frees, check};

#[test]
fn nobody_is_in_what_is_freed() {
    println!("once: {} interleavings", check(Frees::SeenBoth, 1, None));
    println!("twice: {} interleavings", check(Frees::SeenBoth, 2, Some(4)));
}
