//! The bytes by which the columns of UP mode differ, as they are in memory each time a backend was set.

use iced_x86::Mnemonic;
use serde_json::{Value, json};

use super::columns::{BACKENDS, Backend, COLUMNS, Load, UP};
use super::tables;
use crate::Result;
use crate::site::decode;

/// `ds`, and `lock`.
const OUT: u8 = 0x3e;
const IN: u8 = 0xf0;

/// Addresses of the `xadd` of the inlined loop, in each layout.
pub struct Prefixes(Vec<usize>);

impl Prefixes {
    pub fn find() -> Result<Prefixes> {
        let symbols = tables::symbols()?;
        let mut found = Vec::new();
        for run in COLUMNS[UP].loops(Load::Inlined).ok_or("no loop")? {
            let [size, _] = tables::bytes(&symbols, run as usize);
            let [at] = decode::find(run as usize, size, Mnemonic::Xadd)[..] else {
                return Err(format!("not one xadd in the loop at {run:?}").into());
            };
            found.push(at);
        }
        Ok(Prefixes(found))
    }

    fn bytes(&self) -> Vec<u8> {
        // SAFETY: code of this program.
        self.0.iter().map(|&at| unsafe { (at as *const u8).read_volatile() }).collect()
    }

    /// Stops if UP mode is not what the backend wants.
    pub fn check(&self, backend: Backend) -> Result<()> {
        let expected = if backend == Backend::Locked { IN } else { OUT };
        match self.bytes() {
            bytes if bytes.iter().all(|&byte| byte == expected) => Ok(()),
            bytes => Err(format!("{backend:?}: the prefixes are {bytes:02x?}, not {expected:#x}").into()),
        }
    }

    /// What they are under each backend.
    pub fn facts(&self) -> Result<Value> {
        let mut facts = json!({});
        for backend in BACKENDS {
            backend.set()?;
            facts[format!("{backend:?}")] = json!(self.bytes());
        }
        Ok(facts)
    }
}
