//! The edits of tracing and tracing-core.
//!
//! Upstream's text is not in this repository: the edits change a copy that the user has. The folder `patches` has the text that the edits add.

use anyhow::{Context, Result, bail};
use toml_edit::{Array, value};

use crate::copies::{Copies, Crate};
use crate::package::Package;
use crate::project::Project;

pub const TRACING: Copies = Copies {
    command: "tracing",
    crates: &[
        Crate { name: "tracing", tried: &["0.1.40", "0.1.41", "0.1.42", "0.1.43", "0.1.44"], edit: edited_tracing },
        Crate { name: "tracing-core", tried: &["0.1.32", "0.1.33", "0.1.34", "0.1.35", "0.1.36"], edit: edited_core },
    ],
};

/// Makes each callsite ask its key first.
fn edited_tracing(package: &mut Package, _: &Project) -> Result<()> {
    package.edit("src/macros.rs", |text| {
        text.replace(
            r"static __CALLSITE: [$:\w]+ = \$crate::callsite2! \{",
            9,
            "static __CALLSITE: $$crate::__macro_support::Keyed = $$crate::__jumplabel_callsite! {",
        )?;
        let condition = r"!interest\.is_never\(\) && (?:\$crate::__macro_support::__is_enabled\(__CALLSITE\.metadata\(\), interest\)|__CALLSITE\.is_enabled\(interest\))";
        // Events.
        text.wrap_rest_of_block(
            &format!(r"let enabled = \$crate::level_enabled!\(\$lvl\) && \{{\s*let interest = __CALLSITE\.interest\(\);\s*{condition}\s*\}};"),
            6,
            "if $crate::__jumplabel_gate!(__CALLSITE, $lvl) {\n        let __jumplabel_goes = $crate::__jumplabel_check!(__CALLSITE, $lvl);\n        let enabled = __jumplabel_goes.anywhere();",
            "}",
        )?;
        // Spans.
        text.replace(
            r"let mut interest = \$crate::subscriber::Interest::never\(\);\n",
            2,
            "let __jumplabel_goes = $$crate::__jumplabel_enabled!(__CALLSITE, $$lvl);\n",
        )?;
        text.replace(
            r"\$crate::level_enabled!\(\$lvl\)\s*&& \{ interest = __CALLSITE\.interest\(\); !interest\.is_never\(\) \}\s*&& \$crate::__macro_support::__is_enabled\(__CALLSITE\.metadata\(\), interest\)",
            2,
            "__jumplabel_goes.anywhere()",
        )?;
        // An event or a span goes first to subscribers that want it, and then to the follower and to tracers, if there are any.
        let of_meta = r"let meta = __CALLSITE\.metadata\(\);\s*// (?:event|span) with (?:explicit|contextual) parent\s*\$crate::";
        for (upstream, times, ours) in [
            (r"Event::dispatch\(\s*meta,", 3, "event(&__CALLSITE, __jumplabel_goes,"),
            (r"Event::child_of\(\s*\$parent,\s*meta,", 3, "event_in($$parent, &__CALLSITE, __jumplabel_goes,"),
            (r"Span::new\(\s*meta,\s*&\$crate::(\w+)!\(meta\.", 1, "span(&__CALLSITE, __jumplabel_goes, &$$crate::$1!(__CALLSITE.metadata()."),
            (r"Span::child_of\(\s*\$parent,\s*meta,\s*&\$crate::(\w+)!\(meta\.", 1, "span_in($$parent, &__CALLSITE, __jumplabel_goes, &$$crate::$1!(__CALLSITE.metadata()."),
        ] {
            text.replace(&format!("{of_meta}{upstream}"), times, &format!("$$crate::__macro_support::{ours}"))?;
        }
        // The spans of `#[instrument]`.
        text.replace(
            r"(\$lvl <= \$crate::level_filters::STATIC_MAX_LEVEL\s*&& )(\$lvl <= \$crate::level_filters::LevelFilter::current\(\))",
            1,
            "$1($2 || $$crate::__jumplabel_any_marked!())",
        )?;
        // The macro `enabled!`.
        text.replace(
            r"if \$crate::level_enabled!\(\$lvl\) \{(\s*use \$crate::__macro_support::Callsite as _;)",
            1,
            "if $$lvl <= $$crate::level_filters::STATIC_MAX_LEVEL {$1",
        )?;
        text.replace(
            &format!(r"let interest = __CALLSITE\.interest\(\);\s*if {condition}"),
            1,
            "if $$crate::__jumplabel_enabled!(__CALLSITE, $$lvl).anywhere()",
        )?;
        text.insert_before(
            r"\$crate::dispatcher::get_default\(\|current\| current\.enabled\(meta\)\)",
            1,
            "$crate::__macro_support::is_marked(&__CALLSITE) || ",
        )?;
        text.append(include_str!("../patches/tracing/macros.rs"));
        Ok(())
    })?;
    package.edit("src/lib.rs", |text| {
        text.insert_behind(
            r"pub use tracing_core::callsite::DefaultCallsite as MacroCallsite;",
            1,
            include_str!("../patches/tracing/support.rs"),
        )
    })?;
    package.edit_manifest(|manifest| {
        let features = manifest["features"].as_table_mut().context("tracing has no features")?;
        features.insert("log", value(Array::from_iter(["dep:log", "tracing-core/jumplabel-log"])));
        Ok(())
    })
}

