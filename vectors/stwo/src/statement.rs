//! What each vector proves. Shared with the tests of the verifier.

use serde::{Deserialize, Serialize};

/// An AIR with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// One wide Fibonacci component for each height and width.
    WideFibonacci { log_rows: Vec<u32>, columns: Vec<u32> },
    /// Masks at offsets -2 to 2.
    Neighbours { log_rows: u32 },
    /// Cubes, with a preprocessed summand.
    Cubes { log_rows: u32 },
    /// Two components that share a preprocessed column if they are of one height, and maybe a column that none uses.
    Selected { log_rows: [u32; 2], unused: Option<u32> },
    /// Both fractions of a row in one column, or in two.
    StateMachine { log_rows: u32, in_pairs: bool },
    /// Look-ups in a table of all pairs of `bits` bits.
    Xor { log_rows: u32, bits: u32 },
}

/// One line of the list of vectors, with parameters in the form of `C`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector<C> {
    /// The file of the proof, without its ending.
    pub name: String,
    /// What it proves.
    pub statement: Statement,
    /// What with.
    pub config: C,
    /// Root of the preprocessed columns.
    pub preprocessed_root: [u8; 32],
    /// Claimed sums of the components, as words; none without look-ups.
    pub claimed_sums: Vec<[u32; 4]>,
}

impl Statement {
    /// Heights of the components, which enter the transcript between the preprocessed columns and the trace.
    pub fn heights(&self) -> Vec<u32> {
        match self {
            Self::WideFibonacci { log_rows, .. } => log_rows.clone(),
            Self::Neighbours { log_rows } | Self::Cubes { log_rows } | Self::StateMachine { log_rows, .. } => {
                vec![*log_rows]
            }
            Self::Selected { log_rows, .. } => log_rows.to_vec(),
            Self::Xor { log_rows, bits } => vec![*log_rows, 2 * bits],
        }
    }

    /// Log sizes of the preprocessed columns, and their names.
    pub fn preprocessed(&self) -> Vec<(&'static str, u32)> {
        match self {
            Self::Cubes { log_rows } => vec![("constant", *log_rows)],
            Self::Selected { log_rows: [first, second], unused } => {
                let shared = if first == second { None } else { Some(("selector-2", *second)) };
                let unused = unused.map(|log_rows| ("unused", log_rows));
                let own = [("selector-1", *first), ("offset-1", *first)];
                own.into_iter().chain(unused).chain(shared).chain([("offset-2", *second)]).collect()
            }
            Self::Xor { bits, .. } => ["a", "b", "c"].map(|id| (id, 2 * bits)).to_vec(),
            _ => Vec::new(),
        }
    }

    /// The selector that the second component of [`Statement::Selected`] reads.
    pub fn second_selector(&self) -> &'static str {
        match self {
            Self::Selected { log_rows: [first, second], .. } if first != second => "selector-2",
            _ => "selector-1",
        }
    }
}
