//! The machine as the system describes it. Each report begins with this description, and some measurements take sizes from it.

use std::fs::read_to_string;

use serde_json::{Value, json};

/// The properties of the machine on which figures depend.
pub struct Machine {
    cpu: String,
    kernel: String,
    cpus: usize,
}

impl Machine {
    pub fn here() -> Machine {
        let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let line = info.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
            line.and_then(|line| line.split_once(": ")).map(|(_, value)| value.to_owned())
        };
        // A hypervisor may hide the model's name, but not family, model and stepping. Other instruction sets have other fields that name a processor.
        let numbers = |names: &[(&str, &str)]| {
            let each = names.iter().filter_map(|(name, word)| Some(format!("{word} {}", field(name)?)));
            each.collect::<Vec<_>>().join(" ")
        };
        let numbers = match std::env::consts::ARCH {
            "aarch64" => {
                numbers(&[("CPU implementer", "implementer"), ("CPU part", "part"), ("CPU revision", "revision")])
            }
            "riscv64" => numbers(&[("isa", "isa"), ("uarch", "uarch"), ("mvendorid", "vendor"), ("marchid", "arch")]),
            _ => numbers(&[("cpu family", "family"), ("model", "model"), ("stepping", "stepping")]),
        };
        Machine {
            cpu: format!("{} ({numbers})", field("model name").unwrap_or_else(|| "unknown CPU".into())),
            kernel: read_to_string("/proc/sys/kernel/osrelease").unwrap_or_else(|_| "?".into()).trim().to_owned(),
            cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get()),
        }
    }

    pub fn line(&self) -> String {
        format!("{}, {}, Linux {}, {} cpus", std::env::consts::ARCH, self.cpu, self.kernel, self.cpus)
    }

    pub fn json(&self) -> Value {
        json!({ "arch": std::env::consts::ARCH, "cpu": self.cpu, "kernel": self.kernel, "cpus": self.cpus })
    }
}

/// The number of mappings of this process.
pub fn mappings() -> usize {
    read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count())
}

/// The bytes of the second-level cache of the first processor. 2 MiB if the system does not say.
pub fn second_level_cache() -> usize {
    let size = read_to_string("/sys/devices/system/cpu/cpu0/cache/index2/size").unwrap_or_default();
    let size = size.trim();
    let (digits, unit) = match size.strip_suffix('M') {
        Some(digits) => (digits, 1 << 20),
        None => (size.trim_end_matches('K'), 1 << 10),
    };
    digits.parse::<usize>().map_or(2 << 20, |number| number * unit)
}
