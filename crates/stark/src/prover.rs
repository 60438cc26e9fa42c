//! The prover of a statement: what follows from it, its memory, and its preprocessed columns.

use core::fmt;

use backend_api::Collective;
use core_types::{blake2s::Digest as Words, circle::double_x, field::M31, params::air::MaskAt};
use stark_fft::{CanonicDomain, TwiddleTree};
use stark_verifier::{Digest, PcsConfig, Protocol};

use crate::{
    Component, MemoryPlan, ProverError, Residency, StarkOps, plan::neighbours::Neighbours, plan::outline::Outline,
    plan::ranks::RankGroup, plan::samples::Samples, plan::shape::StatementShape, storage::host::HostColumns,
    storage::memory::ProverMemory,
};

/// The most bits of work that a prover does.
const MOST_WORK: u32 = 40;

/// The prover of a statement.
///
/// It proves the constraints of its components on traces of their heights. It holds all device
/// memory of a proof. One prover makes any number of proofs, one after the other; the preprocessed
/// columns are committed to once.
pub struct Prover<Q: StarkOps> {
    pub(crate) protocol: Protocol,
    pub(crate) config: PcsConfig,
    pub(crate) components: Vec<Component>,
    pub(crate) inputs: Vec<ComponentInputs>,
    pub(crate) residency: Residency,
    pub(crate) shape: StatementShape,
    pub(crate) samples: Samples,
    pub(crate) neighbours: Neighbours,
    pub(crate) twiddles: TwiddleTree<Q>,
    pub(crate) memory: ProverMemory<Q>,
    pub(crate) group: RankGroup<Q>,
    /// Coefficients that are kept on the host.
    pub(crate) host: Option<HostColumns<Q>>,
    /// The tree whose columns lie in place of its coefficients, for the next commitment.
    pub(crate) loaded: Option<usize>,
}

/// The inputs of a component's programs, by their place in memory.
#[derive(Clone, Debug)]
pub(crate) struct ComponentInputs {
    /// Committed values that the constraints read.
    pub(crate) constraint_masks: Vec<MaskAt>,
    /// Rows that the fractions of look-ups read.
    pub(crate) fraction_masks: Vec<MaskAt>,
    /// The inverse of the polynomial that vanishes on the rows, on each of their two copies.
    pub(crate) vanishing_inverses: Vec<M31>,
}

impl<Q: StarkOps> Prover<Q> {
    /// The prover of `components`, in this order, with parameters `config`.
    ///
    /// `preprocessed` are the rows of the columns that belong to the statement, in stored order.
    /// All committed values are kept in memory if the budget of `q` has room for them, and else as
    /// few blocks are made of them as it has room for. If it has room for no number of blocks,
    /// coefficients are kept on the host, unless the device is the host.
    ///
    /// # Errors
    /// [`ProverError::Statement`] for an invalid statement, [`ProverError::Work`] if `config` asks
    /// for too much work, [`ProverError::Backend`] if memory is short; nothing is left allocated
    /// then.
    pub fn new(
        q: &Q,
        protocol: Protocol,
        config: PcsConfig,
        preprocessed: &[&[M31]],
        components: Vec<Component>,
    ) -> Result<Self, ProverError> {
        let shape = shape(&config, preprocessed, &components)?;
        let (outline, _) = MemoryPlan::alone(q, shape, &config, &components)?;
        Self::outlined(q, protocol, config, preprocessed, components, outline, RankGroup::ALONE)
    }

    /// Creates one of the provers that make each proof together, as ranks of `collective`.
    ///
    /// All ranks are given the same arguments and end up with the same proof. A rank interpolates
    /// its share of the columns, and computes, hashes and opens its share of the blocks of their
    /// values: the fewest blocks that every rank has room for. With at least `blowup` ranks, a rank
    /// keeps only its own columns' coefficients, if all ranks have room for their blocks and for
    /// trace generation.
    ///
    /// Ranks make the same calls. One whose call fails, or that drops a session before the end of
    /// its proof, ends the others; another group and other provers are needed then. Without
    /// look-ups, a rank uploads only the columns of a trace that it interpolates.
    ///
    /// # Errors
    /// [`ProverError::Ranks`] if the statement cannot be shared among the ranks,
    /// [`ProverError::Disagreement`] if other ranks were given other arguments,
    /// [`ProverError::Collective`] if they stop, and as [`new`](Self::new).
    pub fn sharded(
        q: &Q,
        collective: impl Collective<Q> + 'static,
        protocol: Protocol,
        config: PcsConfig,
        preprocessed: &[&[M31]],
        components: Vec<Component>,
    ) -> Result<Self, ProverError> {
        if collective.ranks() == 1 {
            return Self::new(q, protocol, config, preprocessed, components);
        }
        let (rank, ranks) = (collective.rank(), collective.ranks());
        let group = RankGroup::new(collective);
        let work = group.begin();
        let shape = shape(&config, preprocessed, &components)?;
        let fits = |plan: &MemoryPlan| plan.fits_with_trace(q);
        let (outline, _) = MemoryPlan::outlined(shape, &config, &components, [rank, ranks], fits)?;
        let Outline { shape, .. } = outline;
        let log_blocks = group.agree(q, shape.place, &shape.facts(&config), shape.log_blocks)?;
        let outline = Outline::new(shape, &components, Residency::Blocks(1 << log_blocks))?;
        let prover = Self::outlined(q, protocol, config, preprocessed, components, outline, group)?;
        work.complete();
        Ok(prover)
    }

