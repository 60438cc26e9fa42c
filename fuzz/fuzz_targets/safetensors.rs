#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| trefoil_fuzz::safetensors::check_input(data));
