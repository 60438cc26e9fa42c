//! The device memory of a prover, allocated once.
//!
//! Later allocations are the workspace of single ops and of trace generation and, in the first
//! proof, room for relation challenges that no component reads.

use std::sync::Arc;

use backend_api::{BackendError, Buffer as _, Queue, Ref};
use core_types::{
    blake2s::Digest,
    field::{M31, QM31},
};
use stark_verifier::PcsConfig;

use crate::{
    Component,
    plan::layer::LayerForm,
    plan::neighbours::Neighbours,
    plan::samples::Samples,
    plan::shape::{StatementShape, nodes},
    storage::answers::{Answers, root},
    storage::coefficients::DeviceCoefficients,
    transcript::Transcript,
};

/// A layer of FRI.
pub(crate) struct FriLayerMemory<Q: Queue> {
    pub(crate) form: LayerForm,
    /// Four planes.
    pub(crate) values: Q::Buf<M31>,
    pub(crate) nodes: Q::Buf<Digest>,
    pub(crate) challenge: Q::Buf<QM31>,
}

/// What look-ups take.
pub(crate) struct LookUps<Q: Queue> {
    /// The trace as given and the preprocessed columns, at the places of their coefficients.
    ///
    /// With coefficients on the host: the columns of one component, and then its interaction
    /// columns.
    pub(crate) rows: Q::Buf<M31>,
    /// Numerators and denominators of one component.
    pub(crate) fractions: Q::Buf<M31>,
    /// With column-partitioned ranks: the interaction columns of one component.
    pub(crate) made: Q::Buf<M31>,
    /// The sum of each component and its mean.
    pub(crate) sums: Vec<Q::Buf<QM31>>,
}

/// Additional memory of a prover that works block by block or part by part.
///
/// It computes values block by block, or hashes trees part by part.
pub(crate) struct BlockMemory<Q: Queue> {
    /// The columns that are read at neighbouring rows, where constraints are evaluated.
    pub(crate) planes: Q::Buf<M31>,
    /// For each step, the position that it leads to from each where constraints are evaluated.
    pub(crate) keys: Vec<Q::Buf<M31>>,
    /// Sums of constraints, or numerators, on the block; values of a part of a layer.
    pub(crate) sums: Q::Buf<M31>,
    /// The tree of a part of a layer, or of a block of committed values.
    pub(crate) nodes: Q::Buf<Digest>,
    /// Values of column-partitioned ranks that are sent to other ranks.
    ///
    /// They are the values of this rank's columns on a block of each rank.
    pub(crate) sent: Q::Buf<M31>,
    /// With column-partitioned ranks: the samples, grouped by rank.
    pub(crate) sampled: Q::Buf<QM31>,
}

/// The nodes of all commitment trees.
pub(crate) struct TreeMemory<Q: Queue> {
    /// The stored nodes of each tree.
    ///
    /// If this rank hashes parts of a tree, the nodes of the parts follow each other.
    pub(crate) stored: Vec<Q::Buf<Digest>>,
    /// The nodes above the parts of each tree; nothing without other ranks.
    pub(crate) tops: Vec<Q::Buf<Digest>>,
}

/// All memory of a prover.
pub(crate) struct ProverMemory<Q: Queue> {
    /// Another one since any of it was replaced.
    pub(crate) identity: Arc<()>,
    pub(crate) coefficients: DeviceCoefficients<Q>,
    /// Committed values: of all positions, of one block, or of several.
    ///
    /// Gathered neighbours follow each block.
    pub(crate) values: Q::Buf<M31>,
    pub(crate) blocks: Option<BlockMemory<Q>>,
    pub(crate) trees: TreeMemory<Q>,
    pub(crate) look_ups: Option<LookUps<Q>>,
    pub(crate) transcript: Transcript<Q>,
    /// Challenges of relations, by slot.
    ///
    /// The slots that components read come first, then further slots of the relations.
    pub(crate) challenges: Q::Buf<QM31>,
    /// Elements absorbed with interaction columns from the host.
    ///
    /// The first `absorbed_len` elements of a buffer that has room for the most absorbed so far.
    pub(crate) absorbed: Q::Buf<QM31>,
    pub(crate) absorbed_len: usize,
    /// `z` and `alpha` of the relation that is drawn, and the powers of `alpha`.
    pub(crate) relation_challenges: Q::Buf<QM31>,
    pub(crate) relation_powers: Q::Buf<QM31>,
    /// The powers of the challenge that combines the constraints, the highest first.
    pub(crate) composition_powers: Q::Buf<QM31>,
    /// Sums of constraints by height, smallest first, except the greatest height.
    ///
    /// The sums of the greatest height are computed in the place of the composition polynomial's
    /// coefficients.
    pub(crate) sums: Vec<(u32, Q::Buf<M31>)>,
    pub(crate) points: Q::Buf<QM31>,
    pub(crate) quotient_challenge: Q::Buf<QM31>,
    pub(crate) quotient_powers: Q::Buf<QM31>,
    pub(crate) factors: Q::Buf<QM31>,
    pub(crate) lines: Q::Buf<QM31>,
    pub(crate) numerators: Q::Buf<M31>,
    /// Four planes of quotients on the first positions, then their coefficients.
    pub(crate) quotients: Q::Buf<M31>,
    pub(crate) layers: Vec<FriLayerMemory<Q>>,
    pub(crate) last_values: Q::Buf<M31>,
    pub(crate) answers: Answers<Q>,
}

