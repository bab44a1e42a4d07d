//! The examples in h2's package, from the folder where cargo has it. The two lines of docs/tracing.md and a subscriber are added to them.

use std::fs;
use std::path::{Path, PathBuf};

use jumplabel_testing::cargo::{Build, run};

/// The folder of h2, in the version of the lock file.
fn h2(folder: &Path) -> PathBuf {
    let mut metadata = Build::of("served").command("metadata");
    let metadata = run(metadata.current_dir(folder).args(["--format-version", "1", "--quiet"]));
    let manifest = metadata.split("\"manifest_path\":\"").map(|rest| rest.split('"').next().unwrap_or(rest));
    let mut of_h2 = manifest.filter(|path| path.contains("/h2-") && path.ends_with("/Cargo.toml"));
    Path::new(of_h2.next().expect("axum uses h2")).parent().unwrap().to_owned()
}

/// Puts the examples into a copy of test-crates/served, as further programs.
pub fn put_into(folder: &Path) {
    let replaced = |text: &str, from: &str, to: &str| {
        assert_eq!(text.matches(from).count(), 1, "{from}: {text}");
        text.replace(from, to)
    };
    let h2 = h2(folder);
    let example = |name: &str, edits: &[(&str, &str)]| {
        let text = fs::read_to_string(h2.join("examples").join(name)).unwrap();
        edits.iter().fold(text, |text, (from, to)| replaced(&text, from, to))
    };
    let logger = "let _ = env_logger::try_init();";
    let server = example(
        "server.rs",
        &[
            (
                logger,
                "tracing_subscriber::fmt().with_writer(std::io::stdout).without_time().with_ansi(false).with_env_filter(\"info\").init();
                 jumplabel_agent::serve(jumplabel_tracing::layer()).unwrap();",
            ),
            ("127.0.0.1:5928", "127.0.0.1:0"),
        ],
    );
    let client =
        example("client.rs", &[(logger, ""), ("\"127.0.0.1:5928\"", "std::env::args().nth(1).expect(\"an address\")")]);
    let programs = folder.join("src/bin");
    fs::create_dir_all(&programs).unwrap();
    fs::write(programs.join("h2_server.rs"), format!("jumplabel_agent::startup!();\n{server}")).unwrap();
    fs::write(programs.join("h2_client.rs"), client).unwrap();
    // The lock file already has the crates that the examples use, because axum uses them.
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let manifest = replaced(&manifest, "\"rt\"", "\"rt-multi-thread\"");
    let manifest =
        replaced(&manifest, "[dependencies]\n", "[dependencies]\nbytes = \"1\"\nh2 = \"0.4\"\nhttp = \"1\"\n");
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
}
