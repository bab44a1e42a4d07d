//! Says what a dependency's fail point does, and how many points have keys.

use fail::FailScenario;

fn main() {
    let scenario = FailScenario::setup();
    let saved = dependency::save();
    let mut keys = Vec::new();
    jumplabel::for_each_key(|key| {
        if key.name.starts_with("fail:dependency") {
            keys.push(format!("{} {}", key.name, if key.enabled { "on" } else { "off" }));
        }
    })
    .unwrap();
    keys.sort();
    scenario.teardown();
    println!("{} {saved:?} {keys:?} {:?}", fail::has_failpoints(), dependency::save());
}
