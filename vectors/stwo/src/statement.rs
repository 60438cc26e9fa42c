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
    /// Two components, and an optional column that no component reads.
    ///
    /// The components share a preprocessed column if they are of one height.
    Selected { log_rows: [u32; 2], unused: Option<u32> },
    /// Both fractions of a row in one column, or in two.
    StateMachine { log_rows: u32, in_pairs: bool },
    /// Look-ups in a table of all pairs of `bits` bits.
    Xor { log_rows: u32, bits: u32 },
    /// Steps of a state, first of one coordinate, then of the other.
    Steps { log_rows: [u32; 2], first: [u32; 2] },
    /// A circuit of [`gate`]s, with the values of wires [`outputs`].
    Plonk { gates: u32, inputs: [u32; 2], outputs: [u32; 2] },
    /// A chain of permutations.
    Poseidon2 { log_rows: u32, first: [u32; 16], last: [u32; 16] },
    /// The digest of `2^log_blocks` blocks of [`message_word`]s.
    Blake2s { log_blocks: u32, digest: [u32; 8] },
}

/// Gate `k` of the circuits: whether it adds, and the wires it reads. It drives wire `k + 2`.
pub fn gate(k: u32) -> (bool, [u32; 2]) {
    (k % 3 != 1, [k + 1, (5 * k + 3) % (k + 2)])
}

/// Word `k` of the messages that are hashed.
pub fn message_word(k: u32) -> u32 {
    (k + 1).wrapping_mul(0x9e37_79b9).rotate_left(k % 31) ^ 0x5555_aaaa
}

/// The wires that a circuit puts out.
pub fn outputs(gates: u32) -> [u32; 2] {
    [gates + 1, gates / 2]
}

/// One line of the list of vectors, with parameters in the form of `C`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorLine<C> {
    /// The file of the proof, without its ending.
    pub name: String,
    /// The statement.
    pub statement: Statement,
    /// The parameters.
    pub config: C,
    /// Root of the preprocessed columns.
    pub preprocessed_root: [u8; 32],
    /// Claimed sums of the components, as words; none without look-ups.
    pub claimed_sums: Vec<[u32; 4]>,
}

impl Statement {
    /// The words absorbed before the root of the trace: the heights, then the public words.
    pub fn words(&self) -> Vec<u32> {
        let mut words = self.heights();
        match self {
            Self::Steps { log_rows: [n, m], first: [x, y] } => words.extend([*x, *y, x + (1 << n), y + (1 << m)]),
            Self::Plonk { inputs, outputs, .. } => words.extend(inputs.iter().chain(outputs)),
            Self::Poseidon2 { first, last, .. } => words.extend(first.iter().chain(last)),
            Self::Blake2s { digest, .. } => words.extend(digest.iter().flat_map(|word| [word & 0xffff, word >> 16])),
            _ => {}
        }
        words
    }

    /// Heights of the components.
    pub fn heights(&self) -> Vec<u32> {
        match self {
            Self::WideFibonacci { log_rows, .. } => log_rows.clone(),
            Self::Neighbours { log_rows }
            | Self::Cubes { log_rows }
            | Self::StateMachine { log_rows, .. }
            | Self::Poseidon2 { log_rows, .. } => vec![*log_rows],
            Self::Plonk { gates, .. } => vec![gates.next_power_of_two().ilog2()],
            Self::Selected { log_rows, .. } | Self::Steps { log_rows, .. } => log_rows.to_vec(),
            Self::Xor { log_rows, bits } => vec![*log_rows, 2 * bits],
            Self::Blake2s { log_blocks, .. } => vec![*log_blocks, log_blocks + 3, log_blocks + 1, 10, 10, 10, 8],
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
            Self::Plonk { .. } => ["wire-a", "wire-b", "wire-c", "adds"].map(|id| (id, self.heights()[0])).to_vec(),
            Self::Xor { bits, .. } => ["a", "b", "c"].map(|id| (id, 2 * bits)).to_vec(),
            Self::Blake2s { log_blocks, .. } => {
                let places = ["index", "bytes-low", "bytes-high", "last"].map(|id| (id, *log_blocks));
                let fives = ["five-a", "five-b", "five-xor"].map(|id| (id, 10));
                let fours = ["four-a", "four-b", "four-xor"].map(|id| (id, 8));
                places.into_iter().chain(fives).chain(fours).collect()
            }
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
