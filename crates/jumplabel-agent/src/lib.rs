//! Lets an operator list and set the keys of a running program, if the program allows it.
//!
//! [`startup!`] makes the environment variable `JUMPLABEL` set keys before `main`:
//!
//! ```text
//!   JUMPLABEL='net.*=on,file:src/cache.rs=off' ./server      selectors, each with a new state; they are carried out in this order
//!   JUMPLABEL=@keys.conf ./server                            the same from a file: one on each line; a line with `#` in front is a comment
//!   JUMPLABEL=help ./server                                  lists keys, static calls and modes, and exits with 0
//!   JUMPLABEL_AGENT=1 ./server                               starts an agent
//! ```
//!
//! [`start`] starts an agent: a thread with a socket, by which the program's user and root list and set keys while the program runs.
//!
//! ```text
//!   startup      the environment variables            agent        the start, fork and end of an agent, and its options
//!   change       changes of keys: all or nothing        server     the agent's thread: a loop that serves clients
//!   subject      keys, calls and modes                  verbs      the answers to list, check and set
//!   protocol     requests and answers                   reverts    changes that the agent takes back after a time
//!   outside      what tools read in the memory          configure  names of layers: set, and taken back after a time
//!   directory    the directory of the sockets           inherited  descriptors that a child of a fork closes
//!   tracepoints  which keys and calls belong to them    streams    keeps descriptors 0 to 2 for the program
//!   layer        layers: what else is configured        looks      repairs sites that something else has changed
//!   hears        functions that are called after flips
//!   line         lines on standard error
//! ```
//!
//! The crate `jumplabel-selector` has the grammar of selectors. A program that uses neither `startup!` nor `start` pays nothing. The agent exists
//! only on Linux. On Windows there are `on_change` and `startup!`; there, `startup!` obeys `JUMPLABEL`, and says that there is no agent if
//! `JUMPLABEL_AGENT` asks for one. On other systems `startup!` does nothing, and the crate has only the protocol.

#[cfg(target_os = "linux")]
mod agent;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))] // Only the agent, which Windows does not have, uses all of this module.
mod change;
#[cfg(target_os = "linux")]
pub mod directory;
#[cfg(any(target_os = "linux", windows))]
mod hears;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))] // Only the agent, which Windows does not have, uses all of this module.
mod layer;
#[cfg(any(target_os = "linux", windows))]
mod line;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))]
pub mod outside;
pub mod protocol;
#[cfg(any(target_os = "linux", windows))]
mod startup;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))] // Only the agent, which Windows does not have, uses all of this module.
mod subject;
pub mod tracepoints;

#[cfg(target_os = "linux")]
pub use agent::clients::peer;
#[cfg(target_os = "linux")]
pub use agent::event::Event;
#[cfg(target_os = "linux")]
pub use agent::no_remote::{no_remote, no_remote_because};
#[cfg(target_os = "linux")]
pub use agent::options::Options;
#[cfg(target_os = "linux")]
pub use agent::{Pause, StartError, pause, start};
#[cfg(any(target_os = "linux", windows))]
#[doc(hidden)]
pub use hears::Chooser;
#[cfg(any(target_os = "linux", windows))]
pub use hears::{HearError, on_change};
#[cfg(any(target_os = "linux", windows))]
pub use layer::{ServeError, serve};
#[cfg(any(target_os = "linux", windows))]
pub use startup::startup;
#[cfg(windows)]
#[doc(hidden)]
pub use startup::system::start as start_agent;

/// Makes the environment variable `JUMPLABEL` set keys before `main`, and `JUMPLABEL_AGENT` start an agent. Write this macro once in the program,
/// outside of functions.
///
/// ```
/// jumplabel_agent::startup!();
/// # fn main() {}
/// ```
///
/// The macro also takes selectors of keys that the agent must not change, as [`no_remote`] does:
///
/// ```
/// jumplabel::static_key! {
///     #[key(name = "auth.strict")]
///     static STRICT: true;
/// }
/// jumplabel_agent::startup!(no_remote: "auth.*");
/// # fn main() {}
/// ```
///
/// The macro registers [`startup()`] as a constructor. It runs after the constructors that register the program's keys, and before the program's own
/// constructors. Costs a look at the environment if the variables are not set.
#[macro_export]
macro_rules! startup {
    () => {
        $crate::__startup!([]);
    };
    (no_remote: $($selector:literal),+ $(,)?) => {
        $crate::__startup!([$($crate::outside::Text::new($selector)),+]);
    };
}

// Constructors run in the order of their numbers: those that register keys have 00000 and 00001, that of the standard library has 00099, and those of
// programs begin at 00101. On Windows, the C library runs them in the order of their sections' names; those of programs are in `.CRT$XCU`.
#[cfg(any(target_os = "linux", windows))]
#[doc(hidden)]
#[macro_export]
macro_rules! __startup {
    ($no_remote:expr) => {
        const _: () = {
            #[used]
            #[cfg_attr(windows, unsafe(link_section = ".CRT$XCB"))]
            #[cfg_attr(not(windows), unsafe(link_section = ".init_array.00100"))]
            static STARTUP: extern "C" fn() = {
                extern "C" fn startup() {
                    static NO_REMOTE: &[$crate::outside::Text] = &$no_remote;
                    $crate::__startup(NO_REMOTE);
                }
                startup
            };
        };
    };
}

#[cfg(not(any(target_os = "linux", windows)))]
#[doc(hidden)]
#[macro_export]
macro_rules! __startup {
    ($no_remote:expr) => {};
}

#[cfg(any(target_os = "linux", windows))]
#[doc(hidden)]
pub fn __startup(selectors: &'static [outside::Text]) {
    startup::with_no_remote(selectors);
}
