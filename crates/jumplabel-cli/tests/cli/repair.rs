//! `check --repair` of a process that has an agent: it brings back its own sites.

use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::programs::{prints, program};
use crate::server::Server;

/// The places in the process of the sites of a key.
fn sites(server: &Server, key: &str) -> Vec<u64> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).unwrap();
    let base = number(maps.split('-').next().unwrap());
    let listed = prints("sites", program(), &[key]);
    listed.lines().skip(1).map(|line| base + number(line.split_whitespace().next().unwrap())).collect()
}

#[test]
fn by_the_agent() {
    let server = Server::start("repair", "name=web");
    assert_eq!(server.prints(&["check", "@web", "--repair"]), "0 sites repaired\n");
    server.prints(&["set", "@web", "net.trace=on", "operated::MODE=2"]);
    let memory = Path::new("/proc").join(server.pid()).join("mem");
    let memory = std::fs::OpenOptions::new().read(true).write(true).open(memory).unwrap();
    let places = sites(&server, "net.trace");
    assert_eq!(places.len(), 2);
    let read = |place| {
        let mut bytes = [0; 5];
        memory.read_exact_at(&mut bytes, place).unwrap();
        bytes
    };
    let jumps: Vec<_> = places.iter().map(|place| read(*place)).collect();
    for all in [false, true] {
        // Its threads sleep, and none is in a site.
        places.iter().for_each(|place| memory.write_all_at(&[0x0f, 0x1f, 0x44, 0, 0], *place).unwrap());
        assert_eq!(server.tool(&["check", "@web"]).0, 4);
        let selected: &[&str] = if all { &[] } else { &["net.trace=on"] };
        assert_eq!(server.prints(&[&["check", "@web", "--repair"], selected].concat()), "2 sites repaired\n");
        assert_eq!(places.iter().map(|place| read(*place)).collect::<Vec<_>>(), jumps);
        assert_eq!(server.prints(&["check", &server.pid()]), "");
    }
    // A change to what the key is already finds them, too, and says so.
    places.iter().for_each(|place| memory.write_all_at(&[0x0f, 0x1f, 0x44, 0, 0], *place).unwrap());
    let told = server.prints(&["set", "@web", "net.trace=on"]);
    assert!(told.contains("2 sites did something else") && told.contains("nothing to change"), "{told}");
    assert_eq!(server.prints(&["check", "@web"]), "");
    // Bytes of nobody's stay, and are an error.
    memory.write_all_at(&[0xcc], places[0]).unwrap();
    server.refuses(&["check", "@web", "--repair"], 4, "uprobe or a breakpoint");
    assert_eq!(read(places[0])[0], 0xcc);
    memory.write_all_at(&jumps[0], places[0]).unwrap();
    assert_eq!(server.prints(&["check", "@web", "--repair"]), "0 sites repaired\n");
}

/// Every second, without being asked.
#[test]
fn by_itself() {
    let server = Server::start("repair-itself", "name=web,verify=1");
    server.prints(&["set", "@web", "net.trace=on"]);
    let memory = Path::new("/proc").join(server.pid()).join("mem");
    let memory = std::fs::OpenOptions::new().write(true).open(memory).unwrap();
    for place in sites(&server, "net.trace") {
        memory.write_all_at(&[0x0f, 0x1f, 0x44, 0, 0], place).unwrap();
    }
    while server.tool(&["check", "@web"]).0 != 0 {
        std::thread::yield_now();
    }
}
