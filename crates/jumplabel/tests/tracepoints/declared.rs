//! The things that a declaration makes: a name in a list, one site, any arguments.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jumplabel::emit;

mod net {
    #[derive(Clone, Copy)]
    pub struct Port(pub u16);
    struct Hidden;

    jumplabel::tracepoint! {
        /// A packet came.
        pub net, packet(len: usize, port: Port);
        #[cfg(any())]
        pub net, absent(nothing: NoSuchType);
        net, hidden(it: &Hidden);
        pub(super) net, wide(a: u8, b: u16, c: u32, d: u64, e: u128, f: f32, g: f64, h: [u64; 9], i: &[u8], j: &str, k: fn(u8) -> u8,);
    }

    pub fn hide() {
        jumplabel::emit!(hidden, &Hidden);
    }
}

/// Off, a tracepoint is one site, which falls through; it is listed by its name.
#[test]
#[cfg_attr(target_family = "wasm", ignore = "without constructors nothing is listed")]
fn one_site_and_listed() {
    #[inline(never)]
    fn receive(len: usize) {
        emit!(net::packet, len, net::Port(80));
    }
    receive(1);
    net::hide();
    let mut sites = Vec::new();
    jumplabel::for_each_site(net::packet.key(), |site| sites.push(site)).unwrap();
    if cfg!(jumplabel_sites) {
        assert_eq!(sites.len(), 1);
        assert!(!sites[0].arm && !sites[0].naked);
        #[cfg(target_arch = "x86_64")]
        assert_eq!(*sites[0].bytes, [0x0f, 0x1f, 0x44, 0, 0]);
    }
    let line = || {
        let mut found = Vec::new();
        jumplabel::for_each_tracepoint(|point| {
            if std::ptr::eq(point.key.key, net::packet.key()) {
                found.push(format!("{point}"));
            }
        })
        .unwrap();
        found
    };
    assert_eq!(line(), ["net:packet, 0 probes"]);
    let probe = net::packet.add(|len, port| assert_eq!((len, port.0), (1, 80))).unwrap();
    receive(1);
    assert_eq!(line(), ["net:packet, 1 probe"]);
    let key = jumplabel::find_key("net:packet").unwrap();
    assert_eq!((key.path, key.enabled), (concat!(module_path!(), "::net::packet.key"), true));
    assert_eq!((key.module, key.file, key.sites), (concat!(module_path!(), "::net"), file!(), sites.len()));
    drop(probe);
    assert!(!jumplabel::find_key("net:packet").unwrap().enabled);
    assert!(!jumplabel::find_key("net:hidden").unwrap().enabled);
    // Other keys are none.
    jumplabel::static_key! { static KEY: false; }
    let mut keys = Vec::new();
    jumplabel::for_each_key(|key| keys.push(key)).unwrap();
    let key = keys.iter().find(|key| std::ptr::eq(key.key, KEY.raw())).unwrap();
    assert!(jumplabel::TracepointInfo::of(*key).is_none());
}

/// Arguments arrive, in registers and in memory, straight and through the list.
#[test]
fn arguments() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    #[allow(clippy::too_many_arguments)]
    fn check(a: u8, b: u16, c: u32, d: u64, e: u128, f: f32, g: f64, h: [u64; 9], i: &[u8], j: &str, k: fn(u8) -> u8) {
        assert_eq!((a, b, c, d, e, f, g), (1, 2, 3, 4, 5, 6.0, 7.0));
        assert_eq!((h, i, j, k(9)), ([8; 9], &[9, 10][..], "eleven", 9));
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
    let emit = || emit!(net::wide, 1, 2, 3, 4, 5, 6.0, 7.0, [8; 9], &[9, 10], "eleven", |x| x);
    let _first = net::wide.add(check).unwrap();
    emit();
    let _second = net::wide.add_closure(Arc::new(check)).unwrap();
    emit();
    assert_eq!(CALLS.load(Ordering::Relaxed), 3);
}
