//! PTX: errors name a line, and an accepted text prints to an accepted text.

use ptx::{parse, print, typing};

/// Checks one input.
pub fn check_input(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let lines = text.split('\n').count();
    let module = match parse(text) {
        Ok(module) => module,
        Err(error) => {
            assert!((1..=lines).contains(&(error.line as usize)) && error.to_string().len() < 300, "{error}");
            return;
        }
    };
    let mistakes = typing::check(&module);
    for mistake in &mistakes {
        assert!((1..=lines).contains(&(mistake.line as usize)), "{mistake}");
    }
    let printed = print(&module);
    let again = parse(&printed).expect("the printer's output is readable");
    assert_eq!(print(&again), printed);
    // Debug sections are not printed, and a target may ask for them.
    if mistakes.is_empty() && !module.has_sections {
        assert_eq!(typing::check(&again), []);
    }
}
