//! Atomic numbers whose instructions have `lock` prefixes that are sites.

use core::fmt;
use core::sync::atomic::{self, Ordering};

/// Executes one instruction with a `lock` prefix on the number in `$self`. In `$text`, `p` is the address of the number, and `v` is a value.
#[cfg(jumplabel_prefixes)]
macro_rules! locked {
    ($text:expr, $self:ident, $($operand:tt)*) => {
        // SAFETY: this is one instruction on this atomic's own number. It gives every ordering that a caller can ask for: the compiler assumes that
        // it reads and writes any memory, and `lock` makes the processor order all memory accesses. Without `lock` there is no other thread (`enter`
        // demands that).
        unsafe { core::arch::asm!($crate::__lock_prefix_asm!(), $text, p = in(reg) $self.0.as_ptr(), $($operand)*, options(nostack)) }
    };
}

/// Executes a full barrier: an instruction with a `lock` prefix.
#[cfg(jumplabel_prefixes)]
#[inline]
fn barrier() {
    // SAFETY: this instruction adds no bits to a word of the stack, so it changes no value in memory.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!(crate::__lock_prefix_asm!(), "or dword ptr [rsp], 0", options(nostack));
        #[cfg(target_arch = "x86")]
        core::arch::asm!(crate::__lock_prefix_asm!(), "or dword ptr [esp], 0", options(nostack));
    }
}

/// Makes the type `$Atomic`, with the methods that all these atomics have. The other parameters are words for the assembler. `$size` is the size of
/// the number. `$class` is a class of registers, and `$letter` selects registers of the number's size. `$result` is the register with which `cmpxchg`
/// compares.
macro_rules! atomic {
    ($(#[$attr:meta])* $Atomic:ident: $value:ident, $class:ident, $size:literal, $letter:literal, $result:literal) => {
        $(#[$attr])*
        ///
        /// Like the type with the same name in [`core::sync::atomic`], but its instructions have no `lock` in [UP mode](crate::up). The rules of UP
        /// mode apply: for example, use it only in memory that this process does not share. All changes have the strongest ordering, whichever
        /// ordering you ask for.
        pub struct $Atomic(atomic::$Atomic);

        impl $Atomic {
            /// Makes an atomic with this value.
            #[must_use]
            pub const fn new(value: $value) -> Self {
                $Atomic(atomic::$Atomic::new(value))
            }

            /// Returns the value. One instruction, which never has a `lock` prefix.
            #[must_use]
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            /// Stores a value. If the order is `SeqCst`, a barrier with a `lock` prefix follows.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                #[cfg(jumplabel_prefixes)]
                if let Ordering::SeqCst = order {
                    self.0.store(value, Ordering::Release);
                    return barrier();
                }
                self.0.store(value, order);
            }

            /// Stores a value and returns the previous value. A loop of [`compare_exchange`](Self::compare_exchange), because `xchg` locks even
            /// without a prefix.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                #[cfg(jumplabel_prefixes)]
                return self.update(order, |_| value);
                #[cfg(not(jumplabel_prefixes))]
                self.0.swap(value, order)
            }

            /// If the value is `current`, stores `new`, and returns the previous value.
            ///
            /// # Errors
            /// The previous value, if it was not `current`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                #[cfg(jumplabel_prefixes)]
                {
                    let _ = (success, failure);
                    let found = self.exchange_if(current.into(), new.into());
                    if found == current { Ok(found) } else { Err(found) }
                }
                #[cfg(not(jumplabel_prefixes))]
                self.0.compare_exchange(current, new, success, failure)
            }

            /// Returns a reference to the value, for a caller that has the only reference to the atomic.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            /// Returns the value.
            #[must_use]
            pub fn into_inner(self) -> $value {
                self.0.into_inner()
            }

            #[cfg(jumplabel_prefixes)]
            #[inline]
            fn update(&self, _order: Ordering, next: impl Fn($value) -> $value) -> $value {
                let mut found = self.0.load(Ordering::Relaxed);
                loop {
                    let expected = found;
                    found = self.exchange_if(expected.into(), next(expected).into()).into();
                    if found == expected {
                        return found;
                    }
                }
            }
        }

        impl fmt::Debug for $Atomic {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Default for $Atomic {
            fn default() -> Self {
                $Atomic::new($value::default())
            }
        }

        impl From<$value> for $Atomic {
            fn from(value: $value) -> Self {
                $Atomic::new(value)
            }
        }
    };
}

