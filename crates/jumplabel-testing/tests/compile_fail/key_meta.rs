//! The value after `meta` must be a reference to a static value that threads can share, and must come last.
struct Local(*const ());
static SHARED: u32 = 1;
jumplabel::static_key! { static NOT_SHARED: false, meta &Local(core::ptr::null()); }
jumplabel::static_key! { static NOT_A_REFERENCE: false, meta SHARED; }
jumplabel::static_key! { static SHORT: false, meta &String::new(); }
jumplabel::static_key! { static NOT_LAST: false, meta &SHARED, deferred core::time::Duration::from_secs(1); }

fn main() {}