    /// As [`new`](Self::new), with the residency that the caller chooses.
    ///
    /// # Errors
    /// [`ProverError::Blocks`] if the statement cannot be cut into this number of blocks, and as
    /// [`new`](Self::new).
    pub fn with_residency(
        q: &Q,
        protocol: Protocol,
        config: PcsConfig,
        preprocessed: &[&[M31]],
        components: Vec<Component>,
        residency: Residency,
    ) -> Result<Self, ProverError> {
        let shape = shape(&config, preprocessed, &components)?;
        let outline = Outline::new(shape, &components, residency)?;
        Self::outlined(q, protocol, config, preprocessed, components, outline, RankGroup::ALONE)
    }

    fn outlined(
        q: &Q,
        protocol: Protocol,
        config: PcsConfig,
        preprocessed: &[&[M31]],
        components: Vec<Component>,
        outline: Outline,
        group: RankGroup<Q>,
    ) -> Result<Self, ProverError> {
        // Without room for the prover, nothing is begun.
        let plan = MemoryPlan::of(&config, &outline, &components)?;
        drop(q.budget().reserve(plan.bytes_on(q))?);
        let Outline { residency, shape, samples, neighbours, .. } = outline;
        let inputs = components
            .iter()
            .enumerate()
            .map(|(index, component)| ComponentInputs::new(&shape, index, component))
            .collect::<Result<_, _>>()?;
        let twiddles = TwiddleTree::new(q, CanonicDomain::new(shape.largest_domain())?)?;
        let memory = ProverMemory::new(q, &config, &shape, &samples, &neighbours, &components)?;
        let host = shape.on_host.then(|| HostColumns::new(q, shape.coefficients_on_host())).transpose()?;
        let mut prover = Self {
            protocol,
            config,
            components,
            inputs,
            residency,
            shape,
            samples,
            neighbours,
            twiddles,
            memory,
            group,
            host,
            loaded: None,
        };
        prover.upload_keys(q)?;
        prover.upload(q, 0, preprocessed)?;
        prover.commit(q, 0)?;
        Ok(prover)
    }

    /// Where committed values are.
    #[must_use]
    pub const fn residency(&self) -> Residency {
        self.residency
    }

    /// The parameters.
    #[must_use]
    pub const fn config(&self) -> &PcsConfig {
        &self.config
    }

    /// The components.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Waits, and reads the root of the preprocessed columns' tree, which the verifier needs.
    ///
    /// # Errors
    /// Any error that the device reports.
    pub fn preprocessed_root(&self, q: &Q) -> Result<Digest, ProverError> {
        self.root(q, 0)
    }

    pub(crate) fn root(&self, q: &Q, tree: usize) -> Result<Digest, ProverError> {
        let root = q.read(self.memory.trees.root(tree)?)?;
        Ok(digest(root[0]))
    }
}

/// Returns the shape of a statement, if it is valid and its work does not exceed the limit.
fn shape(config: &PcsConfig, preprocessed: &[&[M31]], components: &[Component]) -> Result<StatementShape, ProverError> {
    let log_rows = preprocessed.iter().enumerate().map(|(column, rows)| {
        let got = rows.len();
        if got.is_power_of_two() {
            return Ok(got.ilog2());
        }
        Err(ProverError::Rows { tree: 0, column, expected: got.next_power_of_two(), got })
    });
    if config.pow_bits > MOST_WORK {
        return Err(ProverError::Work { got: config.pow_bits, most: MOST_WORK });
    }
    Ok(StatementShape::new(config, &log_rows.collect::<Result<Vec<_>, _>>()?, components)?)
}

/// A digest as a verifier has it.
pub(crate) fn digest(words: Words) -> Digest {
    let mut bytes = [0; 32];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words.0) {
        *bytes = word.to_le_bytes();
    }
    Digest(bytes)
}

impl ComponentInputs {
    fn new(shape: &StatementShape, index: usize, component: &Component) -> Result<Self, ProverError> {
        let air = &component.air;
        let log_rows = air.log_rows();
        let domain = CanonicDomain::new(log_rows + shape.log_blowup)?;
        let vanishing_inverses = (0..2).map(|copy| {
            let x = domain.stored_point(copy << log_rows).x;
            // Only the rows themselves have a zero there.
            (1..log_rows).fold(x, |x, _| double_x(x)).inverse().unwrap_or(M31::ZERO)
        });
        Ok(Self {
            constraint_masks: shape.constraint_masks(index, component),
            fraction_masks: shape.fraction_masks(index, component),
            vanishing_inverses: vanishing_inverses.collect(),
        })
    }
}

impl<Q: StarkOps> fmt::Debug for Prover<Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prover").field("config", &self.config).field("shape", &self.shape).finish_non_exhaustive()
    }
}
