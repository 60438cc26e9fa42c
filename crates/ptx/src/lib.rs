//! PTX text: lexer, parser, control flow, uniformity, printer and the lints of the kernel build.
#![forbid(unsafe_code)]
