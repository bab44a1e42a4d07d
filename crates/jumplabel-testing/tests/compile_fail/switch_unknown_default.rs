//! The default is one of the modes.

use jumplabel::{modes, static_mode};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Slow; }

fn main() {}
