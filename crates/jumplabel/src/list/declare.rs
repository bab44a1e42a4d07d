//! The macros `list!` and `list_element!`.

/// Declares a [`List`](crate::List): `list! { pub static CALLSITES: [Callsite]; }`. The type of the elements must be `Sync`.
#[macro_export]
macro_rules! list {
    () => {};
    ($(#[$($attr:tt)*])* $vis:vis static $name:ident: [$element:ty]; $($rest:tt)*) => {
        $(#[$($attr)*])*
        $vis static $name: $crate::List<$element> = $crate::List::new();
        $crate::list! { $($rest)* }
    };
    ($($other:tt)*) => {
        compile_error!("expected lists, each with `;` behind it: `pub static NAME: [Type];`");
    };
}

/// Puts a static on a [`List`](crate::List): `list_element!(CALLSITES, CALLSITE);`. Write this statement in a function. If the linker drops the
/// function, it also drops the element. (In a PE file, the element stays.)
///
/// Takes the names of two statics, with or without paths. Adds no instruction, and costs 8 bytes for each copy of the function's code. In the
/// fallback, it costs a node of data and a constructor.
#[macro_export]
macro_rules! list_element {
    ($list:path, $element:path) => {{
        const _: fn() = || {
            // Checks the types, because the assembler accepts any statics. `&raw const` is needed: with `&`, the compiler would also accept statics
            // that hold references to a list and to an element.
            $crate::list::demand(&raw const $list, &raw const $element);
            // Refuses a `static mut` and a `#[thread_local]` static.
            $crate::list::demand_statics(&$list, &$element);
        };
        $crate::__list_link!($list, $element);
    }};
}

/// Emits an element into the section of elements (ELF: `__jump_lists`). On ELF, the linker drops the element if it drops the function.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __list_link {
    ($list:path, $element:path) => {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: this assembler only emits an element in another section. It contains no instruction.
        unsafe {
            $crate::__asm_without_code!(
                [
                    ".ifndef .Ljump_listed;.set .Ljump_listed,0",
                    $crate::__once_asm!(),
                    $crate::__listed_asm!(),
                    ".endif;.set .Ljump_listed,.Ljump_listed+1;.altmacro;jumplabel_listed %.Ljump_listed,{l},{e};.noaltmacro",
                ]
                l = sym $list,
                e = sym $element,
            );
        }
    };
}

/// Yields the assembler's macro that emits an element of a PE file. A PE file cannot tie the element to the function, so the element stays on the
/// list even if the linker drops the function.
#[cfg(jumplabel_windows)]
#[doc(hidden)]
#[macro_export]
macro_rules! __listed_asm {
    () => {
        ".macro jumplabel_listed n,l,e\n.pushsection .vectors$jlm,\"dr\"\n.balign 4\n.long \\l-.,\\e-.\n.popsection\n.endm"
    };
}

/// Yields the assembler's macro that emits an element. Its arguments are the element's number, the list and the static. The relocation leads from the
/// function to the element. Without it, a linker that folds identical code could merge functions that have different elements.
#[cfg(not(jumplabel_windows))]
#[doc(hidden)]
#[macro_export]
macro_rules! __listed_asm {
    () => {
        ::core::concat!(
            ".macro jumplabel_listed n,l,e\n.Ljump_listed_\\n:\n.reloc .Ljump_listed_\\n,BFD_RELOC_NONE,.Ljump_element_\\n\n\
             .pushsection __jump_lists,\"ao?\",%progbits,.Ljump_listed_\\n\n.balign 4\n.Ljump_element_\\n: .long ",
            $crate::__listed_words_asm!(),
            "\n.popsection\n.endm"
        )
    };
}

/// Yields the two words of an element: one leads to the list, the other to the static.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __listed_words_asm {
    () => {
        "\\l-.,\\e-."
    };
}

/// Yields the two words of an element, in a build in which the list or the static may be in another object. The words lead to slots of the GOT.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __listed_words_asm {
    () => {
        "\\l\\()@GOTPCREL,\\e\\()@GOTPCREL"
    };
}

/// Makes a node with the element, and the constructor that puts the node on the list.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __list_link {
    ($list:path, $element:path) => {
        const _: () = {
            $crate::__constructor!($crate::list::Element, $crate::chain::Node::element(&$list, &$element));
        };
    };
}
