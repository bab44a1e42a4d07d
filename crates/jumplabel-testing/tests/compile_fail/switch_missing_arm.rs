//! A switch must have an arm for each mode.

use jumplabel::{modes, static_mode, static_switch};

modes! { enum Mode { Fast, Checked, Traced } }
static_mode! { static MODE: Mode = Fast; }

fn main() {
    static_switch!(MODE, { Fast => 1, Traced => 3 });
}
