//! An arm must belong to a backend of the table.
jumplabel::ops! {
    static LOCK: Lock = { Native, Xen };

    fn unlock(word: u64) -> u64 {
        Native => native;
        Xen => native;
        Kvm => native;
    }
}

extern "C" fn native(word: u64) -> u64 {
    word + 1
}

fn main() {}
