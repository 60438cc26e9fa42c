#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_fuzz::ptx_text::check_input(data));
