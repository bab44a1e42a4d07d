//! The chain of key records in a program without sites.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::{Declaration, MetaFn, Record};
use crate::chain::{self, Node};
use crate::error::Error;

impl chain::Record for Record {
    fn first(&self) -> &AtomicPtr<Node<Record>> {
        &FIRST
    }
}

// SAFETY: a record is never changed. Its pointers lead to statics, which every thread may read.
unsafe impl Sync for Record {}

impl Node<Record> {
    /// Makes a node with the record of the keys that are in the static `key`.
    #[must_use]
    pub const fn new<S, const TEXT: usize>(
        key: &'static S,
        declaration: &'static Declaration<TEXT>,
        meta: &[MetaFn],
    ) -> Self {
        let meta = if let &[meta] = meta { Some(meta) } else { None };
        Node::of(Record {
            key: core::ptr::from_ref(key).cast(),
            declaration: core::ptr::from_ref(declaration).cast(),
            meta,
        })
    }
}

static FIRST: AtomicPtr<Node<Record>> = AtomicPtr::new(null_mut());

/// A node that declares nothing. Its constructor puts it into the chain; so if constructors have run, the chain is not empty.
#[cfg(not(target_family = "wasm"))]
mod first {
    use super::{Node, Record};
    use core::ptr::null;
    crate::__constructor!(Record, Node::of(Record { key: null(), declaration: null(), meta: None }));
}

/// Returns an error unless constructors have run: only constructors put nodes into the chain.
pub(crate) fn demand_constructors() -> Result<(), Error> {
    if FIRST.load(Ordering::Acquire).is_null() { Err(Error::NoRecords) } else { Ok(()) }
}

/// Returns all records of this instance of the library, or an error if constructors have not run.
pub(crate) fn all() -> Result<impl Iterator<Item = Record>, Error> {
    demand_constructors()?;
    Ok(chain::records(&FIRST).copied().filter(|record| !record.declaration.is_null()))
}

/// If constructors have not run, a program that lists keys gets an error, and not an empty list.
#[test]
#[cfg(not(target_family = "wasm"))]
fn without_constructors() {
    use core::ptr::null;

    static EMPTY: Node<Record> = Node::of(Record { key: null(), declaration: null(), meta: None });
    assert!(all().is_ok());
    let first = FIRST.swap(null_mut(), Ordering::AcqRel);
    assert_eq!(all().err(), Some(Error::NoRecords));
    EMPTY.link();
    EMPTY.link();
    assert_eq!(all().unwrap().count(), 0);
    FIRST.store(first, Ordering::Release);
}
