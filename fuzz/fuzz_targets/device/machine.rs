#![cfg_attr(fuzzing, no_main)]

trefoil_fuzz::target!(machine);
