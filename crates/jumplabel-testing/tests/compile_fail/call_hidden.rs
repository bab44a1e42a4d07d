//! The type of a call must be visible in the path of its default. It is not for generic functions without arguments, `impl Trait`, functions with
//! target features, closures, and functions of another calling convention.
use jumplabel::static_call;

fn generic<T>(x: T) -> T {
    x
}
fn any(_: impl Copy) {}
async fn later(x: u64) -> u64 {
    x
}
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn wide(x: u64) -> u64 {
    x
}
extern "C" fn other(x: u64) -> u64 {
    x
}

static_call! { static GENERIC: fn(u64) -> u64 = generic; }
static_call! { static ANY: fn(u64) = any; }
static_call! { static LATER: fn(u64) -> u64 = later; }
static_call! { static WIDE: fn(u64) -> u64 = wide; }
static_call! { static OTHER: fn(u64) -> u64 = other; }
static_call! { static CLOSURE: fn(u64) -> u64 = |x| x; }

fn main() {}
