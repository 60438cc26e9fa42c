#![cfg_attr(fuzzing, no_main)]

trefoil_fuzz::target!(model_file);
