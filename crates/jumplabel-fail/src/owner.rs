//! Finds the points that belong to this copy of the crate. One process may have several copies, each with a registry of its own. Each copy turns only
//! its own points on and off.
//!
//! ```text
//!   Rust   the meta of the key ──► OWNER
//!   C      static struct jumplabel_fail_point_ { key, owner }      the record of the key: path `jumplabel_fail_point`, name `fail:NAME`
//!                                                 │
//!                                                └──► jumplabel_fail_owner_ ──► OWNER of the copy with which the object was linked
//! ```

use jumplabel::KeyInfo;

/// The type of [`OWNER`], to which the meta of each point's key refers. Its address identifies a copy of the crate.
pub struct Owner(());

#[doc(hidden)]
pub static OWNER: Owner = Owner(());

/// The type of C's variable `jumplabel_fail_owner_`, a pointer to [`OWNER`]. C does not use the variable's own address, because a linker may copy a
/// library's variable into the program.
#[repr(transparent)]
pub struct OwnerOfC(*const Owner);

// SAFETY: the value is never changed, and the `Owner` to which it points has no contents.
unsafe impl Sync for OwnerOfC {}

impl OwnerOfC {
    /// The value for this copy of the crate.
    pub const THIS: OwnerOfC = OwnerOfC(&raw const OWNER);
}

/// Whether the key belongs to a point of this copy of the crate.
pub fn owns(key: &KeyInfo) -> bool {
    key.meta::<Owner>().is_some_and(|owner| std::ptr::eq(owner, &raw const OWNER)) || owns_of_c(key)
}

fn owns_of_c(key: &KeyInfo) -> bool {
    if key.path != "jumplabel_fail_point" || !key.module.is_empty() {
        return false;
    }
    // SAFETY: only C's macro declares keys with this path and without a module. Such a key is the first member of a `struct jumplabel_fail_point_`:
    // the key has 8 bytes, and the address of an `OwnerOfC` follows.
    let owner = unsafe { *((key.key.address() + 8) as *const *const OwnerOfC) };
    // SAFETY: `owner` is the address that the macro has put there: that of a variable `jumplabel_fail_owner_`, which is never changed. Or it is null.
    unsafe { owner.as_ref() }.is_some_and(|owner| std::ptr::eq(owner.0, &raw const OWNER))
}
