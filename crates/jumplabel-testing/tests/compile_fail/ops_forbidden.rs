//! Templates are refused if the crate forbids unsafe code.
#![forbid(unsafe_code)]

jumplabel::ops! {
    static TABLE: Backend = { Native, Other };

    fn next(number: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" };
        Other => native;
    }

    fn without_templates(number: u64) -> u64 {
        Native => native;
        Other => native;
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

fn main() {}
