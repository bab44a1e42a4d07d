//! Tests of the C and C++ interface. Everything is compiled with the installed compilers, against an installation in a scratch prefix, and run.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(miri)))]

#[path = "capi/agent.rs"]
mod agent;
#[path = "capi/alternatives.rs"]
mod alternatives;
#[path = "capi/arms.rs"]
mod arms;
#[path = "capi/asserts.rs"]
mod asserts;
#[path = "capi/batches.rs"]
mod batches;
#[path = "capi/bolted.rs"]
mod bolted;
#[path = "capi/calls.rs"]
mod calls;
#[path = "capi/compile_time.rs"]
mod compile_time;
#[path = "capi/compiler.rs"]
mod compiler;
#[path = "capi/conformance.rs"]
mod conformance;
#[path = "capi/consumers.rs"]
mod consumers;
#[path = "capi/cost.rs"]
mod cost;
#[path = "capi/early.rs"]
mod early;
#[path = "capi/examples.rs"]
mod examples;
#[path = "capi/exports.rs"]
mod exports;
#[path = "capi/fail.rs"]
mod fail;
#[path = "capi/foreign.rs"]
mod foreign;
#[path = "capi/install.rs"]
mod install;
#[path = "capi/kernel.rs"]
mod kernel;
#[path = "capi/key_names.rs"]
mod key_names;
#[path = "capi/listing.rs"]
mod listing;
#[path = "capi/macros.rs"]
mod macros;
#[path = "capi/misuse.rs"]
mod misuse;
#[path = "capi/modules.rs"]
mod modules;
#[path = "capi/objects.rs"]
mod objects;
#[path = "capi/on_change.rs"]
mod on_change;
#[path = "capi/ops.rs"]
mod ops;
#[path = "capi/optional.rs"]
mod optional;
#[path = "capi/optional_twins.rs"]
mod optional_twins;
#[path = "capi/optional_units.rs"]
mod optional_units;
#[path = "capi/prebuilt.rs"]
mod prebuilt;
#[path = "capi/prefix.rs"]
mod prefix;
#[path = "capi/preinit.rs"]
mod preinit;
#[path = "capi/probed.rs"]
mod probed;
#[path = "capi/rust.rs"]
mod rust;
#[path = "capi/sdt.rs"]
mod sdt;
#[path = "capi/several.rs"]
mod several;
#[path = "capi/size.rs"]
mod size;
#[path = "capi/stack.rs"]
mod stack;
#[path = "capi/switches.rs"]
mod switches;
#[path = "capi/tracepoints.rs"]
mod tracepoints;
#[path = "capi/up.rs"]
mod up;
#[path = "capi/usdt.rs"]
mod usdt;
#[path = "capi/verify.rs"]
mod verify;
#[path = "capi/versions.rs"]
mod versions;
#[path = "capi/vlog.rs"]
mod vlog;
#[path = "capi/words.rs"]
mod words;
