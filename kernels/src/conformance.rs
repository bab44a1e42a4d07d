//! Runs tests of user space on this machine: the bodies are shared with tests/keys.rs and tests/naked.rs of the core.

use crate::say;

#[path = "../../crates/jumplabel/tests/conformance/keys.rs"]
mod keys;
#[path = "../../crates/jumplabel/tests/conformance/naked.rs"]
mod naked;

macro_rules! of_keys {
    ($($body:ident)*) => { &[$(keys::$body),*] };
}
macro_rules! of_naked_keys {
    ($($body:ident)*) => { &[$(naked::$body),*] };
}
const BODIES: [&[fn()]; 2] = [keys::each!(of_keys), naked::each!(of_naked_keys)];

/// Runs the tests. Call it only once, because they do not reset their keys.
pub fn run() {
    BODIES.iter().flat_map(|bodies| bodies.iter()).for_each(|body| body());
    say!("{} tests of keys and {} of naked keys", BODIES[0].len(), BODIES[1].len());
}
