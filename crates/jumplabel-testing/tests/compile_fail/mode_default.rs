//! The first mode is one of the modes.

jumplabel::modes! { pub enum Level { Low, High } }

impl Level {
    const DEFAULT: u16 = 200;
}

jumplabel::static_mode! { static LEVEL: Level = DEFAULT; }

fn main() {
    LEVEL.get();
}
