//! The first mode must be one of the modes, not another constant of the type.

jumplabel::modes! { pub enum Level { Low, High } }

impl Level {
    const DEFAULT: u16 = 200;
}

jumplabel::static_mode! { static LEVEL: Level = DEFAULT; }

fn main() {
    LEVEL.get();
}
