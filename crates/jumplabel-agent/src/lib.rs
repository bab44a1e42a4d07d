//! What an operator does with the keys of a program from outside, if the program allows it.
//!
//! [`startup!`] has the environment variable `JUMPLABEL` set keys before `main`:
//!
//! ```text
//!   JUMPLABEL='net.*=on,file:src/cache.rs=off' ./server      selectors with what they choose is to be, in this order
//!   JUMPLABEL=@keys.conf ./server                            the same from a file: one a line, `#` begins a comment
//!   JUMPLABEL=help ./server                                  lists keys, static calls and modes, and exits with 0
//! ```
//!
//! The crate `jumplabel-selector` has the grammar. A program that does not say `startup!` pays nothing. Linux only: elsewhere `startup!` does
//! nothing.

#[cfg(target_os = "linux")]
mod startup;
#[cfg(target_os = "linux")]
mod subject;

#[cfg(target_os = "linux")]
pub use startup::startup;

/// Has the environment variable `JUMPLABEL` set keys before `main`. Say it once, in the program; not in a function.
///
/// ```
/// jumplabel_agent::startup!();
/// # fn main() {}
/// ```
///
/// It is [`startup()`] as a constructor: behind those that register the keys of the program, and in front of the program's own. Costs a look at
/// the environment if the variable is not set.
#[macro_export]
macro_rules! startup {
    () => {
        $crate::__startup!();
    };
}

// Registration has 00000 and 00001, and the standard library 00099; those of programs begin at 00101.
#[cfg(target_os = "linux")]
#[doc(hidden)]
#[macro_export]
macro_rules! __startup {
    () => {
        const _: () = {
            #[used]
            #[unsafe(link_section = ".init_array.00100")]
            static STARTUP: extern "C" fn() = $crate::startup;
        };
    };
}

#[cfg(not(target_os = "linux"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __startup {
    () => {};
}
