//! The default of a static call must be a function, not a static that holds the address of one.

fn function(x: u8) -> u8 {
    x
}

static DEFAULT: fn(u8) -> u8 = function;

jumplabel::static_call! {
    static CALL: fn(u8) -> u8 = DEFAULT;
}

fn main() {
    CALL(1);
}
