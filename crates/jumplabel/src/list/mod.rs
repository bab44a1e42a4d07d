//! Lists whose elements are made by macros inside functions. Examples are the callsites of a logging library and the points of a fault injector.
//!
//! ```text
//!   with sites       object ──► __jump_lists: Listed, Listed, ...      no work at start; the linker drops an element with its function (ELF)
//!   without          List ──► Node ──► Node ──► ...                    a constructor for each element
//! ```

mod declare;

use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::error::Error;
use crate::platform::list::Owned;
use crate::platform::platform;
use crate::sort::sort_unstable_by;
#[cfg(not(jumplabel_sites))]
use crate::{
    chain::{self, Node},
    key_record::demand_constructors,
};
#[cfg(jumplabel_sites)]
use crate::{
    format::{Listed, Object},
    patch::Lock,
    platform::instances::RUNTIME,
};

/// A list of statics that macros make inside functions. [`list!`](crate::list!) declares the list, and [`list_element!`](crate::list_element!) puts a
/// static on it. The elements can be in any loaded object that uses the same instance of this library, including objects that are loaded later.
///
/// For example, a library for assertions needs such a list. Its macro makes a static with a key at each place where a user calls the macro. Later,
/// the library must find all these statics:
///
/// ```
/// use jumplabel::{StaticKeyFalse, list, list_element, static_branch_unlikely};
///
/// pub struct Assertion { pub key: StaticKeyFalse, pub line: u32 }
///
/// list! { pub static ASSERTIONS: [Assertion]; }
///
/// macro_rules! maybe_assert {
///     ($what:expr) => {{
///         static ASSERTION: Assertion = Assertion { key: StaticKeyFalse::new(), line: line!() };
///         list_element!(ASSERTIONS, ASSERTION);
///         if static_branch_unlikely!(ASSERTION.key) { assert!($what); }
///     }};
/// }
///
/// fn halve(x: u32) -> u32 {
///     maybe_assert!(x % 2 == 0);
///     x / 2
/// }
///
/// assert_eq!(halve(3), 1);
/// let mut keys = Vec::new();
/// ASSERTIONS.for_each(|assertion| keys.push((assertion.key.raw(), true)))?;
/// jumplabel::set_all(keys)?;
/// assert!(std::panic::catch_unwind(|| halve(3)).is_err());
/// # Ok::<(), jumplabel::Error>(())
/// ```
///
/// An element costs 8 bytes of read-only data, and nothing at start-up: no relocation, no constructor. It adds no instruction. If the linker drops
/// the function, it also drops the element. (In a PE file, the element stays.) In the fallback, an element costs a node of data and a constructor.
#[derive(Debug)]
#[repr(C)]
pub struct List<T: 'static> {
    /// The function that [`List::on_change`] stores: an `fn(ObjectChange, &[&'static T])`, or null.
    hook: AtomicPtr<()>,
    pub(crate) names: Names,
    #[cfg(not(jumplabel_sites))]
    first: AtomicPtr<Node<Element>>,
    elements: PhantomData<&'static [T]>,
}

// SAFETY: all fields that change are atomic. A list hands out only shared references to statics of type `T`, which is `Sync`.
unsafe impl<T: Sync> Sync for List<T> {}

/// The two functions that [`List::names`] stores in a list. Null before that.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Names {
    pub(crate) each: AtomicPtr<()>,
    pub(crate) of: AtomicPtr<()>,
}

impl Names {
    pub(crate) const fn new() -> Names {
        Names { each: AtomicPtr::new(core::ptr::null_mut()), of: AtomicPtr::new(core::ptr::null_mut()) }
    }
}

/// What happens to an object that has elements of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectChange {
    /// The object was loaded. None of its code except constructors has run yet.
    Loaded,
    /// The object is about to be unloaded.
    Unloading,
}

