//! What memory a prover takes, before it takes any.

use backend_api::{BackendError, Buffer as _, Element, Queue};
use core_types::field::{M31, Twiddle};
use stark_verifier::PcsConfig;

use crate::{
    Component, ProverError, Residency,
    plan::outline::Outline,
    plan::ranks::RankPlace,
    plan::residency::bounds,
    plan::shape::StatementShape,
    storage::memory::ProverMemory,
    storage::planned::{CountingQueue, Nowhere},
};

/// Device memory a [`Prover`](crate::Prover) will use, computed from its statement.
///
/// Allocates nothing.
///
/// Single ops need some workspace while they run: a few kilobytes on a GPU, up to some hundred for
/// each thread of a processor. Further memory is needed for relations wider than the slots that
/// components read, for elements absorbed with interaction columns from the host, and for trace
/// generation on the device ([`making_bytes`](Self::making_bytes)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    buffers: Vec<(usize, usize)>,
    parts: MemoryParts,
    making_bytes: u64,
    host_bytes: u64,
}

/// Bytes of a prover's memory by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryParts {
    /// Coefficients of all columns, or of the rank's columns.
    ///
    /// If coefficients are on the host, this is room for two pieces of them.
    pub coefficients: u64,
    /// Committed values of all columns.
    ///
    /// If they are cut into blocks: the values of one block or of all blocks of the rank, with
    /// their neighbours.
    pub values: u64,
    /// Nodes of all commitment trees.
    pub trees: u64,
    /// Rows, fractions and sums of look-ups.
    pub look_ups: u64,
    /// Numerators and quotients of the samples.
    pub quotients: u64,
    /// Values and nodes of the layers of FRI.
    pub fri: u64,
    /// Twiddles.
    pub twiddles: u64,
    /// Everything else.
    pub rest: u64,
}

impl MemoryPlan {
    /// Plans a prover of `components` with the given parameters and residency.
    ///
    /// The preprocessed columns have `2^log_rows` rows each, for each `log_rows` in `preprocessed`.
    ///
    /// # Errors
    /// [`ProverError::Statement`] if there are no such proofs, [`ProverError::Blocks`] if the
    /// statement cannot be cut into this number of blocks.
    pub fn new(
        config: &PcsConfig,
        preprocessed: &[u32],
        components: &[Component],
        residency: Residency,
    ) -> Result<Self, ProverError> {
        let shape = StatementShape::new(config, preprocessed, components)?;
        Ok(Self::of(config, &Outline::new(shape, components, residency)?, components)?)
    }

    /// Plans each of `ranks` provers that make a proof together, with the fewest blocks possible.
    ///
    /// See [`Prover::sharded`](crate::Prover::sharded).
    ///
    /// # Errors
    /// [`ProverError::Ranks`] if the statement cannot be shared among `ranks` ranks, and as
    /// [`new`](Self::new).
    pub fn of_rank(
        config: &PcsConfig,
        preprocessed: &[u32],
        components: &[Component],
        ranks: usize,
    ) -> Result<Self, ProverError> {
        if ranks == 1 {
            return Self::new(config, preprocessed, components, Residency::Full);
        }
        let shape = StatementShape::new(config, preprocessed, components)?;
        // All ranks take as much.
        Ok(Self::outlined(shape, config, components, [0, ranks], |_| true)?.1)
    }

    /// Plans the prover that [`Prover::new`](crate::Prover::new) would make on `q` now.
    ///
    /// With several ranks, plans each of `ranks` provers made by
    /// [`Prover::sharded`](crate::Prover::sharded), if all ranks have equal room. If no plan fits
    /// the budget, returns the smallest one.
    ///
    /// # Errors
    /// As [`of_rank`](Self::of_rank).
    pub fn on<Q: Queue>(
        q: &Q,
        config: &PcsConfig,
        preprocessed: &[u32],
        components: &[Component],
        ranks: usize,
    ) -> Result<Self, ProverError> {
        let shape = StatementShape::new(config, preprocessed, components)?;
        let (_, plan) = if ranks == 1 {
            Self::alone(q, shape, config, components)?
        } else {
            Self::outlined(shape, config, components, [0, ranks], |plan| plan.fits_with_trace(q))?
        };
        Ok(plan)
    }

    /// Plans a prover alone on `q`; returns the outline and the plan.
    ///
    /// Chooses the residency that takes most of the memory that fits; if none fits, the one that
    /// takes least.
    pub(crate) fn alone<Q: Queue>(
        q: &Q,
        shape: StatementShape,
        config: &PcsConfig,
        components: &[Component],
    ) -> Result<(Outline, Self), ProverError> {
        let residencies = Residency::all(&shape, q.caps().kind);
        let fits = |plan: &Self| plan.bytes_on(q) <= free_bytes(q);
        Self::first_that(fits, |plan| plan.bytes_on(q), residencies, (&shape, config, components))
    }

    /// Plans the first of these residencies that `fits`.
    ///
    /// If none fits, the first that takes the least `bytes`.
    fn first_that(
        fits: impl Fn(&Self) -> bool,
        bytes: impl Fn(&Self) -> u64,
        mut residencies: impl Iterator<Item = Residency>,
        (shape, config, components): (&StatementShape, &PcsConfig, &[Component]),
    ) -> Result<(Outline, Self), ProverError> {
        let planned = |residency| {
            let outline = Outline::new(shape.clone(), components, residency)?;
            let plan = Self::of(config, &outline, components)?;
            Ok::<_, ProverError>((outline, plan))
        };
        let mut least = planned(residencies.next().unwrap_or_default())?;
        for residency in residencies {
            if fits(&least.1) {
                break;
            }
            let next = planned(residency)?;
            if bytes(&next.1) < bytes(&least.1) {
                least = next;
            }
        }
        Ok(least)
    }

