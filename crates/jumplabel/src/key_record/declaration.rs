//! The records that declarations (`static_key!`, `naked_key!`, `record_key!`, `static_call!`, `static_mode!`, `ops!`) leave in a program, so that
//! keys, calls and modes can be listed and found.
//!
//! ```text
//!   __jump_keys, 12 bytes for a declaration      .rodata, 28 bytes and the texts
//!   ┌────────────────────┐                       ┌─────────────────────────────────────────┐
//!   │ key         - here ├──► the static         │ line  column  count  shape  offset      │
//!   │ declaration - here ├──────────────────────►│ four lengths                            │
//!   │ meta        - here ├──► a function, or 0   │ path, which begins with the module      │
//!   └────────────────────┘                       │ name, if the declaration gives one      │
//!                                                │ file                                    │
//!                                                └─────────────────────────────────────────┘
//! ```
//!
//! All constants are in the declaration, which the compiler lays out. The assembler gets only addresses: each number would be one more operand of the
//! assembler, and each operand takes as much compile time as a function. Builds without sites use no assembler. There, a constructor puts a node into
//! a chain, and the node has the three addresses of the figure (`key_record::list`).

use crate::format::{Declaration, shape};

/// A type that a record can declare: a key, an array of keys, a static call, a mode or a table of operations.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a static key",
    label = "this is not a static key, nor an array of them",
    note = "record_key! takes a place in a static: NAME.field, NAME[CONSTANT], with a key there or an array of keys"
)]
pub trait Keys {
    const COUNT: usize;
    const STRIDE: usize;
    const DEFAULT: bool;
    /// The flag for the shape word of the declaration: `CALL`, `MODE`, or 0 for keys.
    const WHAT: u32 = 0;
}

/// The texts of a declaration: path, name and file.
pub struct Texts {
    /// The path is these three parts together, without their spaces.
    path: [&'static str; 3],
    module_len: usize,
    /// Empty if the declaration gives no name.
    name: &'static str,
    file: &'static str,
}

impl Texts {
    /// Makes the texts of a static that has a module of its own, with the same name. `path` is the path of that module, so it is also the static's
    /// path.
    #[must_use]
    pub const fn of_static(path: &'static str, name: &[&'static str], file: &'static str) -> Texts {
        let mut module_len = path.len();
        while module_len > 0 && path.as_bytes()[module_len - 1] != b':' {
            module_len -= 1;
        }
        let name = if let &[name] = name { checked(name) } else { "" };
        Texts { path: [path, "", ""], module_len: module_len.saturating_sub(2), name, file }
    }

