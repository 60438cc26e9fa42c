//! What rules ask of a Rust file, apart from how it is found.

/// One thing a Rust file does that a rule may ask about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fact {
    pub(super) line: usize,
    /// Whether it stands in test code.
    pub(super) test: bool,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A path is named; imports are resolved: `env::var` after `use std::env` is `std::env::var`.
    ///
    /// A glob ends in `*`.
    Path(String),
    /// A method of this name is called.
    Method(String),
    /// A macro is called; `argument` is its first string literal, without quotes.
    Macro { name: String, argument: Option<String> },
    /// An `unsafe` block, function, implementation, trait or foreign block.
    Unsafe { kind: UnsafeKind, documented: bool },
    /// `pub use path::*`.
    GlobReexport,
    /// `#[ignore]` on a test.
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnsafeKind {
    Block,
    Fn,
    Impl,
    Trait,
    Extern,
}

impl UnsafeKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Fn => "fn",
            Self::Impl => "impl",
            Self::Trait => "trait",
            Self::Extern => "extern block",
        }
    }
}
