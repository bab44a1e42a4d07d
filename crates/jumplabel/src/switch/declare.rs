//! The macros `modes!`, `static_mode!` and `static_switch!`.

/// Declares an enum of 2 to 255 modes. The modes have no fields, and you cannot choose their numbers. The enum is `Clone`, `Copy`, `PartialEq`, `Eq`
/// and `Debug`: the macro derives those of these five traits that you do not derive. You can derive any other traits, too.
///
/// ```
/// jumplabel::modes! {
///     /// How much is written to the log.
///     pub enum Verbosity {
///         /// Nothing.
///         Quiet,
///         Short,
///         Long,
///     }
/// }
/// assert_eq!(jumplabel::switch::Modes::index(Verbosity::Long), 2);
/// ```
#[macro_export]
macro_rules! modes {
    ($($declaration:tt)*) => {
        $crate::__modes! { {
            {::core::clone::Clone,} {::core::marker::Copy,} {::core::cmp::PartialEq,} {::core::cmp::Eq,} {::core::fmt::Debug,}
        } [] $($declaration)* }
    };
}

/// Goes through the enum's attributes. Collects which of the five traits no attribute derives, and derives these.
#[doc(hidden)]
#[macro_export]
macro_rules! __modes {
    ($missing:tt [$($done:tt)*] #[derive($($derived:tt)*)] $($rest:tt)*) => {
        $crate::__modes_derived! { $missing [$($derived)*] [$($done)* #[derive($($derived)*)]] $($rest)* }
    };
    ($missing:tt [$($done:tt)*] #[$($attr:tt)*] $($rest:tt)*) => {
        $crate::__modes! { $missing [$($done)* #[$($attr)*]] $($rest)* }
    };
    ({{} {} {} {} {}} $attributes:tt $($rest:tt)*) => {
        $crate::__modes_enum! { $attributes $($rest)* }
    };
    ({$({$($trait:tt)*})*} [$($done:tt)*] $($rest:tt)*) => {
        $crate::__modes_enum! { [$($done)* #[derive($($($trait)*)*)]] $($rest)* }
    };
}

/// Goes through the traits that one `#[derive]` names, and takes them out of the missing ones. Recognises a trait by the last name of its path.
#[doc(hidden)]
#[macro_export]
macro_rules! __modes_derived {
    ($missing:tt [] $($rest:tt)*) => { $crate::__modes! { $missing $($rest)* } };
    ({$clone:tt $copy:tt $partial:tt $eq:tt $debug:tt} [Clone $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { {{} $copy $partial $eq $debug} [$($derived)*] $($rest)* }
    };
    ({$clone:tt $copy:tt $partial:tt $eq:tt $debug:tt} [Copy $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { {$clone {} $partial $eq $debug} [$($derived)*] $($rest)* }
    };
    ({$clone:tt $copy:tt $partial:tt $eq:tt $debug:tt} [PartialEq $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { {$clone $copy {} $eq $debug} [$($derived)*] $($rest)* }
    };
    ({$clone:tt $copy:tt $partial:tt $eq:tt $debug:tt} [Eq $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { {$clone $copy $partial {} $debug} [$($derived)*] $($rest)* }
    };
    ({$clone:tt $copy:tt $partial:tt $eq:tt $debug:tt} [Debug $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { {$clone $copy $partial $eq {}} [$($derived)*] $($rest)* }
    };
    ($missing:tt [$other:tt $($derived:tt)*] $($rest:tt)*) => {
        $crate::__modes_derived! { $missing [$($derived)*] $($rest)* }
    };
}

/// Makes the enum, and implements [`Modes`](crate::switch::Modes) for it.
#[doc(hidden)]
#[macro_export]
macro_rules! __modes_enum {
    ([$($attributes:tt)*] $vis:vis enum $name:ident { $($(#[$of:meta])* $mode:ident),+ $(,)? }) => {
        $($attributes)*
        #[repr(u8)]
        $vis enum $name { $($(#[$of])* $mode),+ }

        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: `ALL` lists all variants in their order. This macro accepts no number of a variant, so the discriminants count from 0.
        unsafe impl $crate::switch::Modes for $name {
            const ALL: &'static [Self] = &[$($name::$mode),+];
            #[inline]
            fn index(self) -> ::core::primitive::u8 {
                self as ::core::primitive::u8
            }
        }
        const _: ::core::primitive::u8 = $crate::switch::count_of::<$name>();
    };
    ($attributes:tt $($other:tt)*) => {
        compile_error!("expected an enum of 2 to 255 modes, without fields and numbers: `pub enum Name { First, Second }`");
    };
}

/// Declares static modes. Each declaration names an enum, which [`modes!`](crate::modes) declares, and the mode in which the static starts.
///
/// ```
/// jumplabel::modes! { pub enum Policy { Drop, Queue } }
///
/// jumplabel::static_mode! {
///     /// What happens to packets.
///     pub static PACKETS: Policy = Drop;
///     static FRAMES: Policy = Queue;
/// }
/// assert_eq!(format!("{PACKETS:?}"), "StaticMode(Drop)");
/// ```
#[macro_export]
macro_rules! static_mode {
    ($($(#[$($attr:tt)*])* $vis:vis static $name:ident: $modes:ty = $default:ident;)*) => {
        $($crate::__cfg_apart! { __static_mode [] [] [$(#[$($attr)*])* $vis] StaticMode $name $modes, $default })*
    };
}

/// Makes the static of a mode or of a table of operations, and the type that stands for this static.
#[doc(hidden)]
#[macro_export]
macro_rules! __static_mode {
    ([$($cfg:tt)*] [$($attr:tt)*] [$vis:vis] $of:ident $name:ident $modes:ty, $default:ident) => {
        // The enum has the same name as the static. That is possible because types and values are in different namespaces.
        $($cfg)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::exhaustive_enums)]
        $vis enum $name {}

        $($cfg)*
        $($attr)*
        #[doc = ::core::concat!("\n\nOne of: `", ::core::stringify!($modes), "`.")]
        $vis static $name: $crate::$of<$name> = $crate::$of::new();

        $($cfg)*
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: `DEFAULT` is the number of the mode that the declaration names.
        unsafe impl $crate::switch::Declared for $name {
            type Modes = $modes;
            const DEFAULT: ::core::primitive::u8 = {
                let __first: $modes = <$modes>::$default;
                __first as ::core::primitive::u8
            };
            #[inline(never)] // Not inlined, so that a program has the record once.
            fn record() {
                $crate::__declaration!($name, 0, $crate::key_record::declaration::Texts::of_path(
                    [::core::module_path!(), "::", ::core::stringify!($name)], ::core::module_path!().len(), ::core::file!()));
                $crate::__key_link_in_function!($name, []);
            }
        }
    };
}

/// Yields the value of one arm: the arm of the static mode's current mode. There is one arm for each mode, in any order. Each arm is inlined.
///
/// ```
/// jumplabel::modes! { pub enum Hash { Small, Fast } }
/// jumplabel::static_mode! { static HASH: Hash = Small; }
///
/// let hash = |word: u32| jumplabel::static_switch!(HASH, { Fast => word, Small => word % 31 });
/// assert_eq!(hash(32), 1);
/// HASH.set(Hash::Fast)?;
/// assert_eq!(hash(32), 32);
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// Name the static mode by its path. A switch is one instruction, a jump to the arm: no load, no compare. It writes no register. On x86-64, i686 and
/// s390x it may change the flags. After the function, each arm takes 8 bytes. On x86-64 an arm takes 13 more bytes there, in a stub that runs only
/// while the mode changes. Safe anywhere, signal handlers included.
#[macro_export]
macro_rules! static_switch {
    ($mode:path, { $($arm:ident => $value:expr),+ $(,)? }) => {{
        type __Modes = <$mode as $crate::switch::Declared>::Modes;
        #[allow(dead_code)]
        enum __EachArmOnce { $($arm),+ }
        // Checks the type of `$mode`, because the assembler would accept any static. `&raw const` is needed: with `&`, the compiler would also accept
        // a static that holds a reference to a mode.
        let _: *const $crate::StaticMode<$mode> = &raw const $mode;
        // Makes no code, but looks like a call to Clippy. Without a call, Clippy reports that a loop whose condition is this switch never ends.
        let _ = ::core::option::Option::Some(());
        // `__switch!` has an arm of its own for each mode, and each of these yields a constant. So the compiler merges `__switch!` and this `match`
        // into one choice.
        match $crate::__switch!($mode, $($arm),+) {
            $(__Modes::$arm => $value,)+
        }
    }};
}

/// The choice of a switch in a build with sites: jumps to the label of the current mode, and yields this mode.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch {
    ($mode:path, $($arm:ident),+) => {
        $crate::__switch_options!(
            $mode, <$mode as $crate::switch::Declared>::DEFAULT, $crate::switch::count_of::<__Modes>(), $($arm),+
        )
    };
}

/// The choice of a switch in a build without sites: loads the current mode.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __switch {
    ($mode:path, $($arm:ident),+) => {
        $crate::StaticMode::get(&$mode)
    };
}
