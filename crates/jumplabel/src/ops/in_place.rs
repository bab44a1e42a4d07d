//! Operations in place: the parts that all instruction sets with such operations share. These are the function, its inline assembly and its operands.

/// Makes an operation in place: its function, and the type that stands for the operation.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_in_place {
    (
        (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $arguments:tt $kind:tt $of:tt $result:tt)
        [$first:ident $function:tt $template:literal] $($others:tt)*
    ) => {
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code)]
        enum $op {}
        $crate::__op_fits! { $of $result }
        $crate::__op_operation! { $backends $op $of $result ($crate::__op_type!($unsafe $of $result))
            (__function => ::core::option::Option::None) [$first $function] $($others)* }
        $crate::__op_emit! { (($table $backends $attr $vis $unsafe $op) $arguments $kind)
            [$crate::__op_instruction_asm!(before), $crate::__op_begin_asm!(), "8802:", $template, $crate::__op_native_asm!($op, $template),]
            [const <$backends>::$first as ::core::primitive::u8,] $($others)* }
    };
}

/// Does not compile if an argument or the result has a type that cannot be an operand ([`Operand`](crate::ops::Operand)).
#[doc(hidden)]
#[macro_export]
macro_rules! __op_fits {
    ([$($of:ty),*] ($($result:ty)?)) => {
        const _: () = {
            const fn fits<T: $crate::ops::Operand>() {}
            $(fits::<$of>();)*
            $(fits::<$result>();)?
        };
    };
}

/// Takes one arm, and adds its text (the stub and the row in the list of arms) and its operands. After the last arm, makes the function.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_emit {
    ($op:tt [$($text:tt)*] [$($operand:tt)*]) => {
        $crate::__op_function_in_place! { $op [$($text)*] [$($operand)*] }
    };
    (
        (($table:ident $backends:ident $($head:tt)*) $arguments:tt $kind:tt)
        [$($text:tt)*] [$($operand:tt)*] [$arm:ident (nothing) nothing] $($rest:tt)*
    ) => {
        $crate::__op_emit! { (($table $backends $($head)*) $arguments $kind)
            [$($text)* $crate::__op_nothing_asm!(),]
            [$($operand)* const <$backends>::$arm as ::core::primitive::u8,] $($rest)* }
    };
    (
        (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $arguments:tt $kind:tt)
        [$($text:tt)*] [$($operand:tt)*] [$arm:ident $function:tt in $template:literal []] $($rest:tt)*
    ) => {
        $crate::__op_emit! { (($table $backends $attr $vis $unsafe $op) $arguments $kind)
            [$($text)* $crate::__op_closed_asm!($op, $template), $crate::__op_row_asm!(),]
            [$($operand)* const <$backends>::$arm as ::core::primitive::u8,] $($rest)* }
    };
    (
        (($table:ident $backends:ident $attr:tt $vis:tt $unsafe:tt $op:ident) $arguments:tt $kind:tt)
        [$($text:tt)*] [$($operand:tt)*] [$arm:ident ($($function:tt)+) in $template:literal [call]] $($rest:tt)*
    ) => {
        $crate::__op_emit! { (($table $backends $attr $vis $unsafe $op) $arguments $kind)
            [$($text)* $crate::__op_closed_asm!($op, $template), $crate::__op_row_asm!(), $crate::__op_open_asm!($arguments $kind),]
            [$($operand)* const <$backends>::$arm as ::core::primitive::u8, sym $($function)+,] $($rest)* }
    };
    (
        (($table:ident $backends:ident $($head:tt)*) $arguments:tt $kind:tt)
        [$($text:tt)*] [$($operand:tt)*] [$arm:ident ($($function:tt)+) out] $($rest:tt)*
    ) => {
        $crate::__op_emit! { (($table $backends $($head)*) $arguments $kind)
            [$($text)* $crate::__op_open_asm!($arguments $kind), $crate::__op_row_asm!(),]
            [$($operand)* sym $($function)+, const <$backends>::$arm as ::core::primitive::u8,] $($rest)* }
    };
}

