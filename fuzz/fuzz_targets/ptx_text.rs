//! PTX from bytes: no panic in parser, types and printer, and a text that is accepted prints to one that is accepted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx::{parse, print, typing};

fuzz_target!(|bytes: &[u8]| {
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
});
