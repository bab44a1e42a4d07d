//! Finds the points that belong to this copy of the crate. One process may have several copies, each with a registry. Each copy turns only its own
//! points on and off.
//!
//! ```text
//!   Rust   the meta of the key ──► OWNER
//!   C      static struct jumplabel_fail_point_ { key, owner }      the record of the key: path `jumplabel_fail_point`, name `fail:NAME`
//!                                                 │
//!                                                └──► jumplabel_fail_owner_ ──► OWNER of the copy with which the object was linked
//! ```

use jumplabel::KeyInfo;

/// The type of the value to which a key's meta refers, if the key belongs to a point.
pub struct Owner(());

#[doc(hidden)]
pub static OWNER: Owner = Owner(());

/// The type of `jumplabel_fail_owner_`. It is a pointer to the owner, because a linker may copy a library's variable into the program.
#[repr(transparent)]
pub struct OwnerOfC(*const Owner);

// SAFETY: the value is an address that nobody changes.
unsafe impl Sync for OwnerOfC {}

impl OwnerOfC {
    /// The value for this copy of the crate.
    pub const THIS: OwnerOfC = OwnerOfC(&raw const OWNER);
}

/// True if the key belongs to a point of this copy.
pub fn owns(key: &KeyInfo) -> bool {
    key.meta::<Owner>().is_some_and(|owner| std::ptr::eq(owner, &raw const OWNER)) || owns_of_c(key)
}

fn owns_of_c(key: &KeyInfo) -> bool {
    if key.path != "jumplabel_fail_point" || !key.module.is_empty() {
        return false;
    }
    // SAFETY: only the macro declares keys with this path. The key has 8 bytes, and the address of an `OwnerOfC` follows it.
    let owner = unsafe { *((key.key.address() + 8) as *const *const OwnerOfC) };
    // SAFETY: `owner` is null, or the address that the macro has put there.
    unsafe { owner.as_ref() }.is_some_and(|owner| std::ptr::eq(owner.0, &raw const OWNER))
}
