//! Records of keys: what they say, names, places without a declaration, what declarations add. With sites and without.

#[path = "records/meta.rs"]
mod meta;

use jumplabel::{
    DeferredKey, Error, KeyInfo, RawKey, StaticKey, find_key, for_each_key, naked_key, record_key,
    static_branch_unlikely, static_key,
};

use meta::{META, Meta};

fn all() -> Vec<KeyInfo> {
    let mut keys = Vec::new();
    for_each_key(|key| keys.push(key)).unwrap();
    keys
}

fn path(name: &str) -> String {
    format!("{}::{name}", module_path!())
}

fn is(found: &KeyInfo, key: &RawKey) -> bool {
    std::ptr::eq(found.key, key)
}

#[test]
fn what_a_record_says() {
    mod here {
        pub const LINE: u32 = line!() + 2; // The column is not 1.
        #[rustfmt::skip]
        mod keys {            jumplabel::static_key! { pub static PAIR: [true; 2]; }
        }
        pub use keys::PAIR;
    }
    let found: Vec<KeyInfo> = all().into_iter().filter(|key| key.name.ends_with("::PAIR")).collect();
    assert_eq!(found.len(), 2);
    for (number, key) in found.iter().enumerate() {
        assert!(is(key, &here::PAIR[number]) && key.element == Some(number as u32));
        assert_eq!((key.name, key.path), (&*path("here::keys::PAIR"), key.name));
        assert_eq!(key.module, path("here::keys"));
        assert!(key.file.ends_with("records.rs") && key.default && key.enabled && key.count == 1);
        assert_eq!((key.line, key.column), (here::LINE, 31));
        assert_eq!(key.to_string(), format!("{}[{number}]", key.name));
        let place = format!("{}[{number}]@{}:{}:31", key.name, key.file, key.line);
        assert_eq!(format!("{key:#}"), place);
        let shown = format!("{place}: StaticKey(on, count 1), {} sites", key.sites);
        assert_eq!(format!("{key:?}"), shown);
    }
}

/// Each key that is listed, by both names that it displays.
#[test]
fn what_is_displayed_is_found() {
    let keys = all();
    assert!(keys.len() > 20);
    let shown: Vec<String> = keys.iter().flat_map(|key| [key.to_string(), format!("{key:#}")]).collect();
    for (key, names) in keys.iter().zip(shown.chunks(2)) {
        for name in names {
            let count = shown.iter().filter(|other| *other == name).count();
            match find_key(name) {
                Ok(found) => assert!(is(&found, key.key) && count == 1, "{name}"),
                Err(error) => assert_eq!(error, Error::SeveralKeys { count }, "{name}"),
            }
        }
    }
}

#[test]
fn keys_by_their_paths() {
    mod here {
        jumplabel::static_key! {
            pub static ALONE: false;
            pub static SEVERAL: [true; 3];
            pub static ONE: [false; 1];
        }
    }
    let found = find_key(&path("here::ALONE")).unwrap();
    assert!(is(&found, &here::ALONE) && !found.default);
    let found = find_key(&path("here::SEVERAL[2]")).unwrap();
    assert!(is(&found, &here::SEVERAL[2]) && found.default);
    assert!(is(&find_key(&path("here::ONE[0]")).unwrap(), &here::ONE[0]));
    let file = found.file;
    let (line, column) = (found.line, found.column);
    let absent = [
        "".into(),
        "]".into(),
        "[".into(),
        "@".into(),
        "NOBODY".into(),
        "there::ALONE".into(),
        "here::ALONE[0]".into(),
        "here::ALONE@".into(),
        format!("here::ALONE@{file}"),
        format!("here::ALONE@{file}:{line}"),
        format!("here::ALONE@{file}:{line}:{}", column + 1),
        format!("here::ALONE@{file}:{}:{column}", line + 1),
        format!("here::ALONE@{file}:{line}:{column} "),
        format!("here::ALONE@other.rs:{line}:{column}"),
        "here::SEVERAL".into(),
        "here::ONE".into(),
        "here::SEVERAL[3]".into(),
        "here::SEVERAL[-1]".into(),
        "here::SEVERAL[+1]".into(),
        "here::SEVERAL[01]".into(),
        "here::SEVERAL[4294967296]".into(),
        "here::SEVERAL[]".into(),
        "here::SEVERAL[1]]".into(),
    ];
    for name in absent {
        assert_eq!(find_key(&path(&name)).unwrap_err(), Error::NoSuchKey, "{name}");
        assert_eq!(find_key(&name).unwrap_err(), Error::NoSuchKey, "{name}");
    }
}

