//! Functions by table: a secret cell selects the line that is evaluated at the input.
//!
//! A cell is `2^s` neighbouring fixed-point integers and has a line `(S x + V) / 2^s` with integers
//! `S` and `V`, rounded. Shares find it in five steps, each by an existing gate with its own keys
//! and masks, so that nothing is opened but masked inputs, bits and words of these gates:
//!
//! 1. the cell `x >> s` by `truncate_reduce`, whose key is a truth table up to `s = 7`,
//! 2. the number of its line by a descriptor of degree 1: cells far out share one line,
//! 3. `V` and `S` by two look-ups, whose messages travel together,
//! 4. `S x` by a product, plus `V`, which has half a unit of the result in it,
//! 5. the shift by `s` bits by `gap_ars_to`.
//!
//! The lines prove a range of `S x + V`. In the ring of the smallest `k` in which it leaves a gap,
//! the shift is exact, so steps 3 to 5 open `k` bits for each word. Results have 64 bits.
//!
//! A tail of a function is a line like the others: 0, or `x` itself with the slope `2^s`. As lines
//! are in the whole input, no gate computes the distance from the middle of a cell.
//!
//! Tables selected by unit vectors follow Pika (PETS 2022), GeLU as ReLU plus a table of a clipped
//! input SIGMA (PETS 2024, section 5), the clipping as a descriptor SUF (FuseFSS, ICML 2026). The
//! product with a slope lets a cell be `2^7` wide where a table of values needs width 1.

mod library;
mod lines;
mod run;

use core_types::Ring;

use crate::{
    AutoTrunc, Cost, GapCert, Gate, PfssError, RangeError, SignedRange,
    functions::{Outputs, RING_BITS, total_traffic},
    suf::{SufDesc, SufError, SufModes, SufProgram},
};

pub use run::{TableBundles, run_table_lockstep};

/// Bytes of the step digest in each message.
const STEP_DIGEST: u64 = 16;

/// A function of one fixed-point number: a table of lines.
///
/// Its keys have about a third of the bytes of a [`FixedFn`](super::FixedFn)'s, and take a fifth of
/// the AES blocks; it takes nine rounds in place of four and opens more bits. [`TableGates::cost`]
/// gives each figure. The error of every function is at most 0.88 units of the last place.
///
/// ```
/// use pfss::{Dealer, SignedRange, functions::{TableFn, run_table_lockstep}};
///
/// let q = runtime::cpu()?;
/// let gelu = TableFn::gelu(12)?;
/// // Inputs that 25 bits hold.
/// let gates = gelu.gates_within(SignedRange::of_bits(25))?;
/// assert_eq!((gates.cost().key_bits / 8, gates.cost().aes, gates.cost().rounds), (520, 37, 9));
///
/// // 1.5 with 12 fraction bits, split into two additive shares.
/// let shares = [[77], [6144 - 77]];
/// let bundles = Dealer::from_os()?.deal_table_function(&q, &gates, 1)?;
/// let y = run_table_lockstep(&q, &gates, bundles, [&shares[0], &shares[1]])?;
/// let y = y[0][0].wrapping_add(y[1][0]) as i64;
/// assert_eq!(y, gelu.eval(6144));
/// assert!((y as f64 / 4096.0 - 1.39979).abs() < 0.85 / 4096.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFn {
    /// Bits of an input within its cell, and fraction bits of slopes.
    cell_bits: u32,
    /// Ascending; the first starts at the cell of the least input.
    zones: Vec<Zone>,
    /// The constants `V` and the slopes `S` of all lines, `2^k` words each.
    tables: [Vec<u64>; 2],
    inputs: SignedRange,
    outputs: Outputs,
}

/// Neighbouring cells with a line each, or with one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Zone {
    /// The first cell.
    start: i64,
    /// The number of the first cell's line.
    first: u64,
    /// Whether the lines of further cells follow it.
    is_split: bool,
}

