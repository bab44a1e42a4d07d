//! `record_key!` takes only keys in statics.
use jumplabel::{StaticKey, record_key};

struct Config {
    trace: StaticKey<false>,
    level: u32,
}
static CONFIG: Config = Config { trace: StaticKey::new(), level: 1 };
static TABLE: [StaticKey<false>; 2] = [const { StaticKey::new() }; 2];
const CONSTANT: Config = Config { trace: StaticKey::new(), level: 1 };

record_key! { CONFIG.level; }
record_key! { TABLE[2]; }
record_key! { CONSTANT.trace; }
record_key! { NOWHERE.trace; }
record_key! { CONFIG.trace }
record_key! { CONFIG.key(); }

fn main() {
    let _local = StaticKey::<false>::new();
    record_key! { _local; }
}
