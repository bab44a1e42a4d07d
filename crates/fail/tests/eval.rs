//! What the crate `fail` exports and does not document.

/// Macros of programs call `fail::eval`, by a name that has no point.
#[test]
fn eval() {
    let scenario = fail::FailScenario::setup();
    assert_eq!(fail::eval("of_a_macro", |text| text), None);
    fail::cfg("of_a_macro", "1*return(text)").unwrap();
    assert_eq!(fail::eval("of_a_macro", |text| text), Some(Some("text".to_owned())));
    assert_eq!(fail::eval("of_a_macro", |text| text), None);
    scenario.teardown();
}