/// Gates of a function by table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableGates {
    truncation: Gate,
    index: Gate,
    lookup: Gate,
    product: Gate,
    /// The shift, with the proof that the lines' coefficients give.
    shift: (Gate, GapCert),
    /// The first input of the cell of the least input, from which cells are counted.
    origin: u64,
    /// The constants and the slopes, in the ring of the product.
    tables: [Vec<u64>; 2],
}

impl TableFn {
    /// The most lines.
    pub const MAX_LINES: usize = 1 << Gate::MAX_LUT_BITS;

    /// Bits shifted off the line's value.
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.cell_bits
    }

    /// The fixed-point inputs for which the function is meaningful and no value wraps around.
    #[must_use]
    pub const fn inputs(&self) -> SignedRange {
        self.inputs
    }

    /// A proven range of the line's value on a proven range of inputs, before the shift.
    ///
    /// # Errors
    /// [`PfssError::Range`] for a range that is not within [`inputs`](Self::inputs).
    pub fn outputs_within(&self, inputs: SignedRange) -> Result<SignedRange, PfssError> {
        self.inputs.holds(inputs)?;
        self.outputs.within(inputs)
    }

    /// The function in the clear, exactly as shares compute it. Not for secrets: branches on `x`.
    ///
    /// Outside [`inputs`](Self::inputs) the value is arbitrary.
    #[must_use]
    pub fn eval(&self, x: i64) -> i64 {
        let cell = x >> self.cell_bits;
        let at = self.zones.partition_point(|zone| zone.start <= cell).saturating_sub(1);
        let Zone { start, first, is_split } = self.zones[at]; // there is a first zone by construction
        // a zone of several lines is followed by another zone, so the line exists
        let line = first as usize + if is_split { (cell - start).max(0) as usize } else { 0 };
        let [constant, slope] = self.tables.each_ref().map(|table| table[line]);
        slope.wrapping_mul(x.cast_unsigned()).wrapping_add(constant).cast_signed() >> self.cell_bits
    }

    /// The gates that evaluate the function on its whole range of [`inputs`](Self::inputs).
    ///
    /// # Errors
    /// As [`gates_within`](Self::gates_within).
    pub fn gates(&self) -> Result<TableGates, PfssError> {
        self.gates_within(self.inputs)
    }

    /// The gates that evaluate the function on a proven range of inputs.
    ///
    /// The smaller the range, the smaller the keys, down to a range as wide as the table, and the
    /// fewer bits are opened.
    ///
    /// # Errors
    /// [`PfssError::Range`] for a range that is not within [`inputs`](Self::inputs).
    pub fn gates_within(&self, inputs: SignedRange) -> Result<TableGates, PfssError> {
        let outputs = self.outputs_within(inputs)?;
        let s = self.cell_bits;
        // Cells are counted from the first that has an input, so that their ring has no negative part.
        let (least, greatest) = (inputs.min() >> s, inputs.max() >> s);
        let span = (greatest - least).cast_unsigned();
        let index_bits = self.tables[0].len().ilog2();
        let bits = (u64::BITS - span.leading_zeros()).max(index_bits); // at most 64 - s
        let index = self.index([least, greatest], bits)?;
        // The lines are needed in the ring of the shift.
        let AutoTrunc::Gap { gate, cert } = AutoTrunc::narrowest(s, RING_BITS, outputs)? else {
            return Err(RangeError::NoGap { n: RING_BITS, min: outputs.min(), max: outputs.max() }.into());
        };
        let ring = gate.ring();
        let reduced = |table: &Vec<u64>| table.iter().map(|&word| ring.reduce(word)).collect::<Vec<u64>>();
        Ok(TableGates {
            truncation: Gate::truncate_reduce(bits + s, s)?,
            index: Gate::suf(SufProgram::new(index, SufModes::default())?),
            lookup: Gate::lut(index_bits, ring.bits())?,
            product: Gate::product(ring.bits())?,
            shift: (gate, cert),
            origin: (least << s).cast_unsigned(),
            tables: self.tables.each_ref().map(reduced),
        })
    }

    /// The descriptor of a line's number, for cells counted from `least` on in `bits` bits.
    ///
    /// Each zone that holds a cell up to `greatest` is a piece.
    fn index(&self, [least, greatest]: [i64; 2], bits: u32) -> Result<SufDesc, PfssError> {
        let ring = Ring::new(bits).ok_or(SufError::RingWidth { got: bits })?;
        let mut pieces = Vec::new();
        for (at, &Zone { start, first, is_split }) in self.zones.iter().enumerate() {
            let ends_before = self.zones.get(at + 1).is_some_and(|next| next.start <= least);
            if ends_before || start > greatest {
                continue;
            }
            // the number of the line of cell `least`, were it in the zone
            let at_least = ring.reduce(first.wrapping_add((least - start).cast_unsigned()));
            let poly = if is_split { vec![at_least, 1] } else { vec![first] };
            let start = (start.max(least) - least).cast_unsigned();
            pieces.push((start, poly));
        }
        Ok(SufDesc::of_polynomials(bits, 1, "line", pieces)?)
    }
}

