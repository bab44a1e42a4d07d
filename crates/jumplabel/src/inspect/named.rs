//! Finds the keys in elements of lists ([`List`]), and the names that the lists give them.
//!
//! ```text
//!   for_each_key     under the lock      finds the lists that have elements, in __jump_lists
//!                    without the lock    passes each element to the function of its list, which returns key, name and place
//!                    under the lock      finds the records of keys, and counts the sites of all these keys
//! ```
//!
//! These keys have names without records. A record would cost 40 bytes and its texts. The list's function makes the name from data that the element
//! has anyway, such as a line number.

use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::key::named::NamedKey;
use crate::list::{self, List};

type Each = fn(&'static List<()>, &mut dyn FnMut(NamedKey)) -> Result<(), Error>;

/// The address of [`each_of_all`]; null until a list gives names. So a program whose lists give no names does not contain that function.
static EACH_OF_ALL: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

impl<T: Sync + 'static> List<T> {
    /// Gives names to the keys in this list's elements. From then on, [`for_each_key`](crate::for_each_key), [`find_key`](crate::find_key) and agents
    /// list and find these keys as if each had a record. `of` returns the key of an element and the key's name. A second call replaces the function
    /// of the first.
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
    /// Costs nothing for each key except the data in its element. The library does not hold its lock while `of` runs. A tool that reads the program's
    /// file does not see these keys; only one that asks the process does. Does nothing in the fallback.
    pub fn names(&'static self, of: fn(&'static T) -> NamedKey) {
        self.names.of.store(of as *mut (), Ordering::Release);
        let each: Each = each::<T>;
        self.names.each.store(each as *mut (), Ordering::Release);
        EACH_OF_ALL.store(each_of_all as fn(_) -> _ as *mut (), Ordering::Release);
    }
}

fn each<T: Sync + 'static>(list: &'static List<()>, visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    // SAFETY: `names` has stored `each::<T>` only in a `List<T>`, and lists of all types have the same layout.
    let list = unsafe { &*core::ptr::from_ref(list).cast::<List<T>>() };
    // SAFETY: `of` holds an `fn(&'static T) -> NamedKey`: `names` stored it before it stored the function that runs here.
    let of: fn(&'static T) -> NamedKey = unsafe { core::mem::transmute(list.names.of.load(Ordering::Acquire)) };
    list.for_each(|element| visit(of(element)))
}

/// Visits the keys to which lists give names. The caller must not hold the lock, because this function takes it.
pub(crate) fn each_named(visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    let each = EACH_OF_ALL.load(Ordering::Acquire);
    if each.is_null() {
        return Ok(());
    }
    // SAFETY: the pointer is not null, so `names` has stored `each_of_all`, which has this type.
    let each: fn(&mut dyn FnMut(NamedKey)) -> Result<(), Error> = unsafe { core::mem::transmute(each) };
    each(visit)
}

fn each_of_all(visit: &mut dyn FnMut(NamedKey)) -> Result<(), Error> {
    for &list in list::addresses()?.list.iter() {
        // SAFETY: the address comes from `list_element!`, which takes it from a `List`. The code below uses only fields that lists of all types have
        // at the same place.
        let list = unsafe { &*(list as *const List<()>) };
        let each = list.names.each.load(Ordering::Acquire);
        if !each.is_null() {
            // SAFETY: the pointer is not null, so `names` has stored an `Each` there.
            let each: Each = unsafe { core::mem::transmute(each) };
            each(list, visit)?;
        }
    }
    Ok(())
}
