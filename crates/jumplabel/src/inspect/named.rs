//! Finds the keys of elements of lists, under the names that the lists give them.
//!
//! ```text
//!   for_each_key     under the lock: records ──► keys; __jump_lists ──► lists that give names
//!                    without it: each element of these ──► the function of the list ──► key, name, place
//!                    under the lock: how many sites each has
//! ```
//!
//! Such a key has a name without a record. A record would take 40 bytes and its texts. Here the list's function makes the name from data that the
//! element has anyway, such as a line.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::key::named::NamedKey;
use crate::list::{self, List};

type Each = fn(&'static List<()>, &mut dyn FnMut(NamedKey)) -> Result<(), Error>;

/// The address of [`each_of_all`]; null until a list gives names. A program whose lists give no names does not link that function.
static EACH_OF_ALL: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

impl<T: Sync + 'static> List<T> {
    /// Gives names to the keys of this list's elements. After that, [`for_each_key`](crate::for_each_key), [`find_key`](crate::find_key) and
    /// agents list and find these keys as if each had a record. `of` returns the key of an element and its name. A second call replaces the
    /// first function.
    ///
    /// ```
    /// use jumplabel::{NamedKey, StaticKeyFalse, list, list_element, static_branch_unlikely};
    ///
    /// pub struct Assertion { key: StaticKeyFalse, line: u32, module: &'static str }
    ///
    /// list! { pub static ASSERTIONS: [Assertion]; }
    ///
    /// fn halve(x: u32) -> u32 {
    ///     static ASSERTION: Assertion = Assertion { key: StaticKeyFalse::new(), line: line!(), module: module_path!() };
    ///     list_element!(ASSERTIONS, ASSERTION);
    ///     if static_branch_unlikely!(ASSERTION.key) { assert!(x % 2 == 0); }
    ///     x / 2
    /// }
    ///
    /// ASSERTIONS.names(|one| NamedKey::new(&one.key, one.module, file!(), one.line, 1));
    /// # assert_eq!(halve(4), 2);
    /// # if jumplabel::find_key(module_path!()).is_ok() { // not in the fallback
    /// jumplabel::find_key(module_path!())?.key.enable()?;
    /// assert!(std::panic::catch_unwind(|| halve(3)).is_err());
    /// # }
    /// # Ok::<(), jumplabel::Error>(())
    /// ```
    ///
    /// Costs nothing for each key except the data in its element. `of` runs without the library's lock. A tool that reads the file, and not the
    /// process, does not see these keys. Does nothing in the fallback.
    pub fn names(&'static self, of: fn(&'static T) -> NamedKey) {
        self.names.of.store(of as *mut (), Ordering::Release);
        let each: Each = each::<T>;
        self.names.each.store(each as *mut (), Ordering::Release);
        EACH_OF_ALL.store(each_of_all as fn(_) -> _ as *mut (), Ordering::Release);
    }
}

fn each<T: Sync + 'static>(list: &'static List<()>, visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    // SAFETY: `names` has stored this function only in lists of this type. The layout of a list does not depend on the type.
    let list = unsafe { &*core::ptr::from_ref(list).cast::<List<T>>() };
    // SAFETY: `names` has stored a function of this type in `of`, before it stored the function that is running.
    let of: fn(&'static T) -> NamedKey = unsafe { core::mem::transmute(list.names.of.load(Ordering::Acquire)) };
    list.for_each(|element| visit(of(element)))
}

/// Visits the keys to which lists give names. The caller does not hold the lock.
pub(crate) fn each_named(visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    let each = EACH_OF_ALL.load(Ordering::Acquire);
    if each.is_null() {
        return Ok(());
    }
    // SAFETY: `names` has stored this function, which has that type.
    let each: fn(&mut dyn FnMut(NamedKey)) -> Result<(), Error> = unsafe { core::mem::transmute(each) };
    each(visit)
}

fn each_of_all(visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    for &list in list::addresses()?.list.iter() {
        // SAFETY: `list_element!` leads to a list, and lists of all types begin with these fields.
        let list = unsafe { &*(list as *const List<()>) };
        let each = list.names.each.load(Ordering::Acquire);
        if !each.is_null() {
            // SAFETY: `names` has stored a function of this type.
            let each: Each = unsafe { core::mem::transmute(each) };
            each(list, visit)?;
        }
    }
    Ok(())
}
