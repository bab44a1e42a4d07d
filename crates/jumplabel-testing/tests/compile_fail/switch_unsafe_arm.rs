//! Unsafe code in an arm of a switch needs an `unsafe` block, as it would outside.

use jumplabel::{modes, static_mode, static_switch};

modes! { enum Mode { Fast, Checked } }
static_mode! { static MODE: Mode = Fast; }

unsafe fn dangerous() {}

fn main() {
    static_switch!(MODE, { Fast => dangerous(), Checked => () });
}