impl TableGates {
    /// The gates that need keys, in the order of [`TableBundles`].
    ///
    /// They are the truncation, the number of the line, two look-ups, the product and the shift.
    #[must_use]
    pub fn gates(&self) -> [&Gate; 6] {
        [&self.truncation, &self.index, &self.lookup, &self.lookup, &self.product, &self.shift.0]
    }

    /// Number of low bits of an input that the gates read.
    ///
    /// Shares of inputs modulo 2 to this power are enough.
    pub(crate) fn input_bits(&self) -> u32 {
        self.truncation.n().max(self.product.n())
    }

    /// Bits that one element sends each party, rounds, and bits of keys: the sum over all gates.
    ///
    /// Both look-ups share their rounds.
    #[must_use]
    pub fn cost(&self) -> Cost {
        let sum = self.gates().map(Gate::cost).into_iter().fold(Cost::default(), Cost::then);
        Cost { rounds: sum.rounds - self.lookup.cost().rounds, ..sum }
    }

    /// Bytes that each party sends for `count` elements, step digests included, and rounds.
    ///
    /// Exact; as in [`cost`](Self::cost), both look-ups share their rounds, and so the digests.
    #[must_use]
    pub fn traffic(&self, count: usize) -> (u64, u64) {
        let (bytes, rounds) = total_traffic(self.gates().map(|gate| gate.traffic(count)));
        let shared = self.lookup.cost().rounds;
        (bytes - STEP_DIGEST * shared, rounds - shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{Accuracy, gelu};

    /// Bytes of keys, AES blocks, bits sent and rounds.
    fn figures(cost: Cost) -> [u64; 4] {
        [cost.key_bits / 8, cost.aes, cost.input_bits + cost.masked_bits, cost.rounds]
    }

    /// The bytes of each key from its construction, and the documented table.
    #[test]
    fn tables_cost_what_their_construction_and_the_documented_table_say() {
        let (gelu_within, positive) = (SignedRange::of_bits(25), SignedRange::new(0, (1 << 24) - 1).unwrap());
        let within = |f: Result<TableFn, _>, range| f.and_then(|f| f.gates_within(range)).unwrap();
        let tables = [
            // values below 2^24 in units of 2^-7: 32 bits, and one for the gap
            ("`TableFn::gelu`", within(TableFn::gelu(12), gelu_within), (18, 8, 33), 3 * 11),
            ("`TableFn::silu`", within(TableFn::silu(12), gelu_within), (18, 10, 33), 3 * 11),
            // three points in one window of 2^9; values a little above 2^12 in these units
            ("`TableFn::neg_exp`", within(TableFn::neg_exp(12), positive), (17, 8, 22), 2 * 8 + 3 * 2),
        ];
        let document = include_str!("../../../../../docs/pfss.md");
        let check = |name: &str, cost: Cost| {
            let [bytes, aes, sent, rounds] = figures(cost);
            let grouped =
                if bytes < 1000 { bytes.to_string() } else { format!("{},{:03}", bytes / 1000, bytes % 1000) };
            let row = format!("| {grouped} | {aes} | {sent} | {rounds} |");
            let line = document.lines().find(|line| line.starts_with(&format!("| {name}")));
            assert!(line.is_some_and(|line| line.ends_with(&row)), "{name}: {row}");
        };
        for (name, gates, (cell_bits, line_bits, word_bits), comparison) in tables {
            let tree = |bits: u64| if bits > 7 { 16 * (bits - 5) } else { 16 };
            let bytes = (tree(7) + 24) + (tree(cell_bits) + 40) + 2 * (tree(line_bits) + 32) + 24 + (tree(7) + 32);
            // the carry, two selectors, two signs, the carry of the shift
            let masked_bits = 1 + 2 + 2 * (1 + word_bits) + 1;
            let look_up = 2 * ((1 << (line_bits - 7)) - 1);
            let expected = Cost {
                key_bits: 8 * bytes + 6,
                aes: comparison + 2 * look_up,
                // an input, its cell, the line twice, both factors, the line's value
                input_bits: cell_bits + 7 + cell_bits + 2 * line_bits + 3 * word_bits,
                masked_bits,
                rounds: 9,
            };
            assert_eq!(gates.cost(), expected, "{name}");
            check(name, gates.cost());
        }
        let splines = [("`gelu`, `CUBIC_16`", Accuracy::CUBIC_16), ("`gelu`, `QUADRATIC_32`", Accuracy::QUADRATIC_32)];
        for (name, accuracy) in splines {
            check(name, gelu(accuracy).unwrap().gates_within(SufModes::default(), gelu_within).unwrap().cost());
        }
    }

    #[test]
    fn ranges_decide_the_pieces_of_the_descriptor() {
        let f = TableFn::gelu(12).unwrap();
        let pieces = |min, max| {
            let gates = f.gates_within(SignedRange::new(min, max).unwrap()).unwrap();
            gates.index.program().unwrap().desc().pieces().len()
        };
        let end = 127 << 7;
        assert_eq!(pieces(-end, end - 1), 1);
        assert_eq!(pieces(-end - 1, end - 1), 2);
        assert_eq!(pieces(-end, end), 2);
        assert_eq!(pieces(-end - 1, end), 3);
        assert_eq!(pieces(end, 1 << 20), 1);
        assert_eq!(pieces(0, 0), 1);
        let refused = f.gates_within(SignedRange::new(0, 1 << 24).unwrap()).unwrap_err();
        assert!(matches!(refused, PfssError::Range(RangeError::Outside { .. })));
    }

    /// Every cell of every range has the line that the function in the clear takes.
    #[test]
    fn descriptors_number_the_lines() {
        let f = TableFn::neg_exp(8).unwrap();
        for (min, max) in [(0, 5000), (0, 1), (100, 1000), (1300, 1400), (1344, 1700), (0, i64::MAX), (9000, 9001)] {
            let gates = f.gates_within(SignedRange::new(min, max).unwrap()).unwrap();
            let program = gates.index.program().unwrap();
            for x in (min..=max).take(9000).chain([max]) {
                let cell = (x.cast_unsigned() - gates.origin) >> f.shift();
                let line = program.desc().eval(cell).words[0] as usize;
                let value = f.tables[1][line].wrapping_mul(x.cast_unsigned()).wrapping_add(f.tables[0][line]);
                assert_eq!(value.cast_signed() >> f.shift(), f.eval(x), "{x} in {min}..={max}");
            }
        }
    }
}
