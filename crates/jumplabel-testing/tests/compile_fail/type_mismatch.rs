//! The default is part of the type.
use jumplabel::{StaticKeyFalse, StaticKeyTrue, static_key};

static KEY: StaticKeyTrue = StaticKeyFalse::new();
static_key! { static ON: true; }

fn off(_: &StaticKeyFalse) {}

fn main() {
    off(&ON);
}
