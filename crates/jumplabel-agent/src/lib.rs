//! Lets an operator list and set the keys of a program from outside, if the program allows it.
//!
//! [`startup!`] makes the environment variable `JUMPLABEL` set keys before `main`:
//!
//! ```text
//!   JUMPLABEL='net.*=on,file:src/cache.rs=off' ./server      selectors with what they choose is to be, in this order
//!   JUMPLABEL=@keys.conf ./server                            the same from a file: one a line, `#` begins a comment
//!   JUMPLABEL=help ./server                                  lists keys, static calls and modes, and exits with 0
//!   JUMPLABEL_AGENT=1 ./server                               starts an agent
//! ```
//!
//! [`start`] starts an agent: a thread with a socket, by which the program's user and root list and set keys while it runs.
//!
//! ```text
//!   startup      the environment variables            agent        a process has one, or none: its options, fork, the end
//!   change       what is to change, all or nothing      server     its thread: clients, limits
//!   subject      keys, calls and modes                  verbs      what it answers
//!   protocol     what both sides say                    reverts    what it takes back, and when
//!   outside      what tools find in its memory          configure  names of layers: set, taken back
//!   directory    where sockets are, and whose           inherited  what a child of a fork must not keep
//!   tracepoints  which keys and calls belong to them    streams    descriptors 0 to 2 are the program's
//!   layer        what else is configured by name        looks      sites that something else has changed
//!   hears        functions that hear of flips
//! ```
//!
//! The crate `jumplabel-selector` has the grammar. A program that uses neither `startup!` nor `start` pays nothing. The agent is for Linux only. On
//! Windows there are `on_change` and `startup!`, which obeys `JUMPLABEL`, and replies to `JUMPLABEL_AGENT` that there is no agent. On other systems
//! `startup!` does nothing, and the crate has only the protocol.

#[cfg(target_os = "linux")]
mod agent;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))] // The agent uses the rest.
mod change;
#[cfg(target_os = "linux")]
pub mod directory;
#[cfg(any(target_os = "linux", windows))]
mod hears;
#[cfg(any(target_os = "linux", windows))]
#[cfg_attr(windows, allow(dead_code))] // The agent uses the rest.
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
#[cfg_attr(windows, allow(dead_code))] // The agent uses the rest.
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

/// Makes the environment variable `JUMPLABEL` set keys before `main`, and `JUMPLABEL_AGENT` start an agent. Write it once in the program, outside
/// of functions.
///
/// ```
/// jumplabel_agent::startup!();
/// # fn main() {}
/// ```
///
/// It also takes selectors of keys that nobody may change by the agent, as [`no_remote`] does:
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
/// It registers [`startup()`] as a constructor, which runs after the constructors that register the program's keys, and before the program's own.
/// Costs a look at the environment if the variables are not set.
#[macro_export]
macro_rules! startup {
    () => {
        $crate::__startup!([]);
    };
    (no_remote: $($selector:literal),+ $(,)?) => {
        $crate::__startup!([$($crate::outside::Text::new($selector)),+]);
    };
}

// Constructors run in the order of their numbers: registration has 00000 and 00001, the standard library 00099, and a program's begin at 00101.
// On Windows the C library runs the list, and a program's constructors are in `.CRT$XCU`.
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
