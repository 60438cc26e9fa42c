#![cfg_attr(fuzzing, no_main)]

trefoil_fuzz::target!(elf_file);
