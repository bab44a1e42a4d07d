//! A switch takes neither another static with the name of a static mode nor a reference to one.

use std::sync::atomic::AtomicU64;

jumplabel::modes! { pub enum Level { Low, High } }
jumplabel::static_mode! { static MODE: Level = Low; }

fn main() {
    {
        static MODE: AtomicU64 = AtomicU64::new(0);
        jumplabel::static_switch!(MODE, { Low => (), High => () });
    }
    static REFERENCE: &jumplabel::StaticMode<MODE> = &MODE;
    type REFERENCE = MODE;
    jumplabel::static_switch!(REFERENCE, { Low => (), High => () });
}
