//! Refused: operands with reserved names, templates for an unknown instruction set, and templates or arms that are given twice.

jumplabel::ops! {
    static TABLE: Backend = { Native, Other };

    fn taken(ret: u64, call: u64) {
        Native => two, x86_64 unsafe { "{{disp32}} mov [{ret}], {call}" };
        Other => two;
    }

    fn elsewhere(number: u64) -> u64 {
        Native => native, x86_46 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" };
        Other => native;
    }

    fn doubled_template(number: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 1]" }, x86_64 unsafe { "{{disp32}} lea {ret}, [{number} + 2]" };
        Other => native;
    }

    fn doubled_arm(number: u64) -> u64 {
        Native => native;
        Other => native;
        Other => native;
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

extern "C" fn two(_: u64, _: u64) {}

fn main() {}