    /// Makes the texts of a static from the parts of its path. The first `module_len` bytes of the path are the path of the module.
    #[must_use]
    pub const fn of_path(path: [&'static str; 3], module_len: usize, file: &'static str) -> Texts {
        Texts { path, module_len, name: "", file }
    }

    /// Makes the texts of a key that lies somewhere in a static. `place` is the user's expression for the key. `inner` is the path of a module
    /// directly inside the module that contains this expression.
    #[must_use]
    pub const fn of_place(
        inner: &'static str,
        place: &'static str,
        name: &[&'static str],
        file: &'static str,
    ) -> Texts {
        let Texts { module_len, name, .. } = Texts::of_static(inner, name, file);
        Texts { path: [inner.split_at(module_len).0, "::", place], module_len, name, file }
    }

    const fn path_len(&self) -> usize {
        let mut len = 0;
        let mut part = 0;
        while part < self.path.len() {
            len = copy(self.path[part], false, &mut [], len);
            part += 1;
        }
        len
    }

    /// The total length of path, name and file, in bytes.
    #[must_use]
    #[allow(clippy::len_without_is_empty)]
    pub const fn len(&self) -> usize {
        self.path_len() + self.name.len() + self.file.len()
    }
}

/// Copies `part` to `text`, from index `at` on, with or without its spaces. Returns the index after the copy. If `text` is empty, copies nothing and
/// only computes that index.
const fn copy(part: &str, with_spaces: bool, text: &mut [u8], mut at: usize) -> usize {
    let bytes = part.as_bytes();
    let mut from = 0;
    while from < bytes.len() {
        if with_spaces || bytes[from] != b' ' {
            if !text.is_empty() {
                text[at] = bytes[from];
            }
            at += 1;
        }
        from += 1;
    }
    at
}

/// Returns `name`, which a declaration gives. Does not compile if `name` is empty or has control characters, because operators must be able to type
/// it.
const fn checked(name: &'static str) -> &'static str {
    assert!(!name.is_empty(), "the name of a key is empty");
    let mut at = 0;
    while at < name.len() {
        assert!(!name.as_bytes()[at].is_ascii_control(), "the name of a key is one line of text");
        at += 1;
    }
    name
}

/// Makes the declaration of `keys`, which lie `offset` bytes after the beginning of their static.
#[must_use]
pub const fn declare<K: Keys, const TEXT: usize>(
    texts: &Texts,
    [line, column]: [u32; 2],
    _keys: &K,
    offset: usize,
) -> Declaration<TEXT> {
    assert!(TEXT == texts.len() && TEXT <= u16::MAX as usize, "path, name and file of a key have at most 65535 bytes");
    assert!(offset <= u32::MAX as usize, "a key lies at most 4 GiB into its static");
    let mut text = [0; TEXT];
    let at = copy(texts.path[0], false, &mut text, 0);
    let at = copy(texts.path[1], false, &mut text, at);
    let at = copy(texts.path[2], false, &mut text, at);
    let at = copy(texts.name, true, &mut text, at);
    copy(texts.file, true, &mut text, at);
    Declaration {
        line,
        column,
        count: K::COUNT as u32,
        shape: shape(K::DEFAULT, K::STRIDE) | K::WHAT,
        offset: offset as u32,
        module_len: texts.module_len as u16,
        path_len: texts.path_len() as u16,
        name_len: texts.name.len() as u16,
        file_len: texts.file.len() as u16,
        text,
    }
}

/// Returns the offset of `key` in `symbol`.
///
/// # Safety
/// `key` lies in `symbol`. (In a constant, the compiler refuses any other `key`.)
#[must_use]
pub const unsafe fn offset_in<K, S>(key: &K, symbol: &S) -> usize {
    // SAFETY: the caller says that `key` lies in `symbol`.
    let offset = unsafe { core::ptr::from_ref(key).byte_offset_from(core::ptr::from_ref(symbol)) };
    assert!(offset >= 0);
    offset as usize
}

/// Emits the record of `$keys`, which lie `$offset` bytes after the beginning of the static `$symbol`.
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record {
    ($symbol:path, $keys:expr, $offset:expr, $texts:expr, [$($meta:expr)?]) => {
        $crate::__declaration!($keys, $offset, $texts);
        // If an item is marked as used, the linker takes its object file from a library even if nothing else in that file is needed. So this empty
        // static keeps the record. The mark is not on the declaration, because a Rust `dylib` exports marked items: the record's word, which is a
        // distance, cannot lead to an exported item.
        #[used]
        static __JUMPLABEL_ANCHOR: () = ();
        $crate::__key_meta!($symbol, $($meta)?);
    };
}

/// Makes the declaration of a record: the part that the compiler lays out.
#[doc(hidden)]
#[macro_export]
macro_rules! __declaration {
    ($keys:expr, $offset:expr, $texts:expr) => {
        const __JUMPLABEL_TEXTS: $crate::key_record::declaration::Texts = $texts;
        static __JUMPLABEL_DECLARATION: $crate::format::Declaration<{ __JUMPLABEL_TEXTS.len() }> =
            $crate::key_record::declaration::declare(
                &__JUMPLABEL_TEXTS,
                [::core::line!(), ::core::column!()],
                &$keys,
                $offset,
            );
    };
}

/// Emits a record in `__jump_keys`.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_link {
    ($symbol:path, [$($meta:ident)?]) => {
        ::core::arch::global_asm!(
            $crate::__once_asm!(),
            $crate::__key_record_asm!($($meta)?),
            key = sym $symbol,
            declaration = sym __JUMPLABEL_DECLARATION,
            $($meta = sym $meta,)?
        );
    };
}

/// Emits a record in `__jump_keys` from inside a function. The compiler emits the record together with the function, into the same object file: a
/// program that uses nothing of that file has no such record. The record adds no instruction to the function.
#[cfg(jumplabel_sites)]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_link_in_function {
    ($symbol:path, [$($meta:ident)?]) => {
        #[allow(clippy::undocumented_unsafe_blocks)]
        // SAFETY: this assembler only emits a record in another section. It contains no instruction.
        unsafe {
            $crate::__asm_without_code!(
                [$crate::__once_asm!(), $crate::__key_record_asm!($($meta)?),]
                key = sym $symbol,
                declaration = sym __JUMPLABEL_DECLARATION,
                $($meta = sym $meta,)?
            );
        }
    };
}

/// The assembler text of a record.
#[doc(hidden)]
#[macro_export]
macro_rules! __key_record_asm {
    ($($meta:ident)?) => {
        ::core::concat!(
            $crate::__record_section_asm!(),
            $crate::__key_word_asm!("key"),
            "\n.long {declaration} - .\n.long 0" $(, "+{", ::core::stringify!($meta), "} - .")?,
            "\n.popsection"
        )
    };
}

/// Makes a node with the record, and the constructor that puts the node into the chain of records.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_link {
    ($symbol:path, [$($meta:ident)?]) => {
        $crate::__constructor!($crate::key_record::Record, $crate::chain::Node::new(&$symbol, &__JUMPLABEL_DECLARATION, &[$($meta)?]));
    };
}

/// Makes the same node and constructor from inside a function: in a build without sites, the record need not belong to the function.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[macro_export]
macro_rules! __key_link_in_function {
    ($($record:tt)*) => {
        $crate::__key_link!($($record)*);
    };
}

/// Sorts the attributes of a declaration: `#[cfg]` applies to the whole declaration, the others to its static. Then calls `$then!` with the
/// `#[cfg]`s, the other attributes, and the rest of the declaration.
#[doc(hidden)]
#[macro_export]
macro_rules! __cfg_apart {
    ($then:ident [$($cfg:tt)*] $attr:tt [#[cfg $condition:tt] $($head:tt)*] $($rest:tt)*) => {
        $crate::__cfg_apart! { $then [$($cfg)* #[cfg $condition]] $attr [$($head)*] $($rest)* }
    };
    ($then:ident $cfg:tt [$($attr:tt)*] [#[$($one:tt)*] $($head:tt)*] $($rest:tt)*) => {
        $crate::__cfg_apart! { $then $cfg [$($attr)* #[$($one)*]] [$($head)*] $($rest)* }
    };
    ($then:ident $cfg:tt $attr:tt $vis:tt $($rest:tt)*) => {
        $crate::$then! { $cfg $attr $vis $($rest)* }
    };
}
