//! The assembler of an object's record, its constructor and its destructor, for all instruction sets, in ELF files. The body of a constructor
//! is in the arch file: `__constructor_asm!`.

/// The object's record, constructor and destructor. An object has one of each, even if many of its files contain this text (COMDAT).
#[doc(hidden)]
#[macro_export]
macro_rules! __object_asm {
    () => {
        ::core::concat!(
            ".ifndef .Ljumplabel_object\n",
            ".set .Ljumplabel_object, 1\n",
            ".pushsection .text.__jumplabel_object, \"axG\", %progbits, __jumplabel_object, comdat\n",
            ".balign 4\n",
            ".weak __jumplabel_object_init\n",
            ".hidden __jumplabel_object_init\n",
            $crate::__runtime_asm!(),
            ".type __jumplabel_object_init, %function\n",
            "__jumplabel_object_init:\n",
            $crate::__constructor_asm!("__jumplabel_register_object"),
            ".weak __jumplabel_object_fini\n",
            ".hidden __jumplabel_object_fini\n",
            ".type __jumplabel_object_fini, %function\n",
            "__jumplabel_object_fini:\n",
            $crate::__constructor_asm!("__jumplabel_unregister_object"),
            ".popsection\n",
            ".pushsection .data.__jumplabel_object, \"awG\", %progbits, __jumplabel_object, comdat\n",
            ".weak __jumplabel_object\n",
            ".hidden __jumplabel_object\n",
            ".type __jumplabel_object, %object\n",
            ".weak __start___jump_table\n",
            ".hidden __start___jump_table\n",
            ".weak __stop___jump_table\n",
            ".hidden __stop___jump_table\n",
            ".weak __start___jump_keys\n",
            ".hidden __start___jump_keys\n",
            ".weak __stop___jump_keys\n",
            ".hidden __stop___jump_keys\n",
            ".weak __start___jump_foreign\n",
            ".hidden __start___jump_foreign\n",
            ".weak __stop___jump_foreign\n",
            ".hidden __stop___jump_foreign\n",
            ".weak __start___jump_lists\n",
            ".hidden __start___jump_lists\n",
            ".weak __stop___jump_lists\n",
            ".hidden __stop___jump_lists\n",
            // gold cannot link the bounds of a section that does not exist. So these three sections always exist.
            ".pushsection __jump_keys, \"aR\", %progbits\n",
            ".popsection\n",
            ".pushsection __jump_foreign, \"aR\", %progbits\n",
            ".popsection\n",
            ".pushsection __jump_lists, \"aR\", %progbits\n",
            ".popsection\n",
            ".balign 8\n",
            "__jumplabel_object:\n",
            $crate::__pointer_asm!("0, 0, 0, 0, 0, 0, 0"),
            ".long __start___jump_table - .\n",
            ".long __stop___jump_table - .\n",
            ".long __start___jump_keys - .\n",
            ".long __stop___jump_keys - .\n",
            ".long __start___jump_foreign - .\n",
            ".long __stop___jump_foreign - .\n",
            ".long __start___jump_lists - .\n",
            ".long __stop___jump_lists - .\n",
            ".long 0\n",
            ".long 1\n",
            ".size __jumplabel_object, . - __jumplabel_object\n",
            ".popsection\n",
            ".pushsection .init_array.00000, \"aGwR\", %init_array, __jumplabel_object, comdat\n",
            $crate::__pointer_asm!("__jumplabel_object_init"),
            ".popsection\n",
            ".pushsection .fini_array.00000, \"aGwR\", %fini_array, __jumplabel_object, comdat\n",
            $crate::__pointer_asm!("__jumplabel_object_fini"),
            ".popsection\n",
            $crate::__record_note_asm!(),
            ".endif",
        )
    };
}

/// An empty note, which says that the object has a record. The library can find the note before the object's constructor has run.
#[cfg(jumplabel_linux)]
#[doc(hidden)]
#[macro_export]
macro_rules! __record_note_asm {
    () => {
        ".pushsection .note.jumplabel, \"aG\", %note, __jumplabel_object, comdat\n\
         .balign 4\n.long 10, 0, 1\n.asciz \"jumplabel\"\n.balign 4\n.popsection\n"
    };
}

