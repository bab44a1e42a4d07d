//! The pages that rustdoc makes of a crate that declares keys: they show the keys with their types, and nothing that the macros generate.

use std::collections::BTreeSet;
use std::path::Path;

use jumplabel_testing::cargo::{self, Build};

/// The declaration of each item on its page.
const ITEMS: [&str; 13] = [
    "#[repr(u8)]pub enum Mode { Fast = 0, Checked = 1, }",
    "pub fn work() -> bool",
    "pub static CALL: StaticCall<CALL>",
    "pub static MODE: StaticMode<MODE>",
    "pub static event: Tracepoint<event>",
    "pub static CONFIG: Config",
    "pub static COMPUTED: StaticKey<{ true }>",
    "pub static DEFERRED: DeferredKey<false>",
    "pub static NAKED: NakedKey<NAKED>",
    "pub static NEAR: StaticKey<true>",
    "pub static ONE: StaticKey<false>",
    "pub static SEVERAL: [StaticKey<true>; 8]",
    "pub struct Config { pub key: StaticKeyTrue, }",
];

/// Further text on the page of an item whose type does not say it.
const MORE: [(&str, &str); 3] = [
    ("static.CALL.html", "Leads to: fn(&[u8]) -> u64."),
    ("static.MODE.html", "One of: Mode."),
    ("static.event.html", "Of the group net. bytes: usize port: u16"),
];

/// The text of a page, without its marks.
fn text(page: &str) -> String {
    let visible = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text = visible.collect::<String>().replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The declaration on the page of an item.
fn declaration(page: &str) -> Option<String> {
    let (_, rest) = page.split_once("item-decl\">")?;
    Some(text(rest.split_once("</pre>")?.0))
}

fn visit(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            visit(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "html") {
            let page = std::fs::read_to_string(&entry).unwrap();
            let shown = text(&page);
            assert!(
                !shown.contains("__") && !shown.to_lowercase().contains("jumplabel_"),
                "{}: {shown}",
                entry.display()
            );
            found.extend(declaration(&page));
        }
    }
}

#[test]
fn documentation_of_a_crate_with_keys() {
    cargo::run(Build::of("documented").command("doc").args(["--quiet", "--no-deps"]));
    let pages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented/doc/documented");
    for (page, said) in MORE {
        let shown = text(&std::fs::read_to_string(pages.join(page)).unwrap());
        assert!(shown.contains(said), "{page}: {shown}");
    }
    let mut found = BTreeSet::new();
    visit(&pages, &mut found);
    assert_eq!(found, ITEMS.map(String::from).into());
}
