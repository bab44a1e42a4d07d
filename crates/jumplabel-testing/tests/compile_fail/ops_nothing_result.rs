//! The arm `nothing` gives no result, so an operation that has one cannot use it.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn unlock(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{word} + 1]" };
        Xen => nothing;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

fn main() {}
