//! The data that declarations add to a record, with their type.

use std::sync::atomic::{AtomicU32, Ordering};

use jumplabel::{find_key, naked_key, static_key};

use super::{all, is};

fn path(name: &str) -> String {
    format!("{}::{name}", module_path!())
}

#[derive(Debug, PartialEq)]
#[repr(align(32))]
pub struct Meta {
    group: &'static str,
    pub number: u64,
}
pub static META: Meta = Meta { group: "config", number: 42 };

/// A declaration finds the data that it adds, with their type and no other.
#[test]
fn meta() {
    /// The same bytes as `Meta`, as another type.
    #[repr(align(32))]
    struct Same {
        _group: &'static str,
        _number: u64,
    }
    static_key! {
        static SINGLE: false, meta &META;
        static ARRAY: [true; 2], meta &Text("a text");
        static LATER: false, deferred std::time::Duration::from_secs(1), meta &crate::meta::META.number;
        static COUNTED: false, meta &USES;
        static NONE: false;
    }
    naked_key! { static NAKED: false, meta &crate::meta::META; }
    let found = |name: &str| find_key(&path(name)).unwrap();

    let single = found("SINGLE");
    assert!(is(&single, &SINGLE) && single.meta::<Meta>().is_some_and(|meta| std::ptr::eq(meta, &META)));
    assert!(single.meta::<Same>().is_none() && single.meta::<u64>().is_none() && single.meta::<()>().is_none());
    assert!(single.meta::<&'static Meta>().is_none());
    assert_eq!(std::mem::size_of::<Same>(), std::mem::size_of::<Meta>());
    for element in ["ARRAY[0]", "ARRAY[1]"] {
        assert_eq!(found(element).meta::<Text>(), Some(&Text("a text")));
    }
    assert!(ARRAY[0].is_enabled());
    assert_eq!(found("LATER").meta(), Some(&42_u64));
    assert_eq!(found("LATER").meta::<i64>(), None);
    found("COUNTED").meta::<AtomicU32>().unwrap().fetch_add(3, Ordering::Relaxed);
    assert_eq!(USES.load(Ordering::Relaxed), 3);
    assert_eq!(found("NAKED").meta::<Meta>(), Some(&META));
    let plain = all().into_iter().find(|key| is(key, &NONE)).unwrap();
    assert!(plain.meta::<Meta>().is_none() && plain.meta::<()>().is_none());
    let _ = (&LATER, &COUNTED, &NAKED);
}
#[derive(Debug, PartialEq)]
struct Text(&'static str);
static USES: AtomicU32 = AtomicU32::new(0);

/// Keys in a crate that forbids unsafe code.
#[forbid(unsafe_code)]
mod safe {
    use jumplabel::StaticKey;
    jumplabel::static_key! {
        #[key(name = "safe")]
        pub static SAFE: false, meta &crate::meta::META;
    }
    pub static FIELD: (StaticKey<false>,) = (StaticKey::new(),);
    jumplabel::record_key! { #[key(name = "safe.field")] FIELD.0; }
}

#[test]
fn in_safe_code() {
    assert!(is(&find_key("safe").unwrap(), &safe::SAFE) && is(&find_key("safe.field").unwrap(), &safe::FIELD.0));
}

/// A key that works where nothing may be patched has a record like any other.
#[test]
fn keys_that_load() {
    jumplabel::static_key! {
        #[key(name = "loads.one")]
        static ONE: false, or_load, meta &7_u32;
        #[key(name = "loads.all")]
        static ALL: [true; 3], or_load, meta &7_u32;
    }
    for (name, key) in [("loads.one", ONE.raw()), ("loads.all[2]", ALL[2].raw())] {
        let found = find_key(name).unwrap();
        assert!(is(&found, key) && found.meta::<u32>() == Some(&7));
    }
}
