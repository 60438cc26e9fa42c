//! Computations of several gates: the keys they need, and how one party runs them.

use std::sync::Arc;

use pfss::{
    Channel, Dealer, DeviceShares, Gate, KeyBundle, MatrixShape, MatrixTriple, Operation, Party, PfssError, Predicate,
    Ring, Session, Task,
    functions::{FixedBundles, FixedGates, TableBundles, TableGates},
    softmax::SecureSoftmaxPlan,
};
use runtime::AnyQueue;
use zeroize::Zeroizing;

use crate::{parts, status::CallFailure};

/// Bytes of the seed that replaces a party's uniform keys.
pub(super) const SEED: u64 = 32;

/// The ring of functions by tables and of softmax.
const REALS: Ring = match Ring::new(64) {
    Some(ring) => ring,
    None => unreachable!(),
};

/// The computation of a plan, with all sizes.
pub(super) enum Computation {
    /// A gate without output bits and masks, and its number of elements.
    Gate(Arc<Operation>, usize),
    /// A function by splines, and its number of elements.
    Spline(Box<FixedGates>, usize),
    /// A function by a table of lines, and its number of elements.
    Table(Box<TableGates>, usize),
    /// Softmax of packed rows.
    Softmax(Box<SecureSoftmaxPlan>),
    /// A batch of matrix products.
    Matmul(Ring, MatrixShape),
    /// Products of elements, and their number.
    Product(Gate, usize),
    /// Comparisons with public constants, and the number of elements of each.
    Predicates(Gate, Vec<Predicate>, usize),
}

/// One party's keys for a computation.
pub(super) enum ComputationKeys {
    Bundles(Vec<KeyBundle>),
    Triple(MatrixTriple),
}

impl Computation {
    /// The numbers of elements of both inputs; the second is 0 if there is one input.
    pub(super) fn inputs(&self) -> [usize; 2] {
        match self {
            Self::Gate(_, count) | Self::Spline(_, count) | Self::Table(_, count) | Self::Predicates(_, _, count) => {
                [*count, 0]
            }
            Self::Softmax(plan) => [plan.layout().active(), 0],
            Self::Matmul(_, shape) => {
                let [left, right, _] = shape.lens();
                [left, right]
            }
            Self::Product(_, count) => [*count; 2],
        }
    }

    /// Refuses other numbers of elements.
    pub(super) fn check_inputs(&self, [x, y]: [usize; 2]) -> Result<(), CallFailure> {
        let [left, right] = self.inputs();
        CallFailure::unless_len("elements of x", left, x)?;
        CallFailure::unless_len("elements of y", right, y)
    }

    /// The number of elements of the result.
    pub(super) fn outputs(&self) -> usize {
        match self {
            Self::Gate(operation, count) => {
                let words = operation.gate().program().map_or(1, |program| program.desc().words().len());
                count.saturating_mul(words)
            }
            Self::Spline(_, count) | Self::Table(_, count) | Self::Product(_, count) => *count,
            Self::Softmax(plan) => plan.layout().active(),
            Self::Matmul(_, shape) => shape.lens()[2],
            Self::Predicates(_, predicates, count) => predicates.len().saturating_mul(*count),
        }
    }

    /// The ring of the inputs.
    pub(super) fn ring(&self) -> Ring {
        match self {
            Self::Gate(operation, _) => operation.gate().ring(),
            Self::Spline(gates, _) => gates.suf.ring(),
            Self::Table(..) | Self::Softmax(_) => REALS,
            Self::Matmul(ring, _) => *ring,
            Self::Product(gate, _) | Self::Predicates(gate, ..) => gate.ring(),
        }
    }

    /// Whether a run takes inputs in device memory, and leaves its result there.
    pub(super) fn runs_on_device(&self) -> bool {
        // One op takes less than 2^32 elements.
        let [left, right] = self.inputs();
        let counted = [left, right, self.outputs()].iter().all(|&count| u32::try_from(count).is_ok());
        counted
            && match self {
                Self::Gate(operation, _) => operation.task().runs_on_device(operation.gate()),
                Self::Spline(gates, _) => Task::Suf.runs_on_device(&gates.suf),
                Self::Softmax(plan) => plan.deals().iter().all(|(gate, _)| Task::Suf.runs_on_device(gate)),
                Self::Table(..) | Self::Matmul(..) | Self::Product(..) | Self::Predicates(..) => true,
            }
    }

