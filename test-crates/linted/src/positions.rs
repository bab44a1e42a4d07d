//! Checks, calls, switches and tracepoints: as statements, values, conditions, operands, arguments, in closures, guards and loops.

use jumplabel::{
    assertions, emit, key_assert, static_branch_likely, static_branch_maybe, static_branch_unlikely, static_switch,
};

use crate::declarations::{
    self, CALL, CHECK, CONFIG, COUNT, COUNTER, Counting, DEFERRED, HOOK, LEVEL, LOADS, Level, MODE, Mode, NAKED, OFF,
    ON, PICK, SEVERAL, count, event, nothing, raise,
};

assertions!();

/// As loops ask.
pub fn loops() {
    while static_branch_unlikely!(OFF) {}
    while static_branch_likely!(ON) {}
    while !static_branch_unlikely!(declarations::OFF) {
        core::hint::spin_loop();
    }
    while static_branch_maybe!(cfg!(debug_assertions), OFF) {
        core::hint::spin_loop();
    }
    while static_branch_unlikely!(CONFIG.trace) {}
    while static_branch_unlikely!(SEVERAL[1]) {}
    while static_branch_unlikely!(CONFIG.hooks[1]) {}
    while static_branch_unlikely!(LOADS) && static_branch_likely!(DEFERRED) {}
    while NAKED.get() {}
    while static_switch!(MODE, { Fast => false, Checked => true, Traced => true }) {}
    while CALL(b"text") == 7 {}
    loop {
        if static_branch_unlikely!(OFF) {
            break;
        }
        emit!(nothing);
    }
    for _ in 0..3 {
        if static_branch_unlikely!(OFF) {
            continue;
        }
        if nothing.key().is_enabled() {
            emit!(nothing);
        }
    }
}

/// Assertions, of the module and of a group.
pub fn assertions(length: u64) {
    key_assert!(length > 0);
    key_assert!(length < 100, "a length of {}", length + 1);
    key_assert!(in OFF; length != 3);
    key_assert!(in CONFIG.hooks[1]; length != 4, "four");
}

/// What clippy does complain of.
#[cfg(twin)]
pub fn twin() {
    let on = jumplabel::RawKey::is_enabled(&OFF);
    while on {}
}

/// As values and operands.
#[must_use]
pub fn values(number: u64) -> u64 {
    let off = static_branch_unlikely!(OFF);
    let both = off | static_branch_likely!(ON) & !static_branch_unlikely!(SEVERAL[2]);
    let chosen = if static_branch_maybe!(cfg!(debug_assertions), OFF) { 1 } else { 2 };
    let arm = static_switch!(LEVEL, { Low => number, High => { number + 1 } });
    let nested = static_switch!(MODE, {
        Fast => static_switch!(LEVEL, { Low => 1, High => 2 }),
        Checked => u64::from(static_branch_unlikely!(OFF)),
        Traced => return 7,
    });
    u64::from(both) + u64::from(static_branch_unlikely!(OFF)) + chosen + arm + nested + CALL(b"") + count(number)
}

/// As conditions.
#[must_use]
pub fn conditions(number: Option<u64>) -> &'static str {
    if static_branch_unlikely!(OFF) {
        return "off";
    } else if static_branch_likely!(ON) && number.is_some() {
        emit!(event, 7, "on");
    }
    if !static_branch_likely!(ON) {
        emit!(event, number.map_or(0, |_| 1), "off");
    }
    if static_branch_unlikely!(OFF) == static_branch_unlikely!(CONFIG.trace) {
        emit!(nothing);
    }
    match number {
        Some(1) if static_branch_unlikely!(OFF) => "one",
        Some(_) => "some",
        None => static_switch!(MODE, { Fast => "fast", Checked => "checked", Traced => "traced" }),
    }
}

/// As statements, in closures, and as the last value.
#[must_use]
pub fn statements(numbers: &[u64]) -> bool {
    static_switch!(MODE, {
        Fast => {},
        Checked => emit!(nothing),
        Traced => emit!(event, numbers.len(), "traced"),
    });
    emit!(event, numbers.len(), "all");
    HOOK(7);
    let keep = |number: &&u64| **number > 1 && static_branch_likely!(ON);
    let any = numbers.iter().filter(keep).any(|_| static_branch_unlikely!(OFF));
    let Some(first) = numbers.first().filter(|_| static_branch_unlikely!(OFF)) else {
        return any;
    };
    // SAFETY: the function reads nothing.
    let counted = unsafe { COUNT(core::ptr::null(), 0) };
    let mut flag = 0;
    // SAFETY: a word.
    unsafe { raise(&raw mut flag) };
    *first == CHECK(None) || counted == PICK("one", "other").len() || flag == 1
}

/// In a method, for any type.
pub trait Traced: Copy + Into<u64> {
    /// The number.
    fn traced(self) -> u64 {
        if static_branch_unlikely!(OFF) {
            emit!(event, 1, "method");
        }
        self.into()
    }
}

impl Traced for u32 {}

/// In async code.
pub async fn later(number: u64) -> u64 {
    if static_branch_unlikely!(OFF) { core::future::ready(number).await } else { number }
}

/// The value, if a key is on.
macro_rules! traced {
    ($key:path, $value:expr) => {
        if static_branch_unlikely!($key) { $value } else { 0 }
    };
}

/// From a macro of the user's.
#[must_use]
pub fn from_a_macro() -> u64 {
    traced!(OFF, 7) + traced!(ON, 8)
}

/// What changes them.
///
/// # Errors
/// As the changes.
pub fn changes() -> Result<(), jumplabel::Error> {
    OFF.enable()?;
    NAKED.enable()?;
    CALL.update(|bytes| bytes.first().copied().map_or(0, u64::from))?;
    CALL.reset()?;
    HOOK.update(Some(|_| ()))?;
    MODE.set(Mode::Checked)?;
    LEVEL.set(Level::High)?;
    COUNTER.set(Counting::Off)?;
    let probe = event.add(|bytes, text| _ = text.get(..bytes))?;
    drop(probe);
    drop(OFF.scoped(true)?);
    Ok(())
}
