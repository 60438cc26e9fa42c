//! The verifier: the checks of a proof, in the order of its transcript.
//!
//! 1. `sum over k of alpha^(K-1-k) C_k(z) / v = left(z) + v right(z)` for constraints `0..K`, with
//!    `v = pi^(B-1)(z.x)`, `pi(x) = 2 x^2 - 1` and `B` the log degree of the quotients.
//! 2. The proof of work.
//! 3. All values at the queries are in their trees.
//! 4. The DEEP quotients of these values fold to the last layer of FRI (stwo 2.3,
//!    `core/verifier.rs` and `core/pcs/verifier.rs`).

use alloc::vec::Vec;

use core_types::{
    air::lifted,
    circle::{CirclePoint, double_x},
    field::{M31, QM31},
};

use crate::{
    commitment::{deep::Quotients, fri::Fri, merkle},
    error::{MerkleError, Part, VerificationError},
    proof::Proof,
    statement::{
        component::Component,
        config::PcsConfig,
        out_of_domain::{ConstraintSum, PointRow},
        protocol::Protocol,
        shape::{Preprocessed, StatementError, StatementShape, TreeShape},
    },
    transcript::{
        channel::Channel,
        digest::{Digest, Hasher},
        queries,
    },
};

/// A statement, and how its proofs are checked.
#[derive(Debug)]
pub struct Verifier<'a> {
    protocol: Protocol,
    config: PcsConfig,
    preprocessed: Preprocessed,
    components: Vec<Component<'a>>,
    shape: StatementShape,
}

/// The inputs of a component other than columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Challenges, by slot.
    pub challenges: Vec<QM31>,
    /// The sum of all its fractions.
    ///
    /// The caller has to check that the claimed sums of all components add up to the statement's
    /// public sum, which is zero if all tuples used are yielded in the proof.
    pub claimed_sum: QM31,
}

/// A verification in progress, for statements with data or challenges between commitments.
///
/// A fresh transcript holds the parameters. The caller then commits to one tree after the other,
/// the preprocessed columns first. In between, it absorbs data and draws challenges as the
/// statement defines.
#[derive(Debug)]
pub struct VerifierSession<'p> {
    verifier: &'p Verifier<'p>,
    proof: &'p Proof,
    channel: Channel,
    committed: usize,
}

impl<'a> Verifier<'a> {
    /// The verifier of the constraints of `components`, in this order.
    ///
    /// They hold on traces proven with `config`.
    ///
    /// # Errors
    /// Why there are no such proofs.
    pub fn new(
        protocol: Protocol,
        config: PcsConfig,
        preprocessed: Preprocessed,
        components: Vec<Component<'a>>,
    ) -> Result<Self, StatementError> {
        let shape = StatementShape::new(protocol, &config, &preprocessed, &components)?;
        Ok(Self { protocol, config, preprocessed, components, shape })
    }

    /// The parameters that proofs must be made with.
    #[must_use]
    pub const fn config(&self) -> &PcsConfig {
        &self.config
    }

