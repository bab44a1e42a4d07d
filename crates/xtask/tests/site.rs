//! Tests the site of the documentation: each page in Chromium, at the widths of a phone and of a desktop screen, dark and light. `make site-check`, a
//! part of `make release-check`, runs it.
#![cfg(target_os = "linux")]

#[path = "site/browser.rs"]
mod browser;
#[path = "site/server.rs"]
mod server;

use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{Browser, CHROMIUM};
use jumplabel_testing::breadth::has;
use server::{Page, Server};

/// Widths in CSS pixels: of a phone and of a desktop screen.
const WIDTHS: [u32; 2] = [390, 1280];
/// A light theme, and the dark one that a reader gets whose browser prefers dark pages.
const THEMES: [&str; 2] = ["light", "navy"];

/// Pages that are broken on purpose: a name, the text that is inserted into a page (`LONG` is replaced by a long line), and a part of the message
/// about it. The first page is not broken: code may scroll.
const TWINS: [(&str, &str, &str); 8] = [
    ("whole", "<pre><code>LONG</code></pre>", ""),
    ("wide", "<pre style='overflow: visible'><code style='overflow: visible'>LONG</code></pre>", "scrolls sideways"),
    (
        "hidden",
        "<p style='overflow: hidden; white-space: nowrap; width: 9em'>what is too long is cut off, and nobody can read it</p>",
        "is cut",
    ),
    (
        "low",
        "<p style='overflow: hidden; height: 1.2em; width: 9em'>what is too high is cut off, and nobody can read it</p>",
        "is cut",
    ),
    ("outside", "<p style='position: fixed; left: 95vw; width: 20em'>this is beside the page</p>", "is outside"),
    (
        "small",
        "<svg viewBox='0 0 2000 100'><text y='50' font-size='11'>a chart that is shrunk</text></svg>",
        "is small",
    ),
    ("pale", "<p style='color: #888; background: #999'>grey on grey</p>", "is hard to read"),
    (
        "scroller",
        "<div style='overflow: auto'><p style='width: 2000px'>text in a box that is none of those which may scroll</p></div>",
        "scrolls sideways",
    ),
];

/// What a newcomer types to get an answer, and the page that has it: that must be one of the first five that the search finds.
const QUESTIONS: [(&str, &str); 10] = [
    ("install debian", "install.html"),
    ("why flip fail", "operating.html"),
    ("cost of a check", "overview.html"),
    ("cmake", "c.html"),
    ("change key of a running process", "operating.html"),
    ("tracing callsites", "tracing.html"),
    ("seccomp", "operating.html"),
    ("new instruction set", "porting.html"),
    ("fail points", "fail.html"),
    ("uprobe", "safety.html"),
];
/// Words that some page must have: each is in the result of a search.
const SOMEWHERE: [&str; 2] = ["membarrier", "jumplabel_prepare_key"];
/// Words that no page has.
const NOWHERE: &str = "caffelatte";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages below a folder. Rustdoc's are left out, and so is toc.html, the list of pages for browsers without scripts.
fn pages(site: &Path, folder: &Path) -> Vec<String> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(site).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "api" {
            pages.extend(self::pages(site, &path));
        } else if name.ends_with(".html") && name != "toc.html" {
            pages.push(name);
        }
    }
    pages.sort();
    pages
}

/// `make site` must succeed, and its pages must be readable: nothing is cut off or outside the page, only code, tables and charts scroll sideways,
/// and text has enough contrast. The search must find words that are there, and no others.
#[test]
#[ignore = "minutes, and Chromium: make release-check"]
fn each_page_can_be_read() {
    if !has(CHROMIUM) {
        return;
    }
    let made = Command::new("make").arg("site").current_dir(root()).env_remove("MAKEFLAGS").output().unwrap();
    let said = String::from_utf8_lossy(&made.stdout) + String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{said}");
    println!("{said}");

    let site = root().join("target/site");
    let all = pages(&site, &site);
    assert!(all.len() > 60, "{all:?}");
    let page = std::fs::read_to_string(site.join("security.html")).unwrap();
    let twins = TWINS.map(|(name, text, _)| Page {
        name: format!("twin-{name}.html"),
        text: page.replacen("</main>", &format!("{}</main>", text.replace("LONG", &"a long line ".repeat(30))), 1),
    });
    let twin_names: Vec<_> = twins.iter().map(|twin| twin.name.clone()).collect();

    let server = Server::start(&site, twins.into());
    let searches: Vec<_> =
        QUESTIONS.iter().map(|&(words, _)| words).chain(SOMEWHERE).chain([NOWHERE]).map(str::to_owned).collect();
    let browser = Browser::start(&server.look(&[all.clone(), twin_names].concat(), &WIDTHS, &THEMES, &searches));
    let seen = server.result(&browser);
    println!("{}", seen.lines().next().unwrap_or_default());

    let looks = (all.len() + TWINS.len()) * WIDTHS.len() * THEMES.len();
    assert!(seen.starts_with(&format!("{looks} looks\n")), "{seen}");
    let problems: Vec<_> = seen.lines().skip(1).collect();
    let of_pages: Vec<_> =
        problems.iter().filter(|line| !line.starts_with("twin-") && !line.starts_with("search ")).collect();
    assert!(of_pages.is_empty(), "{} problems:\n{of_pages:#?}", of_pages.len());
    for (name, _, problem) in TWINS {
        let of_twin: Vec<_> = problems.iter().filter(|line| line.starts_with(&format!("twin-{name}.html"))).collect();
        let is_found =
            if problem.is_empty() { of_twin.is_empty() } else { of_twin.iter().any(|line| line.contains(problem)) };
        assert!(is_found, "{name}: {of_twin:#?}");
    }
    for width in WIDTHS {
        let found = |words: &str| -> Vec<_> {
            let begin = format!("search {words} at {width}: ");
            problems.iter().filter_map(|line| line.strip_prefix(&begin)).flat_map(|pages| pages.split(' ')).collect()
        };
        for (words, page) in QUESTIONS {
            assert!(all.iter().any(|one| one == page) && found(words).contains(&page), "{words}: {:?}", found(words));
        }
        for word in SOMEWHERE {
            let is_page = |page: &&str| all.iter().any(|one| one == page);
            assert!(found(word).first().is_some_and(is_page), "{word}: {:?}", found(word));
        }
        assert_eq!(found(NOWHERE), ["nothing"], "at {width}");
    }
}
