//! A check of a static that is not a key is refused: a flag, a whole array, an optional key.
use std::sync::atomic::AtomicBool;
use jumplabel::{RawKey, static_branch_likely, static_key};

static FLAG: AtomicBool = AtomicBool::new(false);
static_key! { static KEYS: [false; 4]; }
static RAW: Option<&RawKey> = None;

fn main() {
    if static_branch_likely!(FLAG) {}
    if static_branch_likely!(KEYS) {}
    if static_branch_likely!(RAW) {}
}
