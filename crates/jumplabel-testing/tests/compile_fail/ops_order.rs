//! The first arm must be that of the first backend, and a template that jumps to a call must be followed by `else call`.

jumplabel::ops! {
    static TABLE: Backend = { Native, Other };

    fn turned(number: u64) -> u64 {
        Other => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" };
        Native => native;
    }

    fn slow(number: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" };
        Other => native, x86_64 unsafe { "jmp {call}f" };
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

fn main() {}
