//! A key's type includes its default, so keys with different defaults have different types.
use jumplabel::{StaticKeyFalse, StaticKeyTrue, static_key};

static KEY: StaticKeyTrue = StaticKeyFalse::new();
static_key! { static ON: true; }

fn off(_: &StaticKeyFalse) {}

fn main() {
    off(&ON);
}
