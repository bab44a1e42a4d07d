//! What rustdoc shows of a crate that declares keys: the keys, with their types, and nothing of what the macros make.

use std::collections::BTreeSet;
use std::path::Path;

use jumplabel_testing::cargo::{self, Build};

/// Every item, as its page declares it.
const ITEMS: [&str; 9] = [
    "pub fn work() -> bool",
    "pub static CONFIG: Config",
    "pub static COMPUTED: StaticKey<{ true }>",
    "pub static DEFERRED: DeferredKey<false>",
    "pub static NAKED: NakedKey<NAKED>",
    "pub static NEAR: StaticKey<true>",
    "pub static ONE: StaticKey<false>",
    "pub static SEVERAL: [StaticKey<true>; 8]",
    "pub struct Config { pub key: StaticKeyTrue, }",
];

/// The text of a page, without its marks.
fn text(page: &str) -> String {
    let visible = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    let text = visible.collect::<String>().replace("&lt;", "<").replace("&gt;", ">");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the page of an item declares.
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
    let mut found = BTreeSet::new();
    visit(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("documented/doc/documented"), &mut found);
    assert_eq!(found, ITEMS.map(String::from).into());
}