/// Makes the function of an operation in place. The function's arguments are the operands of the inline assembly.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_function_in_place {
    (
        (($table:ident $backends:ident [$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident) [$(($argument:ident, $of:ty))*] (none))
        [$($text:tt)*] [$($operand:tt)*]
    ) => {
        $($attr)*
        #[inline(always)]
        $vis $($unsafe)? fn $op($($argument: $of),*) {
            $crate::__op_operands! { [$crate::__op_asm] $table $backends [$($text)* $(::core::concat!("// {", ::core::stringify!($argument), "}"),)*]
                [$($operand)*] [$($argument = in(reg) $argument,)*] }
        }
    };
    (
        (($table:ident $backends:ident [$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident) [$(($argument:ident, $of:ty))*] (out $result:ty))
        [$($text:tt)*] [$($operand:tt)*]
    ) => {
        $($attr)*
        #[inline(always)]
        $vis $($unsafe)? fn $op($($argument: $of),*) -> $result {
            let __ret: $result;
            $crate::__op_operands! { [$crate::__op_asm] $table $backends [$($text)* "// {ret}", $(::core::concat!("// {", ::core::stringify!($argument), "}"),)*]
                [$($operand)*] [$($argument = in(reg) $argument,)* ret = out(reg) __ret,] }
            __ret
        }
    };
    (
        (($table:ident $backends:ident [$($attr:tt)*] [$vis:vis] [$($unsafe:tt)?] $op:ident)
            [($first:ident, $first_of:ty) $(($argument:ident, $of:ty))*] (inout $same:ident $result:ty))
        [$($text:tt)*] [$($operand:tt)*]
    ) => {
        $($attr)*
        #[inline(always)]
        $vis $($unsafe)? fn $op($first: $first_of, $($argument: $of),*) -> $result {
            let __ret: $result;
            $crate::__op_operands! { [$crate::__op_asm] $table $backends
                [$($text)* ::core::concat!("// {", ::core::stringify!($first), "}"), $(::core::concat!("// {", ::core::stringify!($argument), "}"),)*]
                [$($operand)*] [$first = inout(reg) $first => __ret, $($argument = in(reg) $argument,)*] }
            __ret
        }
    };
}

/// Emits the inline assembly of an operation in place. This macro's own operands have names that begin with `__`, so that they do not clash with the
/// names of the user's arguments.
#[doc(hidden)]
#[macro_export]
macro_rules! __op_asm {
    ($table:ident $backends:ident [$($text:tt)*] [$($operand:tt)*] [$($named:tt)*]) => {
        #[allow(clippy::undocumented_unsafe_blocks, unused_unsafe)]
        // SAFETY: the author of each template promises what the template does. The stubs that call functions preserve all registers except the
        // result.
        unsafe {
            ::core::arch::asm!(
                $crate::__op_once_asm!(),
                $($text)*
                $crate::__op_entry_asm!(),
                $crate::__key_word_asm!("__key"),
                ".long {__meta}\n.popsection",
                $($operand)*
                $($named)*
                __count = const $crate::switch::count_of::<$backends>() as ::core::primitive::u32 + 1,
                __key = sym $table,
                __meta = const $crate::format::meta(false, $crate::format::OP, 0),
                options(nostack),
            );
        }
    };
}

/// Yields the assembler text that makes sure that the object has a record.
#[cfg(not(jumplabel_dylib))]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_once_asm {
    () => {
        $crate::__once_asm!()
    };
}
#[cfg(jumplabel_dylib)]
#[doc(hidden)]
#[macro_export]
macro_rules! __op_once_asm {
    () => {
        ::core::concat!($crate::__once_asm!(), "\n", $crate::__foreign_asm!())
    };
}
