//! Gates by name, with their plain meaning.

use thiserror::Error;

use crate::{Gate, PfssError, SignedRange, Task, suf::SufProgram};

/// A gate with all public parameters of its evaluation.
///
/// The dealer and both parties agree on them.
///
/// Unlike a [`Task`] it owns its contents, so it can be read from a file or come from another
/// language. It covers gates on one secret with additive results, and descriptors.
///
/// ```
/// use pfss::{Dealer, Operation, Parameters, run_lockstep};
///
/// let shift = Operation::named("ars", &Parameters { n: 32, shift: Some(4), ..Parameters::default() })?;
/// let q = runtime::cpu()?;
/// let bundles = Dealer::from_os()?.deal(&q, shift.gate(), 1)?;
/// let y = run_lockstep(&q, shift.task(), bundles, [&[7], &[(-40i64) as u64]])?;
/// let y = shift.gate().ring().add(y[0].words[0], y[1].words[0]);
/// assert_eq!(y, shift.eval(-33i64 as u64)[0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    gate: Gate,
    kind: GateComputation,
}

/// The computation that uses the keys of the gate.
#[derive(Clone, Debug, PartialEq)]
enum GateComputation {
    Task(Task<'static>),
    /// [`Task::Lut`] of an owned table.
    Lut(Vec<u64>),
}

/// What [`Operation::named`] makes a gate from. Leave out whatever the gate does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parameters<'a> {
    /// Ring width of the input in bits.
    pub n: u32,
    /// Bits shifted off, for shifts.
    pub shift: Option<u32>,
    /// A range that is proven to hold every input: required by `gap_ars`, optional for `relu`.
    pub range: Option<SignedRange>,
    /// Width of the table's words in bits, for `lut`.
    pub word_bits: Option<u32>,
    /// The table, for `lut`.
    pub table: Option<&'a [u64]>,
}

