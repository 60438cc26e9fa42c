#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_fuzz::machine::check_input(data));
