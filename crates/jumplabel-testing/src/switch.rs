//! A mode for switches in other crates.

use jumplabel::{modes, static_mode, static_switch};

modes! {
    /// The modes.
    pub enum Colour {
        /// The first.
        Red,
        /// The default.
        Green,
        /// The last.
        Blue,
    }
}

static_mode! {
    /// The mode of the switch in [`colour`], and of switches in other crates.
    pub static COLOUR: Colour = Green;
}

/// Returns the mode for which this crate's switch has chosen an arm.
#[must_use]
pub fn colour() -> Colour {
    static_switch!(COLOUR, { Red => Colour::Red, Green => Colour::Green, Blue => Colour::Blue })
}