/// A name that is given is the key's name. The path no longer finds the key, but lists still show it.
#[test]
fn names_that_are_given() {
    static_key! {
        /// The key's attribute is between others.
        #[allow(dead_code)]
        #[key(name = "net.trace")]
        #[cfg(all())]
        static TRACE: false;
        #[key(name = "net.hooks")]
        static HOOKS: [true; 2];
        #[key(name = concat!("net", ".", stringify!(late)))]
        static LATE: false, deferred std::time::Duration::from_millis(1);
        #[key(name = "ein Schlüssel@[0] mit Zeichen")]
        static ODD: false;
    }
    naked_key! {
        #[key(name = "net.route")]
        static ROUTE: true;
    }
    for (name, key, ident) in [
        ("net.trace", TRACE.raw(), "TRACE"),
        ("net.hooks[1]", HOOKS[1].raw(), "HOOKS"),
        ("net.late", LATE.raw(), "LATE"),
        ("ein Schlüssel@[0] mit Zeichen", ODD.raw(), "ODD"),
        ("net.route", ROUTE.raw(), "ROUTE"),
    ] {
        let found = find_key(name).unwrap();
        assert!(is(&found, key), "{name}");
        assert_eq!((found.path, found.module), (&*path(ident), module_path!()));
        assert_eq!(found.to_string(), name);
        assert_eq!(find_key(&path(ident)).unwrap_err(), Error::NoSuchKey);
        assert!(is(&find_key(&format!("{found:#}")).unwrap(), key));
    }
}

/// A user's macro makes six keys of one name, in functions: the place of the declaration tells them apart. Two keys that are made in one place need
/// names.
#[test]
fn keys_that_a_macro_makes() {
    macro_rules! hook {
        () => {{
            static_key! { static HOOK: false; }
            (line!(), column!(), HOOK.raw())
        }};
    }
    macro_rules! pair {
        ($first:literal, $second:literal) => {{
            let first = {
                static_key! { #[key(name = $first)] static NAMED: false; }
                NAMED.raw()
            };
            let second = {
                static_key! { #[key(name = $second)] static NAMED: false; }
                NAMED.raw()
            };
            [first, second]
        }};
    }
    macro_rules! twins {
        () => {{
            let first = {
                static_key! { static TWIN: false; }
                TWIN.raw()
            };
            let second = {
                static_key! { static TWIN: false; }
                TWIN.raw()
            };
            [first, second]
        }};
    }
    #[rustfmt::skip]
    let hooks = [hook!(), hook!(), hook!(), hook!(),
                 hook!(), hook!()];
    let name = path("HOOK");
    let error = find_key(&name).unwrap_err();
    assert_eq!(error, Error::SeveralKeys { count: 6 });
    assert!(error.to_string().contains("NAME@FILE:LINE:COLUMN") && error.to_string().contains("#[key(name"));
    for (line, column, key) in hooks {
        let found = find_key(&format!("{name}@{}:{line}:{column}", file!())).unwrap();
        assert!(is(&found, key) && found.name == name);
    }
    for (name, key) in ["one.name", "another.name"].into_iter().zip(pair!("one.name", "another.name")) {
        assert!(is(&find_key(name).unwrap(), key));
    }
    assert!(twins!().into_iter().all(|key| !key.is_enabled()));
    let twin = all().into_iter().find(|key| key.path == path("TWIN")).unwrap();
    assert_eq!(find_key(&path("TWIN")).unwrap_err(), Error::SeveralKeys { count: 2 });
    assert_eq!(find_key(&format!("{twin:#}")).unwrap_err(), Error::SeveralKeys { count: 2 });
}

struct Config {
    _pad: [u8; 24],
    trace: StaticKey<false>,
    hooks: [StaticKey<true>; 3],
    late: DeferredKey<true>,
}

static CONFIG: Config = Config {
    _pad: [0; 24],
    trace: StaticKey::new(),
    hooks: [const { StaticKey::new() }; 3],
    late: DeferredKey::new(std::time::Duration::from_secs(1)),
};
static TABLE: [(u64, StaticKey<false>); 5] = [const { (7, StaticKey::new()) }; 5];
static PLAIN: StaticKey<true> = StaticKey::new();
const THREE: usize = 3;

record_key! {
    CONFIG.trace;
    CONFIG.hooks;
    #[key(name = "config.late")]
    CONFIG.late, meta &META;
    TABLE[THREE + 1].1;
    PLAIN;
}

mod elsewhere {
    jumplabel::record_key! { crate::CONFIG.hooks[2]; }
}

/// Places that are not declared by `static_key!`.
#[test]
fn places() {
    mod inner {
        pub fn nothing() {
            jumplabel::record_key! {}
        }
    }
    inner::nothing();
    for (name, key) in [
        ("CONFIG.trace", CONFIG.trace.raw()),
        ("CONFIG.hooks[0]", CONFIG.hooks[0].raw()),
        ("CONFIG.hooks[2]", CONFIG.hooks[2].raw()),
        ("TABLE[THREE+1].1", TABLE[4].1.raw()),
        ("PLAIN", PLAIN.raw()),
        ("elsewhere::crate::CONFIG.hooks[2]", CONFIG.hooks[2].raw()),
    ] {
        let found = find_key(&path(name)).unwrap();
        assert!(is(&found, key), "{name}");
        assert_eq!(found.default, key.default_state(), "{name}");
        assert_eq!(found.module, if name.starts_with("else") { path("elsewhere") } else { module_path!().into() });
    }
    let late = find_key("config.late").unwrap();
    assert!(is(&late, &CONFIG.late) && late.path == path("CONFIG.late") && late.meta::<Meta>().is_some());
    // The way that an operator goes: from the name to the check.
    assert!(!static_branch_unlikely!(CONFIG.trace));
    find_key(&path("CONFIG.trace")).unwrap().key.enable().unwrap();
    assert!(static_branch_unlikely!(CONFIG.trace));
}
