//! Static calls as subjects: a change is the address of the new target, or 0 for the default, and so is an aim.

use super::Subject;
use crate::call::raw::RawCall;
use crate::error::Error;
use crate::format::Entry;
use crate::site::object;
use crate::text::{Held, Objects};

impl Subject for RawCall {
    fn address(&self) -> usize {
        self.address()
    }

    fn begin(&self, change: usize) -> Result<Option<usize>, Error> {
        match change {
            same if same == self.target() => Ok(None),
            _ if self.is_sealed() => Err(Error::Sealed),
            other => Ok(Some(other)),
        }
    }

    fn check(&self, aim: usize, held: &Held<Objects>) -> Result<(), Error> {
        match RawCall::function(aim) {
            0 => Ok(()),
            address if object::is_code(address, held) => Ok(()),
            address => Err(Error::NotCode { address }),
        }
    }

    fn aim(&self) -> usize {
        self.target()
    }

    fn goal(&self, aim: usize, entry: &Entry) -> usize {
        if aim != 0 {
            return aim;
        }
        self.set_default(entry.target());
        entry.target()
    }

    fn expose(&self, aim: usize) {
        self.expose(aim);
    }

    fn publish(&self, _change: usize, aim: Option<usize>) {
        if let Some(target) = aim {
            self.publish(target);
        }
    }

    fn abandon(&self) {
        self.expose(self.target());
    }

    fn is_eventual(&self) -> bool {
        self.is_eventual()
    }

    fn set_eventual(&self, eventual: bool) {
        self.set_eventual(eventual);
    }
}
