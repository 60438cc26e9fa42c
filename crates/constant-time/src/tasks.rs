//! The gates with additive results, each with its meaning.

use anyhow::Result;
use pfss::{Gate, Shares, SignedRange, Task};

use crate::plain::{expect, plaintexts};

/// One gate.
pub(crate) struct GateCase {
    pub(crate) title: &'static str,
    pub(crate) task: Task<'static>,
    pub(crate) gate: Gate,
    plain: fn(i64) -> i64,
}

impl GateCase {
    /// Compares shares of the results on [`plaintexts`] with the plain function.
    pub(crate) fn expect(&self, shares: [Shares; 2]) -> Result<()> {
        let words = shares.map(|shares| shares.words);
        expect(self.gate.out_ring(), &words, &plaintexts().map(|x| (self.plain)(x).cast_unsigned()))
    }
}

pub(crate) fn all() -> Result<Vec<GateCase>> {
    let range = SignedRange::new(-(1 << 20), 1 << 20)?;
    let gap_in_one_round = Gate::gap_ars(64, 12).and_then(Gate::in_one_round);
    let case = |title, task, gate, plain: fn(i64) -> i64| -> Result<GateCase> {
        Ok(GateCase { title, task, gate: gate?, plain })
    };
    let all = [
        case("relu", Task::Relu, Gate::relu(64), |x| x.max(0)),
        case("relu of a proven range", Task::ReluWithin(range), Gate::relu_within(64, 22), |x| x.max(0)),
        case("absolute value", Task::Abs, Gate::relu(64), i64::abs),
        case("truncate-reduce", Task::TruncateReduce, Gate::truncate_reduce(40, 9), |x| x >> 9),
        case("gap ars", Task::GapArs(range.gap_cert(64)?), Gate::gap_ars(64, 12), |x| x >> 12),
        case("gap ars in one round", Task::GapArs(range.gap_cert(64)?), gap_in_one_round, |x| x >> 12),
        case("lrs", Task::Lrs, Gate::lrs(64, 12), |x| (x.cast_unsigned() >> 12).cast_signed()),
        case("ars", Task::Ars, Gate::ars(64, 12), |x| x >> 12),
        case("relu ars", Task::ReluArs, Gate::relu_ars(64, 12), |x| x.max(0) >> 12),
        case("lut", Task::Lut(&SQUARES), Gate::lut(9, 40), |x| (x & 511).pow(2)),
    ];
    all.into_iter().collect()
}

/// The squares below `2^9`.
pub(crate) static SQUARES: [u64; 512] = {
    let mut table = [0; 512];
    let mut x = 0;
    while x < 512 {
        table[x] = (x * x) as u64;
        x += 1;
    }
    table
};
