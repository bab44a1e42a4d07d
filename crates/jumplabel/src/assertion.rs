//! Assertions that stay in the release build: [`key_assert!`](crate::key_assert).

use core::fmt::{Arguments, Display, Formatter, Result};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

/// An assertion that has failed. As text: `assertion failed: CONDITION`, or the message.
#[derive(Clone, Copy, Debug)]
pub struct Assertion<'a> {
    /// The condition as it is written.
    pub condition: &'static str,
    /// What the assertion says in place of the condition.
    pub message: Option<Arguments<'a>>,
    /// Where it stands.
    pub file: &'static str,
    /// Where it stands: from 1.
    pub line: u32,
    /// The module in which it stands.
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

/// What is told of assertions that fail. If it returns, the program goes on behind the assertion.
pub type Hook = fn(&Assertion<'_>);

static HOOK: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Sets the hook of the process, for all assertions of Rust in this instance of the library. `None`, the default: an assertion that fails
/// panics where it stands.
///
/// The hook runs in the thread whose assertion has failed, outside all locks of the library. It may panic, flip keys and replace itself. One atomic
/// store; safe in signal handlers and after a fork.
pub fn set_hook(hook: Option<Hook>) {
    HOOK.store(hook.map_or(null_mut(), |hook| hook as *mut ()), Release);
}

/// Tells the hook. `false`: there is none.
#[doc(hidden)]
#[cold]
#[inline(never)]
pub fn __is_told(assertion: &Assertion<'_>) -> bool {
    // SAFETY: null is `None`, and all else in HOOK was a `Hook` (`set_hook`).
    let hook = unsafe { transmute::<*mut (), Option<Hook>>(HOOK.load(Acquire)) };
    hook.map(|hook| hook(assertion)).is_some()
}

/// The key of the assertions of this module: once in a module, for [`key_assert!`](crate::key_assert).
///
/// The key is named `assert:FILE`, with the path that rustc was given, and starts off. `JUMPLABEL='assert:*=on'` turns all of them on in a program
/// with `jumplabel_agent::startup!()`; an agent does so later. Costs what any [`static_key!`](crate::static_key) costs.
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

/// An assertion that an operator turns on in the release build. Linux has `VM_WARN_ON` and its like for that, which are compiled in or out.
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
/// `key_assert!(in KEY; condition)` is for a group across modules, whose key is any that [`static_branch_unlikely!`](crate::static_branch_unlikely)
/// takes. `assert:tree` is a good name for one: `assert:*` chooses it with the others.
///
/// *Off*: one nop, and neither condition nor message is evaluated. 16 bytes of table, and the arm behind the function. *On, if it fails*: the hook of
/// [`set_hook`] is told; without a hook, it panics. It is safe in signal handlers if condition, message and hook are.
#[macro_export]
macro_rules! key_assert {
    (in $($rest:tt)+) => { $crate::key_assert!(@key [] $($rest)+) };
    // The key ends where the semicolon is.
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
                // Not `let`: what the message borrows lives as long as the `match`.
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
