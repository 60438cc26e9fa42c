//! PTX text: lexer, parser, control flow, uniformity, printer and lints.
//!
//! It is the front end of the simulated driver, and checks the kernels that are built.
//!
//! The dialect is what LLVM's NVPTX backend and the inline assembly of the kernels emit. Opcodes
//! are not interpreted here: any dotted word with well-formed operands parses.
//!
//! ```
//! let text = ".version 8.0 .target sm_80 .address_size 64 .visible .entry nothing() { ret; }";
//! let printed = ptx::print(&ptx::parse(text)?);
//! assert!(printed.contains(".visible .entry nothing"));
//! assert_eq!(ptx::print(&ptx::parse(&printed)?), printed);
//! # Ok::<(), ptx::ParseError>(())
//! ```
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