/// Empty: only the platform for Linux looks for the note.
#[cfg(not(jumplabel_linux))]
#[doc(hidden)]
#[macro_export]
macro_rules! __record_note_asm {
    () => {
        ""
    };
}

/// Refers to the object's record. Each assembler file that has keys or sites contains this reference. Because of the reference, the linker takes the
/// file with the record from the library's archive.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __once_asm {
    () => {
        ".reloc ., BFD_RELOC_NONE, __jumplabel_object"
    };
}

/// Emits the object's record. In this build, a reference would not be enough, because the library may be in another object.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __once_asm {
    () => {
        $crate::__object_asm!()
    };
}

/// Defines a key in the object itself, for sites that are changed together: lock prefixes, or alternatives. An assembler file defines the key only
/// once, however often it uses this macro. The label is in a macro of the assembler, because otherwise the compiler would take the label for one of
/// the user's.
#[cfg(jumplabel_prefixes)]
#[doc(hidden)]
#[macro_export]
macro_rules! __own_key_asm {
    ($key:literal) => {
        ::core::concat!(
            ".ifndef .Lkey",
            $key,
            "\n.set .Lkey",
            $key,
            ",1\n.macro .Lmake",
            $key,
            "\n.pushsection .data.",
            $key,
            ",\"awG\",%progbits,",
            $key,
            ",comdat\n.balign 8\n.weak ",
            $key,
            "\n.hidden ",
            $key,
            "\n.type ",
            $key,
            ",%object\n.size ",
            $key,
            ",8\n",
            $key,
            "\\():\n.long 0,0\n.popsection\n.endm\n.Lmake",
            $key,
            "\n.endif\n"
        )
    };
}

/// Begins the table entry of a function that is one site: a trampoline, or the function of a naked key. The entry's section is tied to the function's
/// section. The relocation changes no bytes. The relocation names the key, so that a linker that folds identical code does not fold the functions of
/// two keys.
#[doc(hidden)]
#[macro_export]
macro_rules! __function_entry_asm {
    () => {
        ".reloc 2b, BFD_RELOC_NONE, {key}\n.pushsection __jump_table, \"ao\", %progbits, {function}\n.balign 4"
    };
}

/// Begins the record of a declaration, in the section of the key records.
#[doc(hidden)]
#[macro_export]
macro_rules! __record_section_asm {
    () => {
        ".pushsection __jump_keys, \"aR\", %progbits\n.balign 4\n"
    };
}

/// Inline assembly without instructions: directives only.
#[doc(hidden)]
#[macro_export]
macro_rules! __asm_without_code {
    ([$($text:tt)*] $($operand:tt)*) => {
        ::core::arch::asm!($($text)* $($operand)* options(nomem, nostack, preserves_flags))
    };
}

/// The unwind information of a function that leaves the stack as it was.
#[doc(hidden)]
#[macro_export]
macro_rules! __unwind_asm {
    (begin) => {
        ".cfi_startproc"
    };
    (end) => {
        ".cfi_endproc"
    };
}

/// The directive for a word of the size of a pointer: `.quad`.
#[cfg(target_pointer_width = "64")]
#[doc(hidden)]
#[macro_export]
macro_rules! __pointer_asm {
    ($words:literal) => {
        ::core::concat!(".balign 8\n.quad ", $words, "\n")
    };
}

/// The directive for a word of the size of a pointer: `.long`.
#[cfg(target_pointer_width = "32")]
#[doc(hidden)]
#[macro_export]
macro_rules! __pointer_asm {
    ($words:literal) => {
        ::core::concat!(".balign 4\n.long ", $words, "\n")
    };
}

/// Hides the library's two functions, so that each object calls those of its own instance, whatever symbols other objects export.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __runtime_asm {
    () => {
        ".hidden __jumplabel_register_object\n.hidden __jumplabel_unregister_object\n"
    };
}

/// Hides nothing, because the instance of this library may be in another object, a Rust `dylib`.
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __runtime_asm {
    () => {
        ""
    };
}
