//! Each arm must belong to a mode.

use jumplabel::{modes, static_mode, static_switch};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Fast; }

fn main() {
    static_switch!(MODE, { Fast => 1, Checked => 2, Slow => 3 });
}