/// Why there is no such operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OperationError {
    /// No gate has this name.
    #[error("unknown gate `{got}`; expected one of: {}", Operation::NAMES.join(", "))]
    Name {
        /// The name.
        got: String,
    },
    /// A parameter that the gate needs is missing.
    #[error("expected `{parameter}` for gate `{gate}`, got none")]
    Missing {
        /// The gate.
        gate: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter that the gate does not have.
    #[error("expected no `{parameter}` for gate `{gate}`")]
    Unused {
        /// The gate.
        gate: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// The gate refuses its parameters.
    #[error(transparent)]
    Gate(#[from] PfssError),
}

impl Operation {
    /// The names of gates, as [`named`](Self::named) takes them.
    pub const NAMES: [&'static str; 8] = ["relu", "abs", "truncate_reduce", "gap_ars", "lrs", "ars", "relu_ars", "lut"];

    /// The gate `name` with these parameters.
    ///
    /// # Errors
    /// [`OperationError`] for a name that is not one of [`NAMES`](Self::NAMES), for parameters that
    /// are missing, too many, or outside the gate's definition.
    pub fn named(name: &str, parameters: &Parameters<'_>) -> Result<Self, OperationError> {
        let found = Self::NAMES.into_iter().find(|known| *known == name);
        let gate = found.ok_or_else(|| OperationError::Name { got: name.to_owned() })?;
        let &Parameters { n, shift, range, word_bits, table } = parameters;
        let (shifts, bounded, looks_up) =
            (!matches!(gate, "relu" | "abs" | "lut"), matches!(gate, "relu" | "gap_ars"), gate == "lut");
        for (parameter, given, has) in [
            ("shift", shift.is_some(), shifts),
            ("range", range.is_some(), bounded),
            ("word_bits", word_bits.is_some(), looks_up),
            ("table", table.is_some(), looks_up),
        ] {
            if given && !has {
                return Err(OperationError::Unused { gate, parameter });
            }
        }
        let missing = |parameter| OperationError::Missing { gate, parameter };
        let shift = || shift.ok_or(missing("shift"));
        let (gate, task) = match gate {
            "relu" => match range {
                Some(range) => (Gate::relu_within(n, range.bits())?, Task::ReluWithin(range)),
                None => (Gate::relu(n)?, Task::Relu),
            },
            "abs" => (Gate::relu(n)?, Task::Abs),
            "truncate_reduce" => (Gate::truncate_reduce(n, shift()?)?, Task::TruncateReduce),
            "gap_ars" => {
                let cert = range.ok_or(missing("range"))?.gap_cert(n).map_err(PfssError::from)?;
                (Gate::gap_ars(n, shift()?)?, Task::GapArs(cert))
            }
            "lrs" => (Gate::lrs(n, shift()?)?, Task::Lrs),
            "ars" => (Gate::ars(n, shift()?)?, Task::Ars),
            "relu_ars" => (Gate::relu_ars(n, shift()?)?, Task::ReluArs),
            _ => {
                let gate = Gate::lut(n, word_bits.ok_or(missing("word_bits"))?)?;
                let table = table.ok_or(missing("table"))?;
                Task::Lut(table).plan(&gate)?; // refuses a table that is none for the gate
                return Ok(Self { gate, kind: GateComputation::Lut(table.to_vec()) });
            }
        };
        Ok(Self { gate, kind: GateComputation::Task(task) })
    }

    /// The function of a descriptor.
    #[must_use]
    pub fn suf(program: SufProgram) -> Self {
        Self { gate: Gate::suf(program), kind: GateComputation::Task(Task::Suf) }
    }

    /// The operation with each output word under a mask: see [`Gate::with_masked_outputs`].
    ///
    /// # Errors
    /// [`PfssError::NoOutputWords`] for a descriptor of bits alone.
    pub fn with_masked_outputs(self) -> Result<Self, PfssError> {
        Ok(Self { gate: self.gate.with_masked_outputs()?, ..self })
    }

    /// The gate to deal keys for.
    #[must_use]
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The task to run with those keys.
    #[must_use]
    pub fn task(&self) -> Task<'_> {
        match &self.kind {
            GateComputation::Task(task) => *task,
            GateComputation::Lut(table) => Task::Lut(table),
        }
    }

    /// The inputs for which the result is meaningful, read as signed.
    ///
    /// They are all inputs, unless a range was proven.
    #[must_use]
    pub fn inputs(&self) -> SignedRange {
        let bits = self.gate.program().map_or(self.gate.n(), |program| program.domain().bits());
        self.task().proven().unwrap_or_else(|| SignedRange::of_bits(bits))
    }

    /// The result in the clear: one word, or a descriptor's words and then its bits as 0 or 1.
    ///
    /// Not for secrets: branches on `x`. For `x` within [`inputs`](Self::inputs).
    #[must_use]
    pub fn eval(&self, x: u64) -> Vec<u64> {
        let ring = self.gate.ring();
        self.gate.shape().plain(ring, &self.task(), ring.reduce(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, parameters: Parameters<'_>) -> Result<Operation, String> {
        Operation::named(name, &parameters).map_err(|error| error.to_string())
    }

    #[test]
    fn names_and_parameters_that_do_not_go_together_are_refused_by_name() {
        let n = Parameters { n: 16, ..Parameters::default() };
        let shift = Parameters { shift: Some(4), ..n };
        let table: Vec<u64> = (0..16).collect();
        let lut = Parameters { n: 4, word_bits: Some(4), table: Some(&table), ..n };
        for (name, parameters, expected) in [
            ("rely", n, "unknown gate `rely`; expected one of: relu, abs"),
            ("ars", n, "expected `shift` for gate `ars`, got none"),
            ("relu", shift, "expected no `shift` for gate `relu`"),
            ("gap_ars", shift, "expected `range` for gate `gap_ars`, got none"),
            ("lut", Parameters { table: None, ..lut }, "expected `table` for gate `lut`, got none"),
            ("lut", Parameters { n: 5, ..lut }, "expected 32 words of the table, got 16"),
            ("lut", Parameters { word_bits: Some(3), ..lut }, "constant 0x8 of item 8 is outside a ring of 3 bits"),
            ("lrs", Parameters { table: Some(&table), ..shift }, "expected no `table` for gate `lrs`"),
            ("ars", Parameters { shift: Some(16), ..n }, "expected a shift of 1 to 15 bits for ars, got 16"),
            ("relu", Parameters { n: 65, ..n }, "expected a ring of 2 to 64 bits for relu, got 65"),
        ] {
            let refused = named(name, parameters).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
        for name in Operation::NAMES {
            let range = Some(SignedRange::of_bits(8));
            let tried = [n, shift, Parameters { range, ..shift }, lut].map(|parameters| named(name, parameters));
            assert!(tried.iter().any(Result::is_ok), "{name}");
        }
    }

    #[test]
    fn the_plain_meaning_is_that_of_wide_integers() {
        let n = Parameters { n: 8, ..Parameters::default() };
        let shift = Parameters { shift: Some(3), ..n };
        let table: Vec<u64> = (0..256).map(|x| x * x % 32).collect();
        let lut = Parameters { word_bits: Some(5), table: Some(&table), ..n };
        let gap = Parameters { range: Some(SignedRange::of_bits(7)), ..shift };
        type Meaning = fn(i64, u64) -> i64;
        let meanings: [(&str, Parameters<'_>, u64, Meaning); 8] = [
            ("relu", n, 256, |s, _| s.max(0)),
            ("abs", n, 256, |s, _| s.abs()),
            ("truncate_reduce", shift, 32, |_, x| (x / 8) as i64),
            ("gap_ars", gap, 256, |s, _| s.div_euclid(8)),
            ("lrs", shift, 256, |_, x| (x / 8) as i64),
            ("ars", shift, 256, |s, _| s.div_euclid(8)),
            ("relu_ars", shift, 256, |s, _| s.max(0) / 8),
            ("lut", lut, 32, |_, x| (x * x % 32) as i64),
        ];
        for (name, parameters, modulus, meaning) in meanings {
            let operation = named(name, parameters).unwrap();
            let inputs = operation.inputs();
            for signed in inputs.min()..=inputs.max() {
                let x = signed.rem_euclid(256) as u64;
                let expected = meaning(signed, x).rem_euclid(modulus as i64) as u64;
                assert_eq!(operation.eval(x), [expected], "{name}({signed})");
            }
        }
    }
}