impl<Q: Queue> ProverMemory<Q> {
    pub(crate) fn new(
        q: &Q,
        config: &PcsConfig,
        shape: &StatementShape,
        samples: &Samples,
        neighbours: &Neighbours,
        components: &[Component],
    ) -> Result<Self, BackendError> {
        let layers = LayerForm::all(shape).into_iter().map(|form| {
            let (values, nodes) = (q.alloc(4 << form.log_size)?, q.alloc(nodes(form.log_kept()))?);
            Ok(FriLayerMemory { form, values, nodes, challenge: q.alloc(1)? })
        });
        let mut heights: Vec<u32> = components.iter().map(|component| component.air.log_rows()).collect();
        heights.sort_unstable();
        heights.dedup();
        heights.pop();
        let sums = heights.into_iter().map(|log_rows| Ok((log_rows, q.alloc(8 << log_rows)?)));
        let log_last = shape.log_size - shape.folds.iter().sum::<u32>();
        let relation_powers = shape.challenges.max(1);
        let coefficients = 1 << config.fri_config.log_last_layer_degree_bound;
        let answered = [samples.samples.len(), coefficients];
        let look_ups = LookUps::new(q, shape, components)?;
        let claimed_sums = look_ups.as_ref().map_or(0, |look_ups| look_ups.sums.len());
        Ok(Self {
            identity: Arc::default(),
            coefficients: DeviceCoefficients::new(q, shape)?,
            // Values gathered along with a run of fewer than four columns may not have been written yet.
            values: q.zeros(shape.slots() * shape.slot_words)?,
            blocks: BlockMemory::new(q, shape, samples, neighbours)?,
            trees: TreeMemory::new(q, shape)?,
            look_ups,
            transcript: Transcript::new(q)?,
            challenges: q.zeros(shape.challenges)?,
            absorbed: q.alloc(0)?,
            absorbed_len: 0,
            relation_challenges: q.alloc(2)?,
            relation_powers: q.alloc(relation_powers)?,
            composition_powers: q.alloc(shape.constraints)?,
            sums: sums.collect::<Result<_, BackendError>>()?,
            points: q.alloc(2 * samples.points.len())?,
            quotient_challenge: q.alloc(1)?,
            quotient_powers: q.alloc(samples.terms.len())?,
            factors: q.alloc(samples.terms.len())?,
            lines: q.alloc(2 * samples.batches.len())?,
            numerators: q.alloc(samples.numerators())?,
            quotients: q.alloc(4 << shape.log_degree)?,
            layers: layers.collect::<Result<_, BackendError>>()?,
            last_values: q.alloc(4 << log_last)?,
            answers: Answers::new(q, shape, answered, claimed_sums)?,
        })
    }
}

impl<Q: Queue> ProverMemory<Q> {
    /// Makes room for challenges up to slot `end`.
    ///
    /// The relation has `size` slots, which may be more than components read.
    pub(crate) fn fit_relation(&mut self, q: &Q, end: usize, size: usize) -> Result<(), BackendError> {
        let read = self.challenges.len();
        if end > read {
            let mut challenges = q.zeros::<QM31>(end)?;
            q.copy(self.challenges.view(), challenges.slice_mut(0..read)?)?;
            self.answers.extend(q, end - read)?;
            self.challenges = challenges;
            self.identity = Arc::default();
        }
        if size > self.relation_powers.len() {
            self.relation_powers = q.alloc(size)?;
            self.identity = Arc::default();
        }
        Ok(())
    }