    /// Checks a proof of a statement without absorbed data or challenges between its commitments.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(&self, proof: &Proof) -> Result<(), VerificationError> {
        let mut session = self.begin(proof)?;
        for _ in 0..self.shape.trace_trees() {
            session.commit();
        }
        session.finish(&alloc::vec![Inputs::default(); self.components.len()])
    }

    /// Begins to check a proof.
    ///
    /// It compares the proof's parameters, the lengths of its lists and the roots that are known.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn begin<'p>(&'p self, proof: &'p Proof) -> Result<VerifierSession<'p>, VerificationError> {
        if proof.config != self.config {
            return Err(VerificationError::Config);
        }
        self.check_lengths(proof)?;
        for (tree, (shape, &got)) in self.shape.trees.iter().zip(&proof.commitments).enumerate() {
            let expected = match (tree, shape.height) {
                (0, _) => self.preprocessed.root,
                (_, None) => Digest::of_nothing(),
                _ => continue,
            };
            if got != expected {
                return Err(VerificationError::Root { tree, expected, got });
            }
        }
        let mut channel = Channel::default();
        self.protocol.mix_config(&self.config, &mut channel);
        Ok(VerifierSession { verifier: self, proof, channel, committed: 0 })
    }

    /// Compares the lengths of all lists that do not depend on the queries.
    fn check_lengths(&self, proof: &Proof) -> Result<(), VerificationError> {
        let trees = &self.shape.trees;
        expect(Part::Commitments, trees.len(), proof.commitments.len())?;
        expect(Part::SampledTrees, trees.len(), proof.sampled_values.len())?;
        expect(Part::Decommitments, trees.len(), proof.decommitments.len())?;
        expect(Part::QueriedTrees, trees.len(), proof.queried_values.len())?;
        let lists = proof.sampled_values.iter().zip(&proof.queried_values);
        for (tree, (shape, (sampled, queried))) in trees.iter().zip(lists).enumerate() {
            expect(Part::SampledColumns { tree }, shape.columns.len(), sampled.len())?;
            expect(Part::QueriedColumns { tree }, shape.columns.len(), queried.len())?;
            for (column, (shape, values)) in shape.columns.iter().zip(sampled).enumerate() {
                expect(Part::SampledValues { tree, column }, shape.offsets.len(), values.len())?;
            }
        }
        Ok(())
    }

    /// The sum of all constraints outside the domain, by the powers of `alpha`.
    fn constraints(&self, proof: &Proof, inputs: &[Inputs], alpha: QM31) -> QM31 {
        let mut sum = ConstraintSum::new(alpha);
        for ((component, shape), inputs) in self.components.iter().zip(&self.shape.components).zip(inputs) {
            let masks = shape.columns.iter().zip(&proof.sampled_values);
            let masks = masks.map(|(columns, tree)| tree.get(columns.clone()).unwrap_or_default()).collect();
            let fixed = proof.sampled_values.first().map_or(&[][..], |tree| tree);
            let value = |&slot: &usize| fixed.get(slot).and_then(|values| values.first()).copied();
            let fixed = component.preprocessed().iter().map(|slot| value(slot).unwrap_or(QM31::ZERO)).collect();
            // Halving is a rotation of the word.
            let halve = |word: M31| word.div_power_of_two(component.log_rows());
            let mean = QM31::from_coordinates(inputs.claimed_sum.coordinates().map(halve));
            component.evaluate(&mut PointRow::new(masks, fixed, &inputs.challenges, mean, &mut sum));
        }
        sum.get()
    }

    /// Checks that the queried values of a tree are in it.
    fn check_tree(&self, tree: usize, proof: &Proof, positions: &[u32]) -> Result<(), VerificationError> {
        let shape = &self.shape.trees[tree];
        let (columns, witness) = (&proof.queried_values[tree], &proof.decommitments[tree].hash_witness);
        for (column, values) in columns.iter().enumerate() {
            expect(Part::QueriedValues { tree, column }, positions.len(), values.len())?;
        }
        let refused = |error| VerificationError::Tree { tree, error };
        let Some(height) = shape.height else {
            return if witness.is_empty() { Ok(()) } else { Err(refused(MerkleError::WitnessTooLong)) };
        };
        let positions = positions.iter().map(|&position| lifted(position, self.shape.log_size, height));
        let leaves = leaves(shape, columns, positions).map_err(refused)?;
        merkle::verify(proof.commitments[tree], height, leaves, witness).map_err(refused)
    }
}

impl VerifierSession<'_> {
    /// Reads the root of the next tree into the transcript.
    pub fn commit(&mut self) {
        if self.committed < self.verifier.shape.trace_trees() {
            self.channel.mix_root(self.proof.commitments[self.committed]);
        }
        self.committed += 1;
    }

    /// The transcript, to mix into and to draw from.
    pub const fn channel(&mut self) -> &mut Channel {
        &mut self.channel
    }

    /// Checks everything that follows the last tree of the trace.
    ///
    /// `inputs` are the inputs of each component.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn finish(self, inputs: &[Inputs]) -> Result<(), VerificationError> {
        let Self { verifier, proof, mut channel, committed } = self;
        let (shape, config) = (&verifier.shape, &verifier.config);
        let expected = shape.trace_trees();
        if committed != expected {
            return Err(VerificationError::Transcript { expected, got: committed });
        }
        check_inputs(shape, inputs)?;

        // The composition polynomial, and the constraints outside the domain.
        let alpha = channel.draw_felt();
        channel.mix_root(proof.commitments[expected]);
        let point = CirclePoint::from_parameter(channel.draw_felt()).ok_or(VerificationError::Point)?;
        // Vanishes on the rows, lifted to the degree of the quotients; the composition polynomial was split by
        // it.
        let vanishing = (1..shape.log_degree).fold(point.x, |x, _| double_x(x));
        let inverse = vanishing.inverse().ok_or(VerificationError::Point)?;
        let constraints = verifier.constraints(proof, inputs, alpha) * inverse;
        if constraints != composition(&proof.sampled_values[expected], vanishing) {
            return Err(VerificationError::Constraints);
        }

        // The quotients' proof of low degree, up to the queries.
        channel.mix_felts(proof.sampled_values.iter().flatten().flatten());
        let gamma = channel.draw_felt();
        let last = config.fri_config.log_last_layer_degree_bound;
        let fri = Fri::commit(shape, last, &proof.fri_proof, &mut channel)?;
        if !channel.has_work(config.pow_bits, proof.proof_of_work) {
            return Err(VerificationError::ProofOfWork);
        }
        channel.mix_u64(proof.proof_of_work);
        let positions = queries::draw(&mut channel, shape.log_size, config.fri_config.n_queries);

        // The openings.
        for tree in 0..shape.trees.len() {
            verifier.check_tree(tree, proof, &positions)?;
        }
        let quotients = Quotients::new(shape, &proof.sampled_values, point, gamma)?;
        let columns: Vec<&[M31]> = proof.queried_values.iter().flatten().map(|column| &column[..]).collect();
        let values = positions.iter().enumerate();
        let values = values.map(|(query, &position)| quotients.at(position, |column| columns[column][query]));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        fri.verify(positions, values)?;
        Ok(())
    }
}

