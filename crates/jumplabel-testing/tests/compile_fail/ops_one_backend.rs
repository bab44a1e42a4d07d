//! A table of operations must have at least two backends.

jumplabel::ops! {
    static TABLE: Backend = { Native };

    fn next(number: u64) -> u64 {
        Native => native;
    }
}

extern "C" fn native(number: u64) -> u64 {
    number + 1
}

fn main() {}