    /// The width of the result's ring in bits.
    pub(super) fn out_bits(&self) -> u32 {
        match self {
            Self::Spline(..) | Self::Table(..) | Self::Softmax(_) => 64,
            Self::Gate(operation, _) => operation.gate().out_ring().bits(),
            Self::Matmul(ring, _) => ring.bits(),
            Self::Product(gate, _) | Self::Predicates(gate, ..) => gate.out_ring().bits(),
        }
    }

    /// Bytes that each party sends, and rounds.
    pub(super) fn traffic(&self) -> (u64, u64) {
        match self {
            Self::Table(gates, count) => gates.traffic(*count),
            Self::Softmax(plan) => plan.traffic(),
            Self::Matmul(ring, shape) => shape.traffic(*ring),
            Self::Gate(..) | Self::Spline(..) | Self::Product(..) | Self::Predicates(..) => {
                let gates = self.deals().into_iter().map(|(gate, count)| gate.traffic(count));
                gates.fold((0, 0), |sum, each| (sum.0 + each.0, sum.1 + each.1))
            }
        }
    }

    /// Bytes of `party`'s keys, without headers, encodings of descriptors and gaps, saturating.
    pub(super) fn key_bytes(&self, party: Party) -> u64 {
        if let Self::Matmul(_, shape) = self {
            return shape.key_bytes(party);
        }
        self.deals().iter().map(|(gate, count)| gate.key_bytes(party, *count)).fold(0, u64::saturating_add)
    }

    /// The gates that need bundles, in the order of the bundles; none for matrix products.
    pub(super) fn deals(&self) -> Vec<(Gate, usize)> {
        match self {
            Self::Gate(operation, count) => vec![(operation.gate().clone(), *count)],
            Self::Spline(gates, count) => gates.gates().map(|gate| (gate.clone(), *count)).collect(),
            Self::Table(gates, count) => gates.gates().into_iter().map(|gate| (gate.clone(), *count)).collect(),
            Self::Softmax(plan) => plan.deals(),
            Self::Matmul(..) => Vec::new(),
            Self::Product(gate, count) | Self::Predicates(gate, _, count) => vec![(gate.clone(), *count)],
        }
    }

    /// Deals both parties' keys.
    pub(super) fn deal(&self, dealer: &mut Dealer, q: &AnyQueue) -> Result<[Zeroizing<Vec<u8>>; 2], CallFailure> {
        if let Self::Matmul(ring, shape) = self {
            let triples = dealer.deal_matrix(q, *ring, *shape)?;
            return Ok(triples.map(|triple| parts::join(&[&triple.to_bytes()[..]])));
        }
        let bundles = dealer.deal_all(q, &self.deals())?;
        Ok(bundles.map(|bundles| {
            let all: Vec<Zeroizing<Vec<u8>>> = bundles.iter().map(KeyBundle::to_bytes).collect();
            let all: Vec<&[u8]> = all.iter().map(|bytes| &bytes[..]).collect();
            parts::join(&all)
        }))
    }

