//! A closed arm that is too long for its stub is refused.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn unlock(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{word} + 1]" };
        Xen => native, x86_64 unsafe { ".skip 60" };
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

fn main() {
    std::process::exit(unlock(1) as i32);
}
