//! A program that uses tracing. Its first argument names a case. A case checks itself and prints `ok`, or prints what the same program with
//! upstream's tracing prints, too.

mod cases;
#[cfg(feature = "patched")]
mod keys;

jumplabel_agent::startup!();

use tracing::{Level, debug, info, span, trace};

/// Does all that the program can say.
fn work() {
    println!("{} {}", noisy::one(2), noisy::spanned(2));
    println!("{:?} {:?} {:?}", noisy::forms(3), noisy::forms(13), [4, 8].map(|x| noisy::Own(1).values(x)));
    noisy::generic(1_u8);
    noisy::generic("text");
    block_on(noisy::later(9));
    let span = span!(Level::INFO, "work", n = 3);
    let _entered = span.enter();
    info!("info");
    debug!("debug");
    trace!("trace");
}

fn block_on(future: impl Future) {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {}
}

/// A subscriber that prints to standard output, without the time.
fn subscriber(filter: &str) -> impl tracing::Subscriber + Send + Sync {
    let format = tracing_subscriber::fmt().with_writer(std::io::stdout).without_time().with_ansi(false);
    format.with_env_filter(filter).finish()
}

/// Works for each line of standard input; before that, the line `hide` ends all that is shown. Its agent lists, shows and follows callsites, and
/// tracers attach to it. With the filter `none` it has no subscriber.
fn serve(filter: &str) {
    if filter != "none" {
        tracing::subscriber::set_global_default(subscriber(filter)).unwrap();
    }
    jumplabel_agent::serve(jumplabel_tracing::layer()).unwrap();
    jumplabel::usdt::watch().unwrap();
    println!("ready");
    for line in std::io::stdin().lines() {
        if line.unwrap() == "hide" {
            jumplabel_tracing::control("-p").unwrap();
        }
        work();
        println!("worked");
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match *words.as_slice() {
        // Without a subscriber, then with one.
        ["print", filter] => {
            work();
            tracing::subscriber::set_global_default(subscriber(filter)).unwrap();
            work();
        }
        ["log", filter] => cases::log(filter),
        ["scoped"] => cases::scoped(),
        ["flips"] => cases::flips(),
        ["panics"] => cases::panics(),
        ["reloads"] => cases::reloads(),
        ["forks"] => cases::forks(),
        ["elsewhere"] => cases::elsewhere(),
        ["meanwhile"] => cases::meanwhile(),
        ["serve", filter] => serve(filter),
        ["status"] => println!("{}", jumplabel_tracing::status().unwrap_err()),
        #[cfg(feature = "patched")]
        ["keys"] => keys::follow(),
        #[cfg(feature = "patched")]
        ["narrow"] => keys::narrow(),
        #[cfg(feature = "patched")]
        ["reached"] => keys::reached(),
        #[cfg(feature = "patched")]
        ["layers"] => keys::layers(),
        #[cfg(feature = "patched")]
        ["shows"] => keys::shows(),
        #[cfg(feature = "patched")]
        ["followed"] => keys::followed(),
        #[cfg(feature = "patched")]
        ["refused", filter] => keys::refused(filter),
        _ => panic!("{words:?}"),
    }
}
