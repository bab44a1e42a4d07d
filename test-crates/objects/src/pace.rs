//! How much is done, by the machine that this runs on.

/// How many times slower than a processor the machine is that this runs on, where an emulated kernel (cargo xtask guests) says so.
pub fn slowness() -> u32 {
    std::env::var("JUMPLABEL_SLOWNESS").map_or(1, |slowness| slowness.parse().expect("JUMPLABEL_SLOWNESS is a number"))
}

/// So many rounds; fewer on a slow machine, which has as many dangerous moments in each.
pub fn rounds(number: u32) -> u32 {
    number.div_ceil(slowness())
}
