//! A switch must not have two arms for one mode.

use jumplabel::{modes, static_mode, static_switch};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Fast; }

fn main() {
    static_switch!(MODE, { Fast => 1, Checked => 2, Fast => 3 });
}
