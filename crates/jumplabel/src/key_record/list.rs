//! The chain of records in a program without sites.

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

// SAFETY: the pointers lead to statics, which every thread may read.
unsafe impl Sync for Record {}

impl Node<Record> {
    /// A node with the record of the keys in the static `key`.
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

/// A node that declares nothing. If it is in the chain, constructors have run.
#[cfg(not(target_family = "wasm"))]
mod first {
    use super::{Node, Record};
    use core::ptr::null;
    crate::__constructor!(Record, Node::of(Record { key: null(), declaration: null(), meta: None }));
}

/// Returns an error unless constructors have run. Without them, no chain has a node.
pub(crate) fn demand_constructors() -> Result<(), Error> {
    if FIRST.load(Ordering::Acquire).is_null() { Err(Error::NoRecords) } else { Ok(()) }
}

/// All records of this instance. An error if constructors have not run.
pub(crate) fn all() -> Result<impl Iterator<Item = Record>, Error> {
    demand_constructors()?;
    Ok(chain::records(&FIRST).copied().filter(|record| !record.declaration.is_null()))
}

/// A program whose constructors did not run gets an error, instead of an empty list of keys.
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
