//! The computation of a folder's keys, from `gate.json`: a gate, or a function of one or two.

use anyhow::{Result, bail, ensure};
use pfss::{
    Channel, Dealer, Gate, KeyBundle, Operation, Parameters, PfssError, Ring, Session, Shares, SignedRange,
    functions::FixedBundles, suf::BoolMode,
};
use runtime::AnyQueue;

use super::{function::NamedFunction, gate_file::GateFile};

/// The computation of a folder's keys.
#[derive(Debug)]
pub(super) enum Computation {
    /// One gate, by its name.
    Gate(String, Operation),
    /// A function, of one gate or two.
    Function(Box<NamedFunction>),
}

impl Computation {
    /// Its name, as in `gate.json`.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Gate(name, _) => name,
            Self::Function(function) => function.name,
        }
    }

    /// Its gates, in the order in which they run. There is one at least.
    pub(super) fn gates(&self) -> Vec<&Gate> {
        match self {
            Self::Gate(_, operation) => vec![operation.gate()],
            Self::Function(function) => function.gates(),
        }
    }

    /// The ring of the inputs.
    pub(super) fn ring(&self) -> Ring {
        self.gates()[0].ring()
    }

    /// The ring of the results.
    pub(super) fn out_ring(&self) -> Ring {
        match self {
            Self::Gate(_, operation) => operation.gate().out_ring(),
            Self::Function(_) => self.ring(),
        }
    }

    /// The inputs for which the result is meaningful, read as signed.
    pub(super) fn inputs(&self) -> SignedRange {
        match self {
            Self::Gate(_, operation) => operation.inputs(),
            Self::Function(function) => function.inputs,
        }
    }

    /// Fraction bits of inputs and of results, which are integers otherwise.
    pub(super) fn fractions(&self) -> [u32; 2] {
        match self {
            Self::Gate(..) => [0, 0],
            Self::Function(function) => [NamedFunction::FRACTION, function.fraction],
        }
    }

    /// The names of the result's words, and then of its bits.
    pub(super) fn names(&self) -> [Vec<String>; 2] {
        match self {
            Self::Gate(_, operation) => match operation.gate().program() {
                Some(program) => [program.desc().words().to_vec(), program.desc().bools().to_vec()],
                None => [vec!["y".to_owned()], Vec::new()],
            },
            Self::Function(_) => [vec!["y".to_owned()], Vec::new()],
        }
    }

    /// Whether the parties' shares of the result's bits are combined by exclusive or.
    pub(super) fn xor_bits(&self) -> bool {
        let Self::Gate(_, operation) = self else { return false };
        operation.gate().program().is_some_and(|program| program.modes().bools == BoolMode::XorPacked)
    }

    /// The bytes that each party sends for `count` evaluations, and the AES blocks they cost it.
    pub(super) fn cost(&self, count: usize) -> [u64; 2] {
        let each = self.gates().into_iter().map(|gate| [gate.traffic(count).0, gate.cost().aes * count as u64]);
        each.fold([0; 2], |sum, cost| [sum[0] + cost[0], sum[1] + cost[1]])
    }

    /// The result in the clear: its words and then its bits as 0 or 1.
    pub(super) fn eval(&self, x: u64) -> Vec<u64> {
        match self {
            Self::Gate(_, operation) => operation.eval(x),
            Self::Function(function) => vec![function.eval(x)],
        }
    }

    /// Both parties' keys for `count` evaluations, a bundle for each gate.
    pub(super) fn deal(&self, q: &AnyQueue, count: usize) -> Result<[Vec<KeyBundle>; 2], PfssError> {
        let mut dealer = Dealer::from_os()?;
        match self {
            Self::Gate(_, operation) => Ok(dealer.deal(q, operation.gate(), count)?.map(|bundle| vec![bundle])),
            Self::Function(function) => {
                let both = dealer.deal_function(q, &function.gates, count)?;
                Ok(both.map(|FixedBundles { suf, shift }| [suf].into_iter().chain(shift).collect()))
            }
        }
    }

    /// Runs one party's part.
    pub(super) fn run(
        &self,
        session: &mut Session<&mut dyn Channel>,
        q: &AnyQueue,
        bundles: Vec<KeyBundle>,
        x: &[u64],
    ) -> Result<Shares, PfssError> {
        let mut bundles = bundles.into_iter();
        let first = bundles.next().ok_or(PfssError::Program)?;
        match self {
            Self::Gate(_, operation) => session.run(q, operation.task(), first, x),
            Self::Function(function) => {
                let bundles = FixedBundles { suf: first, shift: bundles.next() };
                session.function(q, &function.gates, bundles, x).map(Shares::from)
            }
        }
    }
}

impl GateFile {
    const SUF: &str = "suf";

    /// Checks and returns the computation.
    pub(super) fn computation(&self) -> Result<Computation> {
        let Self { gate, bits, shift, range, word_bits, table, descriptor, .. } = self;
        if gate == Self::SUF {
            self.only(&["descriptor"])?;
            let Some(descriptor) = descriptor else { bail!("expected `descriptor` for gate `suf`, got none") };
            return Ok(Computation::Gate(gate.clone(), Operation::suf(descriptor.clone().program()?)));
        }
        let range = range.map(|[min, max]| SignedRange::new(min, max)).transpose()?;
        if let Some(function) = NamedFunction::named(self, range)? {
            return Ok(Computation::Function(Box::new(function)));
        }
        let names = || Operation::NAMES.into_iter().chain(NamedFunction::NAMES).chain([Self::SUF]).collect::<Vec<_>>();
        ensure!(
            gate != "softmax",
            "softmax is not a gate: it takes many, with element counts that depend on the lengths of rows; `trefoil \
             pfss deal --model transformer` deals for one in a model, and crate `pfss` for any rows (`pfss::softmax`)"
        );
        ensure!(
            Operation::NAMES.contains(&gate.as_str()),
            "unknown gate `{gate}`; expected one of: {}",
            names().join(", ")
        );
        self.only(&["bits", "shift", "range", "word_bits", "table"])?;
        let (n, shift, word_bits, table) = (bits.unwrap_or(64), *shift, *word_bits, table.as_deref());
        let operation = Operation::named(gate, &Parameters { n, shift, range, word_bits, table })?;
        Ok(Computation::Gate(gate.clone(), operation))
    }
}
