//! Whether the program and a plugin have one lock.

use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::{Error, static_branch_likely};

use crate::plugin::Plugin;
use crate::{OTHER, PROGRAM, check, flip, spy};

/// Flips that change nothing they should not: called by a plugin that holds its lock.
extern "C" fn flip_inside() -> i32 {
    match PROGRAM.enable() {
        Ok(_) => 0,
        Err(Error::Reentrant) => 1,
        Err(_) => 2,
    }
}

/// The other way round.
extern "C" fn flip_plugin_inside() -> i32 {
    // SAFETY: the function of a plugin that is loaded.
    let flip: extern "C" fn(bool) -> i32 = unsafe { std::mem::transmute(FLIP_PLUGIN.load(Ordering::Relaxed)) };
    flip(true)
}

static FLIP_PLUGIN: AtomicUsize = AtomicUsize::new(0);
const REENTRANT: i32 = 1;

/// Whether the program and the plugin have one lock: each is refused while the other holds it.
pub fn one_lock(plugin: &Plugin) {
    flip(false);
    assert_eq!(plugin.locked(flip_inside), REENTRANT, "the plugin's lock does not keep the program out");
    assert!(!check());
    FLIP_PLUGIN.store(plugin.flip_function() as usize, Ordering::Relaxed);
    assert_eq!(
        spy::locked(&OTHER[2], flip_plugin_inside),
        REENTRANT,
        "the program's lock does not keep the plugin out"
    );
    assert!(static_branch_likely!(OTHER[2]));
}