impl<T: Sync + 'static> List<T> {
    /// Makes an empty list. Only for [`list!`](crate::list!).
    #[doc(hidden)]
    #[must_use]
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        List {
            hook: AtomicPtr::new(core::ptr::null_mut()),
            names: Names::new(),
            #[cfg(not(jumplabel_sites))]
            first: AtomicPtr::new(core::ptr::null_mut()),
            elements: PhantomData,
        }
    }

    /// Calls `visit` once for each element, in the order of addresses.
    ///
    /// Collects the elements under the lock, and visits them after it has released the lock. So `visit` can flip keys. Do not unload an object while
    /// its elements are visited, nor while you use anything that `visit` stored. Costs a look at the elements of all lists, and a sort. Allocates
    /// memory from the platform. Safe in signal handlers, if `visit` is safe there.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]. If the lock cannot be taken, the errors of [`RawKey::seal`](crate::RawKey::seal). In the fallback,
    /// [`Error::NoRecords`] if no constructors have run. After an error, nothing was visited.
    pub fn for_each(&'static self, visit: impl FnMut(&'static T)) -> Result<(), Error> {
        self.elements()?.list.iter().copied().for_each(visit);
        Ok(())
    }

    /// Registers `hook`, in place of the previous hook. From now on, `hook` is called each time an object with elements of this list is loaded, or is
    /// about to be unloaded. `hook` gets each of these elements once, in the order of addresses. `hook` is not called for objects that are already
    /// loaded: use [`for_each`](Self::for_each).
    ///
    /// The object's constructor or destructor calls `hook`, on the thread that calls `dlopen` or `dlclose`, while the dynamic loader holds its lock.
    /// The library's lock is not held, so `hook` can flip keys. If `hook` panics, the process aborts. `hook` is not called if there is no memory for
    /// the elements, nor in the fallback.
    pub fn on_change(&'static self, hook: fn(ObjectChange, &[&'static T])) {
        self.hook.store(hook as *mut (), Ordering::Release);
        #[cfg(jumplabel_sites)]
        TELL.store(tell_hooks as *mut (), Ordering::Release);
    }
}

#[cfg(jumplabel_sites)]
impl<T> List<T> {
    /// Returns all elements of the list, in the order of addresses, each once.
    fn elements(&'static self) -> Result<Owned<&'static T>, Error> {
        let lock = Lock::take()?;
        let listed = RUNTIME.objects().flat_map(|object| object.listed());
        // SAFETY: only `list_element!` makes these elements, and it accepts only statics of the list's type `T`. The lock keeps their objects loaded;
        // after that, the caller of `for_each` does.
        let found = unsafe { of_list(listed, core::ptr::from_ref(self) as usize) };
        drop(lock);
        found
    }
}

/// Returns the addresses of all lists that have elements, each once.
pub(crate) fn addresses() -> Result<Owned<usize>, Error> {
    #[allow(unused_mut, reason = "in the fallback nothing leads from an object to its lists")]
    let mut lists = Owned::<usize>::new(platform());
    #[cfg(jumplabel_sites)]
    {
        let lock = Lock::take()?;
        for listed in RUNTIME.objects().flat_map(|object| object.listed()) {
            lists.push(listed.list())?;
        }
        drop(lock);
        sort_unstable_by(lists.list.as_mut_slice(), |a, b| a < b);
        lists.list.retain(|list, kept| kept.last() != Some(list));
    }
    Ok(lists)
}

/// Collects `elements` in the order of addresses, each once.
///
/// # Safety
/// Each pointer leads to a `T` that is never moved or freed.
unsafe fn collect<T>(elements: impl Iterator<Item = *const T>) -> Result<Owned<&'static T>, Error> {
    let mut found = Owned::new(platform());
    for element in elements {
        // SAFETY: the caller says that each pointer leads to a `T` that is never moved or freed.
        found.push(unsafe { &*element })?;
    }
    let address = |element: &&'static T| core::ptr::from_ref(*element) as usize;
    sort_unstable_by(found.list.as_mut_slice(), |a, b| address(a) < address(b));
    found.list.retain(|element, kept| kept.last().is_none_or(|last| address(last) != address(element)));
    Ok(found)
}

