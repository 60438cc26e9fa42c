//! Parameters of the ops that evaluate AIRs, and the programs that AIRs are recorded to.

use bytemuck::{Pod, Zeroable};

use crate::{
    field::M31,
    params::sizes::{list_sizes, sizes},
};

/// A column that a program reads, at the row at hand or near it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct MaskAt {
    /// The first word of the column.
    pub first: u64,
    /// Rows from the row at hand to the one that is read. Rows wrap around.
    pub offset: i32,
    /// Keeps the record free of padding; zero.
    pub reserved: u32,
}

list_sizes!(MaskAt);
// Constants.
list_sizes!(M31);

/// A step of a program: an operation on registers of one word each.
///
/// Values of the secure field take four registers that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Instruction {
    /// The operation, one of [`Opcode`].
    pub opcode: u16,
    /// The register of the result, or the first of four.
    ///
    /// For outputs, it is the number of the output.
    pub target: u16,
    /// The first operand: a register, or the number of a mask, constant or challenge.
    pub left: u16,
    /// The second operand: a register, or for [`Opcode::Bits`] [`bits`](Self::bits).
    pub right: u16,
}

list_sizes!(Instruction);

impl Instruction {
    /// The second operand of [`Opcode::Bits`]: bits `from..to`, `from < to <= 31`.
    #[inline]
    #[must_use]
    pub const fn bits(from: u32, to: u32) -> u16 {
        (from | to << 5) as u16
    }

    /// The two bounds that [`bits`](Self::bits) puts together.
    #[inline]
    #[must_use]
    pub const fn bounds(bits: u16) -> [u32; 2] {
        [bits as u32 & 31, (bits >> 5) as u32]
    }
}

/// Operation of a step.
///
/// `b` stands for a value of the base field, `e` for one of the secure field. The last two
/// operations take values as integers below P. They serve trace generation only: constraints are
/// polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Opcode {
    /// b = mask `left`.
    Mask = 0,
    /// b = constant `left`.
    Constant = 1,
    /// e = challenge `left`.
    Challenge = 2,
    /// b = b + b.
    Add = 3,
    /// b = b - b.
    Sub = 4,
    /// b = b b.
    Mul = 5,
    /// b = -b.
    Neg = 6,
    /// e = e + e.
    AddExt = 7,
    /// e = e - e.
    SubExt = 8,
    /// e = e e.
    MulExt = 9,
    /// e = -e.
    NegExt = 10,
    /// e = e + b.
    AddExtBase = 11,
    /// e = e - b.
    SubExtBase = 12,
    /// e = e b.
    MulExtBase = 13,
    /// e = b: coordinate 0 is the word, the others are zero.
    Lift = 14,
    /// b = b.
    Copy = 15,
    /// Output number `target` is b.
    Out = 16,
    /// Output number `target` is e.
    OutExt = 17,
    /// b = bits of b.
    Bits = 18,
    /// b = exclusive or of b and b, modulo P.
    Xor = 19,
}

impl Opcode {
    /// All operations, by their numbers.
    pub const ALL: [Self; 20] = [
        Self::Mask,
        Self::Constant,
        Self::Challenge,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::Neg,
        Self::AddExt,
        Self::SubExt,
        Self::MulExt,
        Self::NegExt,
        Self::AddExtBase,
        Self::SubExtBase,
        Self::MulExtBase,
        Self::Lift,
        Self::Copy,
        Self::Out,
        Self::OutExt,
        Self::Bits,
        Self::Xor,
    ];

    /// The operations of constraints and look-ups.
    pub const OF_FIELDS: usize = Self::Bits as usize;
}

/// A run of a program over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct AirParams {
    /// Log of the number of rows of the trace, at least 1.
    pub log_rows: u32,
    /// Log of the number of positions to evaluate at, the first of every column, `log_rows..=30`.
    pub log_size: u32,
    /// Registers of the program, at most 2^16.
    pub registers: u32,
    /// Outputs of the program.
    pub outputs: u32,
}

impl AirParams {
    /// The most registers of a thread that a GPU keeps in shared memory: 48 KiB for 128 threads.
    pub const SHARED_REGISTERS: u32 = 96;
}

sizes!(AirParams { log_rows, log_size, registers, outputs });

/// Columns of look-ups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct LogUpColumnsParams {
    /// Log of the number of rows, 1..=30.
    pub log_rows: u32,
    /// Columns of the secure field, at least 1.
    pub columns: u32,
}

/// How the rows are cut to be added up. Rows come in pairs `2 i` and `2 i + 1`.
///
/// They are cut into runs whose pairs `i` agree but for their highest bits, so that pairs that are
/// stored side by side belong to different runs.
impl LogUpColumnsParams {
    /// Log of the most runs.
    const LOG_RUNS: u32 = 3;
    /// The most runs.
    pub const MOST_RUNS: u32 = 1 << Self::LOG_RUNS;
    /// Pairs of a run that a warp of a GPU adds up.
    pub const PART: u32 = 256;

    /// Log of the number of runs.
    const fn log_runs(&self) -> u32 {
        if self.log_rows > Self::LOG_RUNS { Self::LOG_RUNS } else { 0 }
    }

    /// Runs.
    #[inline]
    #[must_use]
    pub const fn runs(&self) -> u32 {
        1u32.wrapping_shl(self.log_runs())
    }

    /// Pairs of a run.
    #[inline]
    #[must_use]
    pub const fn pairs(&self) -> u32 {
        1u32.wrapping_shl(self.log_rows.wrapping_sub(1).wrapping_sub(self.log_runs()))
    }

    /// Parts of a run.
    #[inline]
    #[must_use]
    pub const fn parts(&self) -> u32 {
        self.pairs().div_ceil(Self::PART)
    }
}

sizes!(LogUpColumnsParams { log_rows, columns });

/// Outputs of a trace generation program: columns, then counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct AirColumnsParams {
    /// The first outputs are columns.
    pub columns: u32,
    /// Number of counters; each further output is the number of a counter to increment.
    pub counters: u32,
}

sizes!(AirColumnsParams { columns, counters });

/// Columns of counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct CounterColumnsParams {
    /// Log of the number of rows, 1..=30.
    pub log_rows: u32,
    /// Columns.
    pub columns: u32,
}

sizes!(CounterColumnsParams { log_rows, columns });

/// A column of words of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct GatherColumnParams {
    /// Log of the number of rows, 1..=30.
    pub log_rows: u32,
    /// Words of the table.
    pub words: u32,
}

sizes!(GatherColumnParams { log_rows, words });

/// Numbers of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct RowNumbersParams {
    /// Log of the number of rows, 1..=30.
    pub log_rows: u32,
}

sizes!(RowNumbersParams { log_rows });

/// Powers of a challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SecurePowersParams {
    /// Number of powers.
    pub count: u32,
    /// 0 for `1, a, a^2, ..`, 1 for `.., a^2, a, 1`.
    pub descending: u32,
}

sizes!(SecurePowersParams { count, descending });

/// Addition of values of one height to values of a greater height.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct SecureAddLiftedParams {
    /// Log of the number of values that are added, at least 1.
    pub log_small: u32,
    /// Log of the number of values that they are added to, at least `log_small`, at most 30.
    pub log_large: u32,
}

sizes!(SecureAddLiftedParams { log_small, log_large });