fn expect(part: Part, expected: usize, got: usize) -> Result<(), VerificationError> {
    if expected == got { Ok(()) } else { Err(VerificationError::Length { part, expected, got }) }
}

fn check_inputs(shape: &StatementShape, inputs: &[Inputs]) -> Result<(), VerificationError> {
    let (expected, got) = (shape.components.len(), inputs.len());
    if expected != got {
        return Err(VerificationError::Inputs { component: None, expected, got });
    }
    for (component, (shape, inputs)) in shape.components.iter().zip(inputs).enumerate() {
        let (expected, got) = (shape.challenges, inputs.challenges.len());
        if got < expected {
            return Err(VerificationError::Inputs { component: Some(component), expected, got });
        }
    }
    Ok(())
}

/// The value of the composition polynomial, from the coordinates of its two parts.
fn composition(sampled: &[Vec<QM31>], split: QM31) -> QM31 {
    let basis = [QM31::ONE, QM31::I, QM31::U, QM31::I * QM31::U];
    let part = |columns: &[Vec<QM31>]| {
        let terms = columns.iter().flatten().zip(basis).map(|(&value, unit)| value * unit);
        terms.fold(QM31::ZERO, |sum, term| sum + term)
    };
    let (left, right) = sampled.split_at(sampled.len() / 2);
    part(left) + split * part(right)
}

/// Distinct leaves with their digests, in ascending order.
///
/// A leaf hashes the values of all columns, the smallest columns first.
fn leaves(
    shape: &TreeShape,
    columns: &[Vec<M31>],
    positions: impl Iterator<Item = u32>,
) -> Result<Vec<(u32, Digest)>, MerkleError> {
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&column| shape.columns[column].log_size);
    // In a lower tree two queries may meet in one leaf, and need not come in its order.
    let mut queries: Vec<(u32, usize)> = positions.zip(0..).collect();
    queries.sort_unstable();
    let mut leaves = Vec::with_capacity(queries.len());
    for same in queries.chunk_by(|a, b| a.0 == b.0) {
        let (position, first) = same[0];
        for &(_, query) in &same[1..] {
            if let Some(column) = columns.iter().position(|values| values[query] != values[first]) {
                return Err(MerkleError::Conflict { column, query });
            }
        }
        let mut hasher = Hasher::new();
        order.iter().for_each(|&column| hasher.element(columns[column][first]));
        leaves.push((position, hasher.finish()));
    }
    Ok(leaves)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::statement::shape::ColumnShape;

    #[test]
    fn queries_that_meet_in_a_lower_tree_are_opened_once_and_in_its_order() {
        let column = |log_size| ColumnShape { log_size, offsets: vec![0] };
        let shape = TreeShape { columns: vec![column(2), column(1)], height: Some(2) };
        let leaf = |words: [u32; 2]| {
            let mut hasher = Hasher::new();
            words.iter().for_each(|&word| hasher.element(M31::from_u32(word)));
            hasher.finish()
        };
        let word = M31::from_u32;
        // Queries 1, 2, 5, 6 of eight are leaves 1, 0, 3, 2 of four; 1 and 3 are the same leaf.
        let columns = vec![vec![word(11), word(10), word(13), word(12)], vec![word(21), word(20), word(21), word(20)]];
        let found = leaves(&shape, &columns, [1, 2, 5, 6].into_iter().map(|query| lifted(query, 3, 2)));
        // The smaller column comes first.
        let expected = [(0, leaf([20, 10])), (1, leaf([21, 11])), (2, leaf([20, 12])), (3, leaf([21, 13]))];
        assert_eq!(found, Ok(expected.to_vec()));
        let same = leaves(&shape, &columns, [1, 3, 5, 7].into_iter().map(|query| lifted(query, 3, 2)));
        assert_eq!(same, Err(MerkleError::Conflict { column: 0, query: 1 }));
        let columns = vec![vec![word(11), word(11)], vec![word(21), word(21)]];
        let same = leaves(&shape, &columns, [1, 3].into_iter().map(|query| lifted(query, 3, 2)));
        assert_eq!(same, Ok(vec![(1, leaf([21, 11]))]));
    }
}
