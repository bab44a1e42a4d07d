//! A static call can be changed only to functions of its type.
use jumplabel::static_call;

fn plain(x: u64) -> u64 {
    x
}

fn other(x: u32) -> u64 {
    u64::from(x)
}

unsafe fn unsafe_one(x: u64) -> u64 {
    x
}

static_call! {
    static HOOK: fn(u64) -> u64 = plain;
    static NOWHERE: Option<fn(u64)> = None;
    static ZERO: fn(u64) -> u64 = return 0;
}

fn main() {
    let captured = 1;
    let _ = HOOK.update(other);
    let _ = HOOK.update(unsafe_one);
    let _ = HOOK.update(|x| x + captured);
    let _ = HOOK.update(None);
    let _ = NOWHERE.update(plain);
    let _ = ZERO.update(0);
    HOOK("text");
}
