//! The function of an arm must have the operation's type.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn in_place(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{word} + 1]" };
        Xen => other;
    }

    fn called(word: u64) -> u64 {
        Native => native;
        Xen => other;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

extern "C" fn other(word: u32) -> u32 {
    word + 1
}

fn main() {}
