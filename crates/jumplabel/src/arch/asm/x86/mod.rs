//! The parts of x86 that are not encodings of sites. `machine` has the parts that every instruction set has. `op` and `thunk` have operations in
//! place, `short` has sites that are built as plain jumps, and `site_prefix` has the byte in front of a site. `short` and `site_prefix` define their
//! macros for all instruction sets.

#[cfg(all(jumplabel_sites, any(target_arch = "x86_64", target_arch = "x86")))]
mod machine;
#[cfg(all(jumplabel_in_place, target_arch = "x86_64"))]
mod op;
mod short;
mod site_prefix;
#[cfg(all(jumplabel_in_place, target_arch = "x86_64"))]
pub(crate) mod thunk;