/// Makes the method `exchange_if`: compares and exchanges by `cmpxchg`, and returns the previous value.
macro_rules! exchange_if {
    ($Atomic:ident: $number:ident, $value:ident, $class:ident, $size:literal, $letter:literal, $result:tt, $of:expr) => {
        #[cfg(jumplabel_prefixes)]
        impl $Atomic {
            #[inline]
            fn exchange_if(&self, current: $number, new: $number) -> $value {
                let found: $number;
                locked!(concat!("cmpxchg ", $size, " ptr [{p}], {v", $letter, "}"), self,
                    v = in($class) new, inout($result) current => found);
                $of(found)
            }
        }
    };
}

/// Makes an atomic for a number, with the methods that only numbers have.
macro_rules! number {
    ($(#[$attr:meta])* $Atomic:ident: $value:ident, $size:literal, $letter:literal, $result:tt) => {
        atomic! { $(#[$attr])* $Atomic: $value, reg, $size, $letter, $result }
        exchange_if! { $Atomic: $value, $value, reg, $size, $letter, $result, |found| found }

        impl $Atomic {
            /// Adds, wrapping around, and returns the previous value.
            #[inline]
            pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                #[cfg(jumplabel_prefixes)]
                {
                    let _ = order;
                    let mut before = value;
                    locked!(concat!("xadd ", $size, " ptr [{p}], {v", $letter, "}"), self, v = inout(reg) before);
                    before
                }
                #[cfg(not(jumplabel_prefixes))]
                self.0.fetch_add(value, order)
            }

            /// Subtracts, wrapping around, and returns the previous value.
            #[inline]
            pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                self.fetch_add(value.wrapping_neg(), order)
            }

            number! { $Atomic $value $size $letter fetch_and and &
                "Keeps the bits that `value` has, and returns the value before: a loop.", "Keeps the bits that `value` has." }
            number! { $Atomic $value $size $letter fetch_or or |
                "Adds the bits of `value`, and returns the value before: a loop.", "Adds the bits of `value`." }
            number! { $Atomic $value $size $letter fetch_add add "Adds, wrapping around." }
            number! { $Atomic $value $size $letter fetch_sub sub "Subtracts, wrapping around." }
        }
    };
    ($Atomic:ident $value:ident $size:literal $letter:literal $fetch:ident $name:ident $op:tt $fetches:literal, $doc:literal) => {
        #[doc = $fetches]
        #[inline]
        pub fn $fetch(&self, value: $value, order: Ordering) -> $value {
            #[cfg(jumplabel_prefixes)]
            return self.update(order, |before| before $op value);
            #[cfg(not(jumplabel_prefixes))]
            self.0.$fetch(value, order)
        }

        number! { $Atomic $value $size $letter $fetch $name $doc }
    };
    ($Atomic:ident $value:ident $size:literal $letter:literal $fetch:ident $name:ident $doc:literal) => {
        #[doc = $doc]
        /// Does not return the previous value, so it is one instruction.
        #[inline]
        pub fn $name(&self, value: $value, order: Ordering) {
            #[cfg(jumplabel_prefixes)]
            {
                let _ = order;
                locked!(concat!(stringify!($name), " ", $size, " ptr [{p}], {v", $letter, "}"), self, v = in(reg) value);
            }
            #[cfg(not(jumplabel_prefixes))]
            self.0.$fetch(value, order);
        }
    };
}

number! {
    /// A number of 32 bits.
    AtomicU32: u32, "dword", ":e", "eax"
}
#[cfg(all(target_pointer_width = "64", target_has_atomic = "64"))]
number! {
    /// A number of 64 bits.
    AtomicU64: u64, "qword", ":r", "rax"
}
#[cfg(target_pointer_width = "64")]
number! {
    /// A number of the size of a pointer.
    AtomicUsize: usize, "qword", ":r", "rax"
}
#[cfg(target_pointer_width = "32")]
number! {
    /// A number of the size of a pointer.
    AtomicUsize: usize, "dword", ":e", "eax"
}
atomic! {
    /// A truth value, for a lock or a flag.
    AtomicBool: bool, reg_byte, "byte", "", "al"
}
exchange_if! { AtomicBool: u8, bool, reg_byte, "byte", "", "al", |found| found != 0 }