    /// Reads one party's keys, and refuses keys of another computation.
    pub(super) fn read(&self, bytes: &[u8]) -> Result<ComputationKeys, CallFailure> {
        let parts = parts::split(bytes)?;
        let deals = self.deals();
        CallFailure::unless_len("parts of keys", deals.len().max(1), parts.len())?;
        if let Self::Matmul(ring, shape) = self {
            let triple = MatrixTriple::from_bytes(parts[0]).map_err(PfssError::from)?;
            let fits = (triple.ring(), triple.shape()) == (*ring, *shape);
            return if fits { Ok(ComputationKeys::Triple(triple)) } else { Err(PfssError::Program.into()) };
        }
        let mut bundles: Vec<KeyBundle> = Vec::with_capacity(deals.len());
        for (part, (gate, count)) in parts.into_iter().zip(&deals) {
            let bundle = KeyBundle::from_bytes(part).map_err(PfssError::from)?;
            if bundle.gate() != gate {
                return Err(PfssError::Program.into());
            }
            CallFailure::unless_len("elements of keys", *count, bundle.count())?;
            if let Some(first) = bundles.first()
                && first.party() != bundle.party()
            {
                return Err(PfssError::WrongParty { expected: first.party(), got: bundle.party() }.into());
            }
            bundles.push(bundle);
        }
        Ok(ComputationKeys::Bundles(bundles))
    }

    /// This party's shares of the result, in a session that has just begun.
    pub(super) fn run<C: Channel>(
        &self,
        session: &mut Session<C>,
        q: &AnyQueue,
        keys: ComputationKeys,
        [x, y]: [&[u64]; 2],
    ) -> Result<Vec<u64>, PfssError> {
        let bundles = match (self, keys) {
            (Self::Matmul(..), ComputationKeys::Triple(triple)) => return session.matmul(q, triple, [x, y]),
            (_, ComputationKeys::Bundles(bundles)) => bundles,
            _ => return Err(PfssError::Program),
        };
        let mut single = bundles.into_iter();
        let mut next = || single.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 });
        match self {
            Self::Gate(operation, _) => Ok(session.run(q, operation.task(), next()?, x)?.words),
            Self::Spline(gates, _) => {
                let suf = next()?;
                session.function(q, gates, FixedBundles { suf, shift: single.next() }, x)
            }
            Self::Table(gates, _) => {
                session.table_function(q, gates, TableBundles::try_from(single.collect::<Vec<_>>())?, x)
            }
            Self::Softmax(plan) => session.softmax(q, plan, single.collect(), x),
            Self::Product(..) => session.product(q, next()?, [x, y]),
            Self::Predicates(_, predicates, _) => Ok(session.run(q, Task::Predicates(predicates), next()?, x)?.words),
            Self::Matmul(..) => Err(PfssError::Program),
        }
    }

    /// [`run`](Self::run) on shares in device memory, where the result stays.
    pub(super) fn run_on_device<'q, C: Channel>(
        &self,
        session: &mut Session<C>,
        keys: ComputationKeys,
        [x, y]: [&DeviceShares<'q, AnyQueue>; 2],
    ) -> Result<DeviceShares<'q, AnyQueue>, PfssError> {
        let bundles = match (self, keys) {
            (Self::Matmul(..), ComputationKeys::Triple(triple)) => return session.matmul_on_device(triple, [x, y]),
            (_, ComputationKeys::Bundles(bundles)) => bundles,
            _ => return Err(PfssError::Program),
        };
        let mut single = bundles.into_iter();
        let mut next = || single.next().ok_or(PfssError::Length { what: "bundles left", expected: 1, got: 0 });
        match self {
            Self::Gate(operation, _) => session.run_on_device(operation.task(), next()?, x),
            Self::Spline(gates, _) => {
                let suf = next()?;
                session.function_on_device(gates, FixedBundles { suf, shift: single.next() }, x)
            }
            Self::Table(gates, _) => session.table_function_on_device_from(gates, next, x),
            Self::Softmax(plan) => session.softmax_on_device_from(plan, next, x),
            Self::Product(..) => session.product_on_device(next()?, [x, y]),
            Self::Predicates(_, predicates, _) => session.run_on_device(Task::Predicates(predicates), next()?, x),
            Self::Matmul(..) => Err(PfssError::Program),
        }
    }
}

impl ComputationKeys {
    /// The party whose keys they are.
    pub(super) fn party(&self) -> Result<Party, CallFailure> {
        match self {
            Self::Triple(triple) => Ok(triple.party()),
            Self::Bundles(bundles) => {
                bundles.first().map(KeyBundle::party).ok_or_else(|| CallFailure::argument("expected keys, got none"))
            }
        }
    }
}
