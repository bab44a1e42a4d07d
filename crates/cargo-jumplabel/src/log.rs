//! The edits of log.
//!
//! Upstream's text is not in this repository: the edits change a copy that the user has. The folder `patches` has the text that the edits add.

use anyhow::Result;
use toml_edit::value;

use crate::copies::{Copies, Crate};
use crate::package::Package;
use crate::project::Project;

pub const LOG: Copies = Copies {
    command: "log",
    crates: &[Crate {
        name: "log",
        tried: &["0.4.27", "0.4.28", "0.4.29", "0.4.30", "0.4.31", "0.4.32", "0.4.33", "0.4.34", "0.4.35"],
        edit: edited,
    }],
};

/// Makes each callsite ask its key first, and makes the keys follow the maximum level.
fn edited(package: &mut Package, project: &Project) -> Result<()> {
    package.edit("src/macros.rs", |text| {
        // The macros `error!` to `trace!` have four forms each, and a known level.
        text.replace(
            r"\$crate::log!\((.*)\$crate::Level::(Error|Warn|Info|Debug|Trace), \$\(\$arg\)\+\)",
            20,
            "{ if $$crate::__jumplabel_gate!($2 $1) { $$crate::log!($1$$crate::Level::$2, $$($$arg)+) } }",
        )?;
        text.append(include_str!("../patches/log/macros.rs"));
        Ok(())
    })?;
    package.edit("src/lib.rs", |text| {
        let changed = "\n    #[cfg(target_os = \"linux\")]\n    keys::changed();";
        text.insert_behind(r"MAX_LOG_LEVEL_FILTER\.store\(level as usize, Ordering::Relaxed\);", 2, changed)?;
        text.insert_behind(r"STATE\.store\(INITIALIZED, Ordering::Release\);", 2, changed)?;
        text.append("\n// What follows was written by `cargo jumplabel log`.\n#[cfg(target_os = \"linux\")]\n#[doc(hidden)]\npub mod keys;\n");
        Ok(())
    })?;
    package.add("src/keys.rs", include_str!("../patches/log/keys.rs"));
    package.add("src/sync.rs", include_str!("../patches/sync.rs"));
    package.edit_manifest(|manifest| {
        manifest["target"]["cfg(target_os = \"linux\")"]["dependencies"]["jumplabel"] =
            value(project.jumplabel("jumplabel")?);
        Ok(())
    })
}
