//! Each operation must have an arm for each backend.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen, Other };

    fn unlock(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{word} + 1]" };
        Xen => native;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

fn main() {}