/// Makes tracing-core list and register all callsites, and makes their keys follow the subscribers' interests.
fn edited_core(package: &mut Package, project: &Project) -> Result<()> {
    package.edit("src/callsite.rs", |text| {
        let sync = "\n    #[cfg(feature = \"std\")]\n    let _keys = keys::SyncAtEnd;";
        text.insert_behind(r"pub fn rebuild_interest_cache\(\) \{", 1, sync)?;
        text.insert_behind(r"pub\(crate\) fn register_dispatch\(dispatch: &Dispatch\) \{", 1, sync)?;
        // A rebuild asks all dispatchers: see patches/tracing/rebuild.rs.
        text.insert_before(r"static LOCKED_DISPATCHERS: ", 1, "pub(super) ")?;
        text.replace(
            r"CALLSITES\.rebuild_interest\(DISPATCHERS\.rebuilder\(\)\);",
            1,
            "#[cfg(feature = \"std\")]\n    keys::rebuild();\n    #[cfg(not(feature = \"std\"))]\n    $0",
        )?;
        text.insert_before(
            r"\n *LevelFilter::set_max\(max_level\);",
            1,
            "\n        #[cfg(feature = \"std\")]\n        self.register_keyed(&dispatchers, max_level);",
        )?;
        text.append(
            "\n// What follows was written by `cargo jumplabel tracing`.\n#[cfg(feature = \"std\")]\npub mod keys;\n",
        );
        Ok(())
    })?;
    package.edit("src/dispatcher.rs", |text| {
        text.insert_behind(
            r"EXISTS\.store\(true, Ordering::Release\);",
            2,
            "\n        #[cfg(feature = \"std\")]\n        crate::callsite::keys::dispatcher_is_set();",
        )
    })?;
    package.add("src/callsite/keys.rs", include_str!("../patches/tracing/keys.rs"));
    package.add("src/callsite/keys/check.rs", include_str!("../patches/tracing/check.rs"));
    package.add("src/callsite/keys/limit.rs", include_str!("../patches/tracing/limit.rs"));
    package.add("src/callsite/keys/marks.rs", include_str!("../patches/tracing/marks.rs"));
    package.add("src/callsite/keys/others.rs", include_str!("../patches/tracing/others.rs"));
    package.add("src/callsite/keys/rebuild.rs", include_str!("../patches/tracing/rebuild.rs"));
    package.add("src/callsite/keys/tracers.rs", include_str!("../patches/tracing/tracers.rs"));
    package.add("src/callsite/sync.rs", include_str!("../patches/sync.rs"));
    package.edit_manifest(|manifest| {
        let features = manifest["features"].as_table_mut().context("tracing-core has no features")?;
        let Some(std) = features.get_mut("std").and_then(|std| std.as_array_mut()) else {
            bail!("tracing-core has no feature `std`")
        };
        std.push("dep:jumplabel");
        features.insert("jumplabel-log", value(Array::new()));
        let mut jumplabel = project.jumplabel("jumplabel")?;
        jumplabel.insert("optional", true.into());
        manifest["dependencies"]["jumplabel"] = value(jumplabel);
        Ok(())
    })
}
