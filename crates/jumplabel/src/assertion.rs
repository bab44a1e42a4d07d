//! Assertions that stay in the release build: [`key_assert!`](crate::key_assert).

use core::fmt::{Arguments, Display, Formatter, Result};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// An assertion that has failed. `Display` shows the message, or `assertion failed: CONDITION` if there is no message.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The source text of the condition.
    pub condition: &'static str,
    /// The message, if the assertion has one. `Display` then does not show the condition.
    pub message: Option<Arguments<'a>>,
    /// The source file of the assertion.
    pub file: &'static str,
    /// The line of the assertion, counted from 1.
    pub line: u32,
    /// The module in which the assertion stands.
    pub module: &'static str,
}

impl Display for Assertion<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.message {
            Some(message) => f.write_fmt(message),
            None => write!(f, "assertion failed: {}", self.condition),
        }
    }
}

/// A function that is called with each assertion that fails. If the function returns, the program continues after the assertion.
pub type Hook = fn(&Assertion<'_>);

static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the hook: the function that is called when an assertion of Rust in this instance of the library fails. Without a hook (`None`, the default),
/// such an assertion panics.
///
/// The hook runs in the thread whose assertion has failed. The library takes no lock to call the hook, so the hook may panic, flip keys and replace
/// itself. Setting the hook costs one atomic store. Safe in signal handlers and after a fork.
pub fn set_hook(hook: Option<Hook>) {
    HOOK.store(hook.map_or(null_mut(), |hook| hook as *mut ()), Release);
}

/// Calls the hook with `assertion`. Returns false if there is no hook.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn __is_told(assertion: &Assertion<'_>) -> bool {
    // SAFETY: HOOK holds null, which is `None`, or an address that `set_hook` took from a `Hook`.
    let hook = unsafe { transmute::<*mut (), Option<Hook>>(HOOK.load(Acquire)) };
    hook.map(|hook| hook(assertion)).is_some()
}

/// Defines the key of the assertions in this module. Write it once in each module that uses [`key_assert!`](crate::key_assert).
///
/// The key starts off. Its name is `assert:FILE`, where FILE is the path of the source file as rustc got it. `JUMPLABEL='assert:*=on'` turns the keys
/// of all files on when a program with `jumplabel_agent::startup!()` starts; an agent can do that later. Costs the same as any
/// [`static_key!`](crate::static_key).
#[macro_export]
macro_rules! assertions {
    () => {
        $crate::static_key! {
            #[key(name = ::core::concat!("assert:", ::core::file!()))]
            #[allow(dead_code, non_upper_case_globals)]
            static __jumplabel_assertions: false;
        }
    };
}

/// An assertion that an operator can turn on in the release build. (Linux has `VM_WARN_ON` and similar macros, but these are compiled in or out.)
///
/// ```
/// use jumplabel::{assertions, key_assert};
///
/// assertions!(); // the key of this file, which is off
///
/// fn take(length: usize) -> usize {
///     key_assert!(length > 0);
///     key_assert!(length < 100, "a length of {length}");
///     length * 3
/// }
///
/// assert_eq!(take(0), 0);
/// # #[cfg(not(target_family = "wasm"))] {
/// jumplabel::find_key(concat!("assert:", file!()))?.key.enable()?;
/// std::panic::catch_unwind(|| take(0)).unwrap_err();
/// # }
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// `key_assert!(in KEY; condition)` uses another key, for a group of assertions in several modules. KEY is anything that
/// [`static_branch_unlikely!`](crate::static_branch_unlikely) takes. A good name for such a key is `assert:tree`, because the pattern `assert:*` then
/// also selects this key.
///
/// If the key is off, an assertion is one nop, and neither the condition nor the message is evaluated. It costs 16 bytes of table, and an arm after
/// the function. If the key is on, the condition is evaluated; if it is false, the hook of [`set_hook`] is called, or the assertion panics if there
/// is no hook. Safe in signal handlers if the condition, the message and the hook are safe there.
#[macro_export]
macro_rules! key_assert {
    (in $($rest:tt)+) => { $crate::key_assert!(@key [] $($rest)+) };
    // The key's tokens end at the semicolon.
    (@key [$($key:tt)+] ; $condition:expr $(,)?) => {
        $crate::key_assert!(@on [$($key)+] $condition, ::core::option::Option::None)
    };
    (@key [$($key:tt)+] ; $condition:expr, $($message:tt)+) => {
        $crate::key_assert!(@on [$($key)+] $condition, ::core::option::Option::Some(::core::format_args!($($message)+)))
    };
    (@key [$($key:tt)*] $next:tt $($rest:tt)+) => { $crate::key_assert!(@key [$($key)* $next] $($rest)+) };
    (@on [$($key:tt)+] $condition:expr, $message:expr) => {
        if $crate::static_branch_unlikely!($($key)+) {
            let holds: bool = $condition;
            if !holds {
                // A `match`, and not a `let`, because the values that the message borrows live as long as the `match`.
                match ($crate::assertion::Assertion {
                    condition: ::core::stringify!($condition),
                    message: $message,
                    file: ::core::file!(),
                    line: ::core::line!(),
                    module: ::core::module_path!(),
                }) {
                    assertion if $crate::assertion::__is_told(&assertion) => {}
                    assertion => ::core::panic!("{assertion}"),
                }
            }
        }
    };
    ($condition:expr $(, $($message:tt)*)?) => {
        $crate::key_assert!(@key [__jumplabel_assertions] ; $condition $(, $($message)*)?)
    };
}
