//! The first mode of a static mode must be one of its type's modes.

use jumplabel::{modes, static_mode};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Slow; }

fn main() {}
