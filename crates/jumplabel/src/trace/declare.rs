//! The macros: `tracepoint!` and `emit!`.

/// Declares tracepoints.
///
/// ```
/// jumplabel::tracepoint! {
///     /// A packet came.
///     pub net, packet(len: usize, port: u16);
///     /// A line was written.
///     log, line(text: &str);
///     log, rotated();
/// }
///
/// let probe = line.add(|text| assert_eq!(text, "hello"))?;
/// jumplabel::emit!(line, "hello");
/// jumplabel::emit!(rotated);
/// # #[cfg(not(target_family = "wasm"))]
/// assert!(jumplabel::find_key("log:line")?.enabled);
/// drop(probe);
/// assert_eq!((line.probes(), line.key().is_enabled()), (0, false));
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// Operators see a tracepoint as `group:name`. For each tracepoint, the macro makes a static, which is a [`Tracepoint`](crate::Tracepoint), and a
/// type; both are called `name`. The type of each argument must be `Copy` (integers and `&` references are), because every probe gets the same
/// arguments. Probes return nothing. The type of an argument can contain a path, which is looked up where the declaration stands. It cannot contain a
/// type parameter.
///
/// On Linux (x86-64, aarch64, riscv64), tracers such as bpftrace find the tracepoint in the program's file as `group:name`: see
/// [`usdt`](crate::usdt).
///
/// Costs 56 bytes of data, a trampoline, and a function that walks the list of probes; with a note for tracers, one more function. Also costs two
/// records: that of a key with a name and a `meta` (see [`static_key!`](crate::static_key)), and that of a static call. Needs the feature `std` or
/// `alloc`.
#[macro_export]
macro_rules! tracepoint {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis $group:ident, $name:ident($($argument:ident: $type:ty),* $(,)?); $($rest:tt)*) => {
        $crate::__cfg_apart! { __tracepoint [] [] [$(#[$($attr)*])* $vis] $group $name ($($argument: $type),*) }
        $crate::tracepoint! { $($rest)* }
    };
    ($($other:tt)*) => {
        compile_error!("expected tracepoints, each with `;` behind it: `pub group, name(argument: Type, ...);`");
    };
}

/// Makes one tracepoint.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint {
    ([$($cfg:tt)*] [$($attr:tt)*] [$vis:vis] $group:ident $name:ident ($($argument:ident: $type:ty),*)) => {
        $($cfg)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, clippy::exhaustive_enums)]
        $vis enum $name {}
        $($cfg)*
        $($attr)*
        #[doc = ::core::concat!("\n\nOf the group `", ::core::stringify!($group), "`.\n\n", $("* `", ::core::stringify!($argument), ": ", ::core::stringify!($type), "`\n",)*)]
        #[allow(non_upper_case_globals)]
        $vis static $name: $crate::Tracepoint<$name> = $crate::Tracepoint::new();
        $($cfg)*
        const _: () = {
            $crate::__tracepoint_walk! { $group $name [] [$($type),*] [
                (__a "" "0" "8") (__b " " "16" "24") (__c " " "32" "40") (__d " " "48" "56") (__e " " "64" "72") (__f " " "80" "88")
                (__g " " "96" "104") (__h " " "112" "120") (__i " " "128" "136") (__j " " "144" "152") (__k " " "160" "168")
                (__l " " "176" "184") (__m " " "192" "200") (__n " " "208" "216") (__o " " "224" "232") (__p " " "240" "248")
            ] }
            $crate::__declaration!($name.call, 0, $crate::key_record::declaration::Texts::of_path(
                [::core::module_path!(), "::", ::core::stringify!($name)], ::core::module_path!().len(), ::core::file!()));
            $crate::__static_call_function!(__FUNCTION, $name, fn($($type),*), __walk);
            #[allow(clippy::undocumented_unsafe_blocks)]
            // SAFETY: the type stands for the static call at the beginning of the static, and `Function` and `Target` are that call's function type.
            unsafe impl $crate::call::Trampoline for $name {
                type Function = fn($($type),*);
                const FUNCTION: &'static fn($($type),*) = __FUNCTION;
                type Target = fn($($type),*);
                fn function(__target: fn($($type),*)) -> ::core::option::Option<fn($($type),*)> {
                    ::core::option::Option::Some(__target)
                }
                fn target(__function: ::core::option::Option<fn($($type),*)>) -> fn($($type),*) {
                    __function.unwrap_or(__walk)
                }
            }
            #[allow(clippy::undocumented_unsafe_blocks)]
            // SAFETY: the default of the trampoline is `__walk`, which has the type `Target` and calls each probe in the list of this static.
            unsafe impl $crate::trace::Signature for $name {
                type Closure = dyn ::core::ops::Fn($($type),*) + ::core::marker::Send + ::core::marker::Sync;
                fn closure(__function: fn($($type),*)) -> $crate::trace::Arc<Self::Closure> {
                    $crate::trace::Arc::new(__function)
                }
            }
        };
    };
}