    /// Returns whether the budget of `q` has room for the plan and for trace generation.
    pub(crate) fn fits_with_trace<Q: Queue>(&self, q: &Q) -> bool {
        self.bytes_on(q).saturating_add(self.making_bytes) <= free_bytes(q)
    }

    /// Plans one of the ranks that make a proof together; returns the outline and the plan.
    ///
    /// Chooses the fewest blocks, an equal number for all ranks, whose memory `fits`; if none fits,
    /// the number that takes the least memory. `shape` is the shape of a prover alone.
    pub(crate) fn outlined(
        mut shape: StatementShape,
        config: &PcsConfig,
        components: &[Component],
        [rank, ranks]: [usize; 2],
        fits: impl Fn(&Self) -> bool,
    ) -> Result<(Outline, Self), ProverError> {
        let (_, most) = bounds(&shape);
        if !ranks.is_power_of_two() || ranks > 1 << most {
            return Err(ProverError::Ranks { most: 1 << most, got: ranks });
        }
        shape.place = RankPlace { rank, log_ranks: ranks.ilog2(), partitioned: false };
        let even = (shape.log_blowup + shape.place.log_ranks).min(most);
        let residencies = (even..=most).map(|log_blocks| Residency::Blocks(1 << log_blocks));
        Self::first_that(fits, |plan| plan.parts().bytes(), residencies, (&shape, config, components))
    }

    pub(crate) fn of(config: &PcsConfig, outline: &Outline, components: &[Component]) -> Result<Self, BackendError> {
        let Outline { shape, samples, neighbours, .. } = outline;
        let planned = CountingQueue::new();
        let memory = ProverMemory::new(&planned, config, shape, samples, neighbours, components)?;
        let twiddles = (1 << shape.largest_domain()) / 2;
        let [forward, inverse] = [planned.alloc::<Twiddle>(twiddles)?, planned.alloc::<Twiddle>(twiddles)?];
        let trees = memory.trees.stored.iter().chain(&memory.trees.tops).map(bytes).sum();
        let look_ups = memory.look_ups.as_ref().map_or(0, |look_ups| {
            let columns = [&look_ups.rows, &look_ups.fractions, &look_ups.made].map(bytes);
            columns.iter().sum::<u64>() + look_ups.sums.iter().map(bytes).sum::<u64>()
        });
        let blocks = memory.blocks.as_ref().map_or(0, |blocks| {
            let columns = [&blocks.planes, &blocks.sums, &blocks.sent].into_iter().chain(&blocks.keys);
            columns.map(bytes).sum::<u64>()
        });
        let part_nodes = memory.blocks.as_ref().map_or(0, |blocks| bytes(&blocks.nodes));
        let layers = memory.layers.iter().map(|layer| bytes(&layer.values) + bytes(&layer.nodes));
        let mut parts = MemoryParts {
            coefficients: (memory.coefficients.len() * size_of::<M31>()) as u64,
            values: bytes(&memory.values) + blocks,
            trees,
            look_ups,
            quotients: bytes(&memory.numerators) + bytes(&memory.quotients),
            fri: layers.sum::<u64>() + bytes(&memory.last_values) + part_nodes,
            twiddles: bytes(&forward) + bytes(&inverse),
            rest: 0,
        };
        let named = parts.bytes();
        let buffers = planned.into_buffers();
        let all: u64 = buffers.iter().map(|&(len, element_bytes)| (len * element_bytes) as u64).sum();
        parts.rest = all - named;
        let host_bytes = (shape.coefficients_on_host() * size_of::<M31>()) as u64;
        let making_bytes = (shape.making_words(components) * size_of::<M31>()) as u64;
        Ok(Self { buffers, parts, making_bytes, host_bytes })
    }

    /// Bytes by purpose, without the overhead that a queue adds to each buffer.
    #[must_use]
    pub const fn parts(&self) -> MemoryParts {
        self.parts
    }

    /// Peak workspace of trace generation on the device, in bytes.
    ///
    /// It is allocated in addition to the prover's memory and the inputs: the columns of one
    /// component, if they are not generated in place.
    #[must_use]
    pub const fn making_bytes(&self) -> u64 {
        self.making_bytes
    }

    /// Bytes of host memory that the prover holds for coefficients that are not on the device.
    ///
    /// They count toward no budget.
    #[must_use]
    pub const fn host_bytes(&self) -> u64 {
        self.host_bytes
    }

    /// Bytes that the prover takes of the budget of `q`.
    pub fn bytes_on<Q: Queue>(&self, q: &Q) -> u64 {
        let buffers = self.buffers.iter().map(|&(len, element_bytes)| q.buffer_bytes(len, element_bytes));
        buffers.fold(0, u64::saturating_add)
    }
}

impl MemoryParts {
    /// All of them.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        let Self { coefficients, values, trees, look_ups, quotients, fri, twiddles, rest } = *self;
        coefficients + values + trees + look_ups + quotients + fri + twiddles + rest
    }
}

/// Bytes that the budget of `q` has left.
fn free_bytes<Q: Queue>(q: &Q) -> u64 {
    q.budget().limit_bytes().saturating_sub(q.budget().live_bytes())
}

fn bytes<T: Element>(buffer: &Nowhere<T>) -> u64 {
    (buffer.len() * size_of::<T>()) as u64
}
