//! Any line that a client sends an agent: what is read is written so that it is read as the same.
#![no_main]

use jumplabel_agent::protocol::{LONGEST, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    if line.len() > LONGEST {
        return;
    }
    match line.parse::<Request>() {
        Ok(request) => assert_eq!(request.to_string().parse(), Ok(request)),
        Err(why) => assert!(!why.is_empty()),
    }
});
