//! A template is assembler, so its author must write `unsafe`.

jumplabel::ops! {
    static TABLE: Backend = { Native, Other };

    fn bare(number: u64) -> u64 {
        Native => native, x86_64 "{{disp32}} lea {ret}, [{number} + 1]";
        Other => native;
    }
}

jumplabel::ops! {
    static OTHER: Others = { Native, Other };

    fn braced(number: u64) -> u64 {
        Native => native, x86_64 const { "{{disp32}} lea {ret}, [{number} + 1]" };
        Other => native;
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

fn main() {}
