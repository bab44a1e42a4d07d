//! N-way switches.

use jumplabel::{Error, modes, static_mode, static_switch};

modes! {
    enum Mode { Fast, Checked, Traced }
}

#[test]
fn takes_the_arm_of_its_mode() {
    static_mode! { static MODE: Mode = Checked; }
    let arm = || static_switch!(MODE, { Fast => 1, Checked => 2, Traced => 3 });
    assert_eq!((arm(), MODE.get()), (2, Mode::Checked));
    for (mode, value) in [(Mode::Fast, 1), (Mode::Traced, 3), (Mode::Checked, 2), (Mode::Traced, 3), (Mode::Fast, 1)] {
        MODE.set(mode).unwrap();
        assert_eq!((arm(), MODE.get()), (value, mode));
        assert_eq!(MODE.set(mode).unwrap().sites, 0);
    }
    MODE.seal().unwrap();
    assert_eq!(MODE.set(Mode::Traced), Err(Error::Sealed));
}
