//! An arm of an operation must be a function, not a static that holds the address of one.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn in_place(word: u64) -> u64 {
        Native => native, x86_64 unsafe { "{{disp32}} lea {ret}, [{word} + 1]" };
        Xen => OTHER;
    }

    fn called(word: u64) -> u64 {
        Native => OTHER;
        Xen => native;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

static OTHER: extern "C" fn(u64) -> u64 = native;

fn main() {}
