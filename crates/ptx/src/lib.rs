//! PTX text: lexer, parser, control flow, uniformity, printer and lints.
//!
//! The lints are for the kernel build.
//!
//! The dialect is what LLVM's NVPTX backend and the inline assembly of the kernels emit. Opcodes
//! are not interpreted here: any dotted word with well-formed operands parses.
#![forbid(unsafe_code)]

pub mod ast;
mod error;
pub mod flow;
mod lex;
pub mod lint;
pub mod mutate;
pub mod opcodes;
mod parse;
mod print;
pub mod rewrite;
mod table;
pub mod typing;
pub mod uniform;
mod words;

pub use error::{ParseError, ParseErrorKind};
pub use parse::parse;
pub use print::{print, print_instruction};
pub use table::{KernelSpec, Table};
