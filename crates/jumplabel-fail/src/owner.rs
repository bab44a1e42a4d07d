//! Which points belong to this copy of the crate. Several copies can be in one process, and each has a registry. Each turns its own points on and
//! off, and those of no other.
//!
//! ```text
//!   Rust   the meta of the key ──► OWNER
//!   C      static struct jumplabel_fail_point_ { key, owner }      the record of the key: path `jumplabel_fail_point`, name `fail:NAME`
//!                                                 │
//!                                                 └──► jumplabel_fail_owner_ ──► OWNER of the copy that the object was linked with
//! ```

use jumplabel::KeyInfo;

/// What the key of a point has as its meta.
pub struct Owner(());

#[doc(hidden)]
pub static OWNER: Owner = Owner(());

/// What `jumplabel_fail_owner_` is. (It leads to the owner, because a linker may copy a variable of a library into the program.)
#[repr(transparent)]
pub struct OwnerOfC(*const Owner);

// SAFETY: an address that nobody changes.
unsafe impl Sync for OwnerOfC {}

impl OwnerOfC {
    /// That of this copy.
    pub const THIS: OwnerOfC = OwnerOfC(&raw const OWNER);
}

/// Whether a key is that of a point of this copy.
pub fn owns(key: &KeyInfo) -> bool {
    key.meta::<Owner>().is_some_and(|owner| std::ptr::eq(owner, &raw const OWNER)) || owns_of_c(key)
}

fn owns_of_c(key: &KeyInfo) -> bool {
    if key.path != "jumplabel_fail_point" || !key.module.is_empty() {
        return false;
    }
    // SAFETY: the macro alone declares keys with this path. Behind the key, which has 8 bytes, is the address of an `OwnerOfC`.
    let owner = unsafe { *((key.key.address() + 8) as *const *const OwnerOfC) };
    // SAFETY: the macro's, or null.
    unsafe { owner.as_ref() }.is_some_and(|owner| std::ptr::eq(owner.0, &raw const OWNER))
}
