#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_fuzz::handshake::check_input(data));
