//! PTX text: lexer, parser, control flow, uniformity, printer and the lints of the kernel build.
//!
//! The dialect is what LLVM's NVPTX backend and the inline assembly of the kernels emit. Opcodes are not interpreted
//! here: any dotted word with well-formed operands parses.
#![forbid(unsafe_code)]

pub mod ast;
mod error;
mod lex;
pub mod opcodes;
mod parse;
mod print;

pub use error::{ParseError, ParseErrorKind};
pub use parse::parse;
pub use print::print;
