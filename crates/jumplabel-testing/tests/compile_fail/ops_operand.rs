//! An operand of a template must be an argument that a function gets unchanged in a general register.

jumplabel::ops! {
    static TABLE: Backend = { Native, Called };

    fn scale(x: f64) -> f64 {
        Native => scaled, x86_64 unsafe { "{{disp32}} lea {ret}, [{x} + 0]" };
        Called => scaled;
    }

    fn short(x: u16) -> u32 {
        Native => long, x86_64 unsafe { "{{disp32}} lea {ret:e}, [{x:r} + 0]" };
        Called => long;
    }
}

extern "C" fn scaled(x: f64) -> f64 {
    x
}

extern "C" fn long(x: u16) -> u32 {
    x.into()
}

fn main() {}
