//! An operation with `inout` returns its first argument, and must give the result's type.

jumplabel::ops! {
    static TABLE: Backend = { Native, Other };

    fn change(number: inout u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {number}, [{number} + 1]" };
        Other => native;
    }

    fn without(inout number: u64) {
        Native => native, x86_64 unsafe { "{{disp32}} lea {number}, [{number} + 1]" };
        Other => native;
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

fn main() {}
