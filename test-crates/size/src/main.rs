//! Says whether it was given an argument, and, with the feature `key`, says it once more behind a static key.

#[cfg(feature = "key")]
jumplabel::static_key! { static KEY: false; }

fn main() {
    let on = std::env::args_os().len() > 1;
    #[cfg(feature = "key")]
    {
        if on {
            KEY.enable().unwrap();
        }
        if jumplabel::static_branch_unlikely!(KEY) {
            println!("on");
        }
    }
    println!("{on}");
}
