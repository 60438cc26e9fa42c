//! Kernels for tests.

use ptx::{ast::Module, parse};

/// Compiled with the flags of the kernel build.
pub(crate) const COMPILED: &str = include_str!("../data/compiled.ptx");
/// The same source compiled without.
pub(crate) const WITHOUT_FLAGS: &str = include_str!("../data/compiled_without_flags.ptx");

/// The text of one kernel with registers of every class, parameters `src`, `dst` and `n`, and shared array `tile`.
pub(crate) fn text(directives: &str, code: &str) -> String {
    format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 tile[1024];\n\
         .visible .entry kernel(.param .u64 src, .param .u64 dst, .param .u32 n)\n{directives}\n{{\n\
         .reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n{code}\nret;\n}}\n"
    )
}

/// The module of [`text`] without directives.
pub(crate) fn kernel(code: &str) -> Module {
    let text = text("", code);
    parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
