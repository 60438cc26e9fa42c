//! Mistakes in texts that parse: the errors that the assembler would report.

use thiserror::Error;

/// Something that the assembler refuses.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct Mistake {
    /// Line of the PTX text, from 1.
    pub line: u32,
    /// The reason.
    pub reason: Reason,
}

/// Why the assembler refuses it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// A version of PTX that does not exist or is too old.
    #[error("expected a version of PTX from 6.0 to 9.5, got {}.{}", .0.0, .0.1)]
    Version((u32, u32)),
    /// A target that does not exist or is too old.
    #[error("expected a target such as sm_80, sm_30 at least, got `{0}`")]
    Target(String),
    /// Addresses that are not 64 bits wide.
    #[error("expected .address_size 64, got {0}")]
    AddressSize(u32),
    /// `.target debug` without debug sections.
    #[error("expected debug sections after .target debug, got none")]
    Debug,
    /// A feature newer than the module's version.
    #[error("{what} needs PTX {}.{}, the module has {}.{}", since.0, since.1, got.0, got.1)]
    TooOld {
        /// The feature.
        what: String,
        /// The version that brought it.
        since: (u32, u32),
        /// The version of the module.
        got: (u32, u32),
    },
    /// A feature that the module's target lacks.
    #[error("{what} needs target sm_{since}, the module has sm_{got}")]
    TooSmall {
        /// The feature.
        what: String,
        /// The first architecture that has it.
        since: u32,
        /// The architecture of the module.
        got: u32,
    },
    /// A different number of operands than the instruction takes.
    #[error("expected {expected} operands, got {got}")]
    Operands {
        /// How many the instruction takes.
        expected: String,
        /// How many it has.
        got: usize,
    },
    /// An operand that does not fit the instruction.
    #[error("operand {number}: expected {expected}, got {got}")]
    Operand {
        /// Its place, from 1.
        number: usize,
        /// What may stand there.
        expected: String,
        /// What stands there.
        got: String,
    },
    /// A guard that is not a predicate.
    #[error("expected a predicate as guard, got {got}")]
    Guard {
        /// The register.
        got: String,
    },
    /// A declaration that contradicts itself or an earlier one.
    #[error("`{name}`: {fault}")]
    Declaration {
        /// The declared name.
        name: String,
        /// The fault.
        fault: &'static str,
    },
}