    /// Uploads the elements to absorb with interaction columns from the host.
    pub(crate) fn load_absorbed(&mut self, q: &Q, absorbed: &[QM31]) -> Result<(), BackendError> {
        if absorbed.len() > self.absorbed.len() {
            self.absorbed = q.alloc(absorbed.len())?;
            self.identity = Arc::default();
        }
        self.absorbed_len = absorbed.len();
        q.write(absorbed, self.absorbed.slice_mut(0..absorbed.len())?)
    }
}

impl<Q: Queue> TreeMemory<Q> {
    fn new(q: &Q, shape: &StatementShape) -> Result<Self, BackendError> {
        let stored = shape.trees.iter().map(|tree| q.alloc(shape.own_parts(tree).len() * nodes(shape.log_kept(tree))));
        let with_tops = shape.trees.iter().filter(|_| !shape.place.is_alone());
        let tops = with_tops.map(|tree| q.alloc(nodes(shape.log_parts(tree))));
        Ok(Self { stored: stored.collect::<Result<_, _>>()?, tops: tops.collect::<Result<_, _>>()? })
    }

    /// The root of a tree.
    pub(crate) fn root(&self, tree: usize) -> Result<Ref<'_, Q, Digest>, BackendError> {
        let nodes = self.tops.get(tree).unwrap_or(&self.stored[tree]);
        nodes.slice(root(nodes.len()))
    }
}

impl<Q: Queue> LookUps<Q> {
    /// The memory of look-ups, if a component has any.
    fn new(q: &Q, shape: &StatementShape, components: &[Component]) -> Result<Option<Self>, BackendError> {
        let fractions = components.iter().filter_map(|component| {
            let program = component.air.fraction_program()?;
            Some((program.outputs() as usize * 4) << component.air.log_rows())
        });
        let Some(fractions) = fractions.max() else { return Ok(None) };
        let rows = if shape.on_host {
            (0..components.len()).map(|index| shape.rows_of_component(index, components)).max()
        } else {
            shape.trees[..2].iter().map(|tree| tree.coefficients().end).max()
        };
        Ok(Some(Self {
            rows: q.alloc(rows.unwrap_or(0))?,
            fractions: q.alloc(fractions)?,
            // Two fractions make a column of the secure field.
            made: q.alloc(if shape.place.partitioned { fractions / 2 } else { 0 })?,
            sums: components.iter().map(|_| q.zeros(2)).collect::<Result<_, _>>()?,
        }))
    }
}

impl<Q: Queue> BlockMemory<Q> {
    /// The memory of blocks and parts, unless all values and all nodes are in memory.
    fn new(
        q: &Q,
        shape: &StatementShape,
        samples: &Samples,
        neighbours: &Neighbours,
    ) -> Result<Option<Self>, BackendError> {
        if shape.truncation.is_none() {
            return Ok(None);
        }
        let numerators = samples.heights().map(|batches| (4 * batches.len()) << shape.log_block(batches[0].log_size));
        let on_block = numerators.fold(4 << shape.log_block(shape.log_rows), usize::max);
        let on_block = if shape.log_blocks > 0 { on_block } else { 0 };
        let layers = LayerForm::all(shape);
        let layers = layers.iter().filter(|form| form.is_hashed_in_parts());
        let part_words = layers.clone().map(|form| form.part_words());
        let truncated = shape.trees.iter().filter(|tree| tree.truncated > 0);
        let log_parts = layers.map(|form| form.log_part).chain(truncated.map(|tree| shape.log_part(tree)));
        let keys = neighbours.steps.iter().map(|step| q.alloc(1 << step.log_positions()));
        Ok(Some(Self {
            planes: q.alloc(neighbours.words)?,
            keys: keys.collect::<Result<_, _>>()?,
            sums: q.alloc(part_words.fold(on_block, usize::max))?,
            nodes: q.alloc(log_parts.max().map_or(0, nodes))?,
            // If a rank has fewer columns than others, the rest of its send buffer may not have been written
            // yet.
            sent: q.zeros(shape.sent_words())?,
            sampled: q.alloc(if shape.place.partitioned { samples.samples.len() } else { 0 })?,
        }))
    }
}
