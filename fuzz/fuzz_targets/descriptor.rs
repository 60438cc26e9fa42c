#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_fuzz::descriptor::check_input(data));
