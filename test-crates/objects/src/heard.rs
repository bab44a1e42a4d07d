//! Functions that hear of flips, in a process with several instances of the library: whose function hears of whose flip of whose key.

use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::{AskedBy, Changed, OnChange, on_change};

use crate::plugin::Plugin;
use crate::{OTHER, flip, load};

static HEARD: AtomicU32 = AtomicU32::new(0);

fn hear() -> OnChange {
    on_change(&|_: &Changed<'_>, by| {
        assert_eq!(by, AskedBy::Program);
        HEARD.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap()
}

fn heard() -> u32 {
    HEARD.swap(0, Ordering::Relaxed)
}

/// The program and the plugin flip a key of each: how many of these four flips each of them has heard of.
fn all_flips(plugin: &Plugin) -> (u32, u32) {
    (heard(), plugin.heard());
    for on in [true, false] {
        plugin.flip(on);
        plugin.flip_key(&OTHER[0], !on);
    }
    let both = (heard(), plugin.heard());
    flip(true);
    flip(false);
    assert_eq!((heard(), plugin.heard()), (both.0 / 2, both.1 / 2), "flips of the program's");
    both
}

pub fn case(name: &str) {
    if name == "heard_program_first" { program_first() } else { plugin_first() }
}

/// The program registers first. A plugin that is closed without having removed its function is unloaded all the same, and the function is
/// removed.
fn program_first() {
    let here = hear();
    for name in ["plugin", "second", "plugin"] {
        let plugin = load(name);
        assert_eq!(all_flips(&plugin), (4, 0));
        plugin.hear();
        assert_eq!(all_flips(&plugin), (4, 4));
        assert!(plugin.unload(), "the plugin stays loaded");
        flip(true);
        flip(false);
        assert_eq!(heard(), 2);
    }
    assert_eq!(here.remove(), 0);
    flip(true);
    assert_eq!(heard(), 0);
}

/// A plugin registers first: then it stays loaded, because its instance calls the functions of all. Its function is removed nevertheless.
fn plugin_first() {
    let plugin = load("plugin");
    plugin.hear();
    assert_eq!(all_flips(&plugin), (0, 4));
    let second = load("second");
    second.hear();
    assert_eq!((all_flips(&second), plugin.heard()), ((0, 4), 6));
    assert!(second.unload(), "the plugin stays loaded");
    let here = hear();
    assert_eq!(all_flips(&plugin), (4, 4));
    assert!(!plugin.unload(), "nobody is there to call functions");
    flip(true);
    assert_eq!((heard(), here.remove()), (1, 0));
    flip(false);
    assert_eq!(heard(), 0);
}