/// Makes the walk, the function that calls all probes. The macro chooses the names of its parameters, because the name of an argument may be that of
/// a static (such as a tracepoint), which a parameter cannot have.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_walk {
    ($group:ident $name:ident [$($done:tt)*] [$first:ty $(, $rest:ty)*] [($parameter:ident $($place:literal)*) $($more:tt)*]) => {
        $crate::__tracepoint_walk! { $group $name [$($done)* ($parameter: $first, $($place)*)] [$($rest),*] [$($more)*] }
    };
    ($group:ident $name:ident [$(($parameter:ident: $type:ty, $($place:literal)*))*] [] $more:tt) => {
        $crate::__usdt! { $group $name $(($parameter: $type, $($place)*))* }
        #[allow(clippy::too_many_arguments)]
        #[inline(never)] // Not inlined: it contains a record, which a program must have only once.
        fn __walk($($parameter: $type),*) {
            $crate::__tracepoint_record!($group $name);
            $crate::__usdt_emit!($($parameter)*);
            $name.each(|__probe| __probe($($parameter),*))
        }
    };
    ($group:ident $name:ident $done:tt [$($type:ty),+] []) => {
        compile_error!("a tracepoint has 16 arguments at the most: put some into a struct");
    };
}

/// Emits the record of the tracepoint's key. `record_key!` puts a record into a module; here, the record is in the function, because a tracepoint may
/// be declared in a function, and a module in that function does not see the tracepoint's static.
#[doc(hidden)]
#[macro_export]
macro_rules! __tracepoint_record {
    ($group:ident $name:ident) => {{
        $crate::__declaration!(
            $name.key,
            ::core::mem::offset_of!($crate::Tracepoint<$name>, key),
            $crate::key_record::declaration::Texts::of_place(
                ::core::concat!(::core::module_path!(), "::", ::core::stringify!($name)),
                ::core::concat!(::core::stringify!($name), ".key"),
                &[::core::concat!(::core::stringify!($group), ":", ::core::stringify!($name))],
                ::core::file!()
            )
        );
        fn __jumplabel_meta() -> $crate::key_record::meta::Meta {
            $crate::key_record::meta::Meta::of(&$name.probes).with_tracepoint($crate::__usdt_description!($name))
        }
        $crate::__key_link_in_function!($name, [__jumplabel_meta]);
    }};
}

/// Calls the probes of a tracepoint: `emit!(packet, data.len(), port)`.
///
/// Without a probe, this is one instruction that falls through, and the arguments are not evaluated. If the only probe is a plain `fn`, `emit!` calls
/// it through a trampoline. With a closure, or with several probes, `emit!` calls a function that calls each probe. The value of `emit!` is `()`.
/// Safe in signal handlers if the probes are safe there.
///
/// If a probe panics, the panic leaves `emit!`, and the probes after that one are not called.
#[macro_export]
macro_rules! emit {
    ($($point:ident)::+ $(, $argument:expr)* $(,)?) => {
        if $crate::static_branch_unlikely!($($point)::+ . key) {
            ($($point)::+ . call)($($argument),*);
        }
    };
}
