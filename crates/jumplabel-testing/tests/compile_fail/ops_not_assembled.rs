//! A template must contain only instructions.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn unlock(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "coffee {ret}, {word}, 12345678" };
        Xen => native;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

fn main() {
    std::process::exit(unlock(1) as i32);
}