/// Collects those of `listed` that are elements of the list at the address `list`.
///
/// # Safety
/// The elements of that list are `T`s, and are never moved or freed.
#[cfg(jumplabel_sites)]
unsafe fn of_list<'a, T>(listed: impl Iterator<Item = &'a Listed>, list: usize) -> Result<Owned<&'static T>, Error> {
    // SAFETY: the caller says that the elements of the list are `T`s, and are never moved or freed.
    unsafe { collect(listed.filter(|one| one.list() == list).map(|one| one.element() as *const T)) }
}

/// The address of [`tell_hooks`]. Null until a list gets a hook, so that a program without hooks does not link `tell_hooks`.
#[cfg(jumplabel_sites)]
static TELL: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());

/// Calls the hooks of all lists of which `object` has elements. The caller does not hold the lock.
#[cfg(jumplabel_sites)]
pub(crate) fn tell(object: &Object, change: ObjectChange) {
    let tell = TELL.load(Ordering::Acquire);
    if !tell.is_null() {
        // SAFETY: only `on_change` stores a function here: `tell_hooks`, which has this type.
        let tell: fn(&Object, ObjectChange) = unsafe { core::mem::transmute(tell) };
        tell(object, change);
    }
}

#[cfg(jumplabel_sites)]
fn tell_hooks(object: &Object, change: ObjectChange) {
    let mut last = 0;
    // Takes the lists in the order of their addresses, so that each comes once.
    while let Some(list) = object.listed().iter().map(Listed::list).filter(|&list| list > last).min() {
        last = list;
        // SAFETY: `list_element!` makes `Listed` lead to a list, whose object is loaded. `List` is `repr(C)`, so lists of all types have the hook
        // first.
        let hook = unsafe { &*(list as *const List<()>) }.hook.load(Ordering::Acquire);
        if hook.is_null() {
            continue;
        }
        // SAFETY: only `on_change` stores a hook: a function that differs from this type only in the type of the elements. References to all sized
        // types are passed in the same way.
        let hook: fn(ObjectChange, &[&'static ()]) = unsafe { core::mem::transmute(hook) };
        // SAFETY: the elements are statics, so they are never moved or freed. This function reads no element. The hook gets them with their own type.
        if let Ok(elements) = unsafe { of_list(object.listed().iter(), list) } {
            hook(change, &elements.list);
        }
    }
}

/// An element of a list, in a build without sites.
#[cfg(not(jumplabel_sites))]
#[doc(hidden)]
#[derive(Debug)]
pub struct Element {
    list: &'static List<()>,
    element: *const (),
}

// SAFETY: an `Element` is never changed. The pointer leads to a static of a type that is `Sync`.
#[cfg(not(jumplabel_sites))]
unsafe impl Sync for Element {}

#[cfg(not(jumplabel_sites))]
impl chain::Record for Element {
    fn first(&self) -> &AtomicPtr<Node<Element>> {
        &self.list.first
    }
}

#[cfg(not(jumplabel_sites))]
impl Node<Element> {
    /// Makes a node for `element`, an element of `list`.
    #[must_use]
    pub const fn element<T: Sync>(list: &'static List<T>, element: &'static T) -> Self {
        // SAFETY: `List` is `repr(C)`, and no field's layout depends on the type of the elements. So lists of all types have the same layout.
        let list = unsafe { &*core::ptr::from_ref(list).cast::<List<()>>() };
        Node::of(Element { list, element: core::ptr::from_ref(element).cast() })
    }
}

#[cfg(not(jumplabel_sites))]
impl<T> List<T> {
    /// Returns all elements of the list, in the order of addresses, each once.
    fn elements(&'static self) -> Result<Owned<&'static T>, Error> {
        demand_constructors()?;
        // SAFETY: `Node::element` puts only a static of type `T` on this list.
        unsafe { collect(chain::records(&self.first).map(|one| one.element.cast())) }
    }
}

/// Compiles only for a list and an element of the list's type.
#[doc(hidden)]
pub const fn demand<T: Sync>(_: *const List<T>, _: *const T) {}

/// Compiles only for statics that all threads share. Its parameters can have any type. If they had the types of [`demand`], the compiler would
/// dereference a static that holds a reference, to make it fit.
#[doc(hidden)]
pub const fn demand_statics<L, E>(_: &'static L, _: &'static E) {}
