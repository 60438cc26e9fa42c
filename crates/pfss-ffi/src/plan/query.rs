//! Questions about secrets, as C gives them.

use pfss::{Gate, Interval, PfssError, Predicate};

use crate::status::CallFailure;

/// A question about a secret `x` of `n` bits, with public constants.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Which question.
    ///
    /// 1: `x < a`. 2: `a <= x < b`, where `b` of 0 stands for `2^n`. 3: whether the masked `x`
    /// wrapped around `2^n`. 4: the top bit of `x + a`. 5: `x >= 0` signed. 6: whether the low
    /// `n - 1` bits wrapped. 7: the low bits are less than `a`. 8: whether the low bits wrapped.
    pub kind: u32,
    /// The first constant; 0 if the question has none.
    pub a: u64,
    /// The second constant; 0 if the question has none.
    pub b: u64,
}

/// The keys that answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keyed {
    Whole,
    Sign,
    LowBits,
}

impl Query {
    /// The keys that it needs, its number of constants, and its predicate.
    ///
    /// The constants are not checked yet.
    fn predicate(self) -> Result<(Keyed, u32, Predicate), CallFailure> {
        let Self { kind, a, b } = self;
        match kind {
            1 => Ok((Keyed::Whole, 1, Predicate::Lt { beta: a })),
            2 => Ok((Keyed::Whole, 2, Predicate::Interval(Interval { start: a, end: (b != 0).then_some(b) }))),
            3 => Ok((Keyed::Whole, 0, Predicate::Wrap)),
            4 => Ok((Keyed::Sign, 1, Predicate::Msb { c: a })),
            5 => Ok((Keyed::Sign, 0, Predicate::NonNegative)),
            6 => Ok((Keyed::Sign, 0, Predicate::Borrow)),
            7 => Ok((Keyed::LowBits, 1, Predicate::LowLt { gamma: a })),
            8 => Ok((Keyed::LowBits, 0, Predicate::Carry)),
            _ => Err(CallFailure::argument(format!("expected a query of kind 1 to 8, got {kind}"))),
        }
    }

    /// Refuses constants that the question does not have, or that `mask` does not hold.
    fn check(self, index: usize, constants: u32, mask: u64) -> Result<(), CallFailure> {
        let Self { kind, a, b } = self;
        if (constants < 2 && b != 0) || (constants < 1 && a != 0) {
            let expected = format!("expected {constants} constants for query {index} of kind {kind}");
            return Err(CallFailure::argument(format!("{expected}, got {a:#x} and {b:#x}")));
        }
        if let Some(got) = [a, b].into_iter().find(|&constant| constant > mask) {
            return Err(PfssError::Constant { index, bits: mask.count_ones(), got }.into());
        }
        if constants == 2 && b != 0 && b <= a {
            return Err(PfssError::EmptyInterval { index, start: a, end: b }.into());
        }
        Ok(())
    }
}

/// The predicates, and the gate whose keys answer them all.
pub(super) fn predicates(n: u32, low_bits: u32, queries: &[Query]) -> Result<(Gate, Vec<Predicate>), CallFailure> {
    let keyed = queries.iter().map(|query| query.predicate()).collect::<Result<Vec<_>, _>>()?;
    let Some(&(first, ..)) = keyed.first() else {
        return Err(CallFailure::argument("expected at least one query, got none"));
    };
    // One tree answers questions of one kind.
    if let Some(index) = keyed.iter().position(|&(kind, ..)| kind != first) {
        let expected = "expected queries that are all about the whole secret, or its sign, or its low bits";
        return Err(CallFailure::argument(format!("{expected}, got others from query {index} on")));
    }
    if first != Keyed::LowBits && low_bits > 0 {
        return Err(CallFailure::argument(format!("expected `low_bits` of 0 for these queries, got {low_bits}")));
    }
    let gate = match first {
        Keyed::Whole => Gate::full_predicates(n)?,
        Keyed::Sign => Gate::sign_predicates(n)?,
        Keyed::LowBits => Gate::low_predicates(n, low_bits)?,
    };
    // Every answer is opened under a bit of the dealer.
    let gate = gate.with_masks(u32::try_from(queries.len()).unwrap_or(u32::MAX))?;
    let mask = if first == Keyed::LowBits { (1 << low_bits) - 1 } else { gate.ring().mask() };
    for (index, (query, &(_, constants, _))) in queries.iter().zip(&keyed).enumerate() {
        query.check(index, constants, mask)?;
    }
    Ok((gate, keyed.into_iter().map(|(_, _, predicate)| predicate).collect()))
}
