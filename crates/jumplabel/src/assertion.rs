//! Assertions that stay in the release build: [`key_assert!`](crate::key_assert).

use core::fmt::{Arguments, Display, Formatter, Result};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// An assertion that has failed. `Display` shows the message or, if there is none, `assertion failed: CONDITION`.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The condition, as the source has it.
    pub condition: &'static str,
    /// The message, which replaces the condition in the text.
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

/// A function that gets each assertion that fails. If it returns, the program continues after the assertion.
pub type Hook = fn(&Assertion<'_>);

static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the hook of the process, for all assertions of Rust in this instance of the library. With `None`, the default, an assertion that fails
/// panics.
///
/// The hook runs in the thread whose assertion has failed, outside all locks of the library. It may panic, flip keys and replace itself. Costs
/// one atomic store. Safe in signal handlers and after a fork.
pub fn set_hook(hook: Option<Hook>) {
    HOOK.store(hook.map_or(null_mut(), |hook| hook as *mut ()), Release);
}

/// Passes `assertion` to the hook. Returns false if there is no hook.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn __is_told(assertion: &Assertion<'_>) -> bool {
    // SAFETY: null is `None`. Any other value in HOOK was a `Hook` (`set_hook`).
    let hook = unsafe { transmute::<*mut (), Option<Hook>>(HOOK.load(Acquire)) };
    hook.map(|hook| hook(assertion)).is_some()
}

/// Defines the key of the assertions in this module. Write it once in each module that uses [`key_assert!`](crate::key_assert).
///
/// The key is named `assert:FILE`, with the path that rustc was given, and starts off. `JUMPLABEL='assert:*=on'` turns all of them on in a
/// program with `jumplabel_agent::startup!()`; an agent can do that later. Costs the same as any [`static_key!`](crate::static_key).
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

/// An assertion that an operator turns on in the release build. (Linux has `VM_WARN_ON` and similar macros, which are compiled in or out.)
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
/// `key_assert!(in KEY; condition)` is for a group of assertions across modules. The key is any key that
/// [`static_branch_unlikely!`](crate::static_branch_unlikely) takes. A good name for such a key is `assert:tree`: the pattern `assert:*` then
/// chooses it with the others.
///
/// *Off*: one nop; neither the condition nor the message is evaluated. Costs 16 bytes of table, and an arm after the function. *On, if it
/// fails*: the hook of [`set_hook`] is called; without a hook, the assertion panics. Safe in signal handlers if the condition, the message and
/// the hook are safe there.
#[macro_export]
macro_rules! key_assert {
    (in $($rest:tt)+) => { $crate::key_assert!(@key [] $($rest)+) };
    // The key ends at the semicolon.
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
                // This is a `match` and not a `let`, because the values that the message borrows live as long as the `match`.
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
