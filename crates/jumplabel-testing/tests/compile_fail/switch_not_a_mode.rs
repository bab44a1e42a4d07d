//! A switch must name a static mode by its path.

use jumplabel::{modes, static_mode, static_switch};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Fast; }
static NUMBER: u8 = 0;

fn main() {
    let mode = &MODE;
    static_switch!(mode, { Fast => 1, Checked => 2 });
    static_switch!(NUMBER, { Fast => 1, Checked => 2 });
}
