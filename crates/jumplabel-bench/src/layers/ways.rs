//! The guards that programs put before their diagnostics, in the warm loops of `site`. In each case the diagnostics are off, or only others are on.

use std::arch::asm;
use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use jumplabel::static_branch_unlikely;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Registry, reload};

use crate::Result;
use crate::placed::{Loops, PLACEMENTS, placements};
use crate::site::loops::{alu, eight, latency};

/// The guarded work of the guards that have no diagnostics of their own.
#[cold]
#[inline(never)]
fn diagnose(number: u64) {
    eprintln!("{number}");
}

jumplabel::static_key! { static KEY: false; }

#[repr(align(128))]
struct Apart<T>(T);
/// The flags, one for each placement.
static FLAGS: [Apart<AtomicBool>; PLACEMENTS] = [const { Apart(AtomicBool::new(false)) }; PLACEMENTS];
static HOOKS: [Apart<AtomicPtr<()>>; PLACEMENTS] = [const { Apart(AtomicPtr::new(std::ptr::null_mut())) }; PLACEMENTS];

/// Stores values that the compiler does not know. Without these stores, the compiler would take flags and hooks for constants.
fn store() {
    FLAGS.iter().for_each(|flag| flag.0.store(black_box(false), Ordering::Relaxed));
    HOOKS.iter().for_each(|hook| hook.0.store(black_box(std::ptr::null_mut()), Ordering::Relaxed));
}

/// Calls a hook, if there is one.
macro_rules! hook {
    ($hook:expr, $number:expr) => {
        let hook = $hook.0.load(Ordering::Relaxed);
        if !hook.is_null() {
            // SAFETY: the only hook that can be stored is `diagnose`.
            unsafe { std::mem::transmute::<*mut (), fn(u64)>(hook)($number) };
        }
    };
}

macro_rules! loops {
    ($($kind:ident: $baseline:ident $key:ident $relaxed:ident $hook:ident $log:ident $tracing:ident $fail:ident $point:ident $metrics:ident;)*) => {$(
        $kind!($baseline, hits, let _ = &mut hits;);
        $kind!($key, hits, if static_branch_unlikely!(KEY) { diagnose(hits) });
        $kind!($relaxed, hits, if FLAGS[P].0.load(Ordering::Relaxed) { diagnose(hits) });
        $kind!($hook, hits, hook!(HOOKS[P], hits););
        $kind!($log, hits, log::trace!("{}", hits););
        $kind!($tracing, hits, tracing::trace!(hits););
        $kind!($fail, hits, fail::fail_point!("jumplabel-bench", |_| hits););
        $kind!($point, hits, jumplabel_fail::fail_point!("jumplabel-bench", |_| hits););
        $kind!($metrics, hits, metrics::counter!("jumplabel-bench").increment(hits););
    )*};
}

loops! {
    latency: latency_baseline latency_key latency_relaxed latency_hook latency_log latency_tracing latency_fail latency_point latency_metrics;
    alu: alu_baseline alu_key alu_relaxed alu_hook alu_log alu_tracing alu_fail alu_point alu_metrics;
}

/// A guard in each of the loops, and the settings under which it does nothing.
pub struct Way {
    pub name: &'static str,
    /// True if the guard is only a site.
    pub is_site: bool,
    pub loops: [Loops; 2],
    pub prepare: fn() -> Result<()>,
}

macro_rules! ways {
    ($($name:literal: $latency:ident $alu:ident $is_site:literal $prepare:expr;)*) => {
        /// All guards. The first row has no guard.
        pub const WAYS: &[Way] = &[$(
            Way { name: $name, is_site: $is_site, loops: [placements!($latency), placements!($alu)], prepare: $prepare },
        )*];
    };
}

ways! {
    "nothing": latency_baseline alu_baseline false || Ok(());
    "static key": latency_key alu_key true || Ok(());
    "relaxed load": latency_relaxed alu_relaxed false || Ok(());
    "hook, a pointer": latency_hook alu_hook false || Ok(());
    "log, off": latency_log alu_log false || log(log::LevelFilter::Off);
    "log, another module at trace": latency_log alu_log false || log(log::LevelFilter::Trace);
    "tracing, off": latency_tracing alu_tracing false || tracing("off");
    "tracing, at info": latency_tracing alu_tracing false || tracing("info");
    "tracing, another module at trace": latency_tracing alu_tracing false || tracing("info,other=trace");
    "tracing, a span at trace": latency_tracing alu_tracing false || tracing("info,[request]=trace");
    "fail, no fail point": latency_fail alu_fail false || theirs(None);
    "fail, another fail point": latency_fail alu_fail false || theirs(Some("another"));
    "fail, this fail point": latency_fail alu_fail false || theirs(Some("jumplabel-bench"));
    "jumplabel-fail, no fail point": latency_point alu_point true || ours(None);
    "jumplabel-fail, another fail point": latency_point alu_point true || ours(Some("another"));
    "jumplabel-fail, this fail point": latency_point alu_point false || ours(Some("jumplabel-bench"));
    "metrics, no recorder": latency_metrics alu_metrics false || Ok(());
}

/// Sets the greatest level of `log`. At `Trace`, the logger still logs only another module at that level.
fn log(level: log::LevelFilter) -> Result<()> {
    log::set_max_level(level);
    Ok(())
}

/// The action of a fail point that is reached but does nothing.
const NEVER: &str = "0%return";

/// Removes all fail points of the crate `fail`, and configures the named one.
fn theirs(name: Option<&str>) -> Result<()> {
    fail::list().iter().for_each(|(name, _)| fail::remove(name));
    name.map_or(Ok(()), |name| Ok(fail::cfg(name, NEVER)?))
}

/// Removes all fail points of `jumplabel-fail`, and configures the named one.
fn ours(name: Option<&str>) -> Result<()> {
    jumplabel_fail::list().iter().for_each(|(name, _)| jumplabel_fail::remove(name));
    name.map_or(Ok(()), |name| Ok(jumplabel_fail::cfg(name, NEVER)?))
}

static FILTER: OnceLock<reload::Handle<EnvFilter, Registry>> = OnceLock::new();

fn tracing(directives: &str) -> Result<()> {
    let filter = FILTER.get().ok_or("nobody has begun")?;
    Ok(filter.reload(EnvFilter::try_new(directives)?)?)
}

/// Prepares the process. Must be called once.
pub fn begin() -> Result<()> {
    store();
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Info)
        .filter_module("other", log::LevelFilter::Trace)
        .try_init()?;
    let (filter, handle) = reload::Layer::new(EnvFilter::try_new("off")?);
    tracing::subscriber::set_global_default(Registry::default().with(filter))?;
    FILTER.set(handle).map_err(|_| "begun twice")?;
    Ok(())
}
