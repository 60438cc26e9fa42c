#![cfg_attr(fuzzing, no_main)]

trefoil_fuzz::target!(ptx_text);
