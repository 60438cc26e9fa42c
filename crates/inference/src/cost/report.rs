//! Costs by layer and gate, and their sums.

use pfss::{GateKind, MatrixShape, Party, WeightShape};
use serde::Serialize;

use super::{bytes::key_bytes, recorder::layer_steps};
use crate::{
    Deal, DeclaredLimits, InferenceError, Model, Plan, Preference, TransformerShape,
    engine::RecordedStep,
    folder::AGREEMENT,
    keys::{
        deal::{SEED, STEP_DIGEST},
        plan::most_memory_bytes,
    },
};

/// Keys, messages and arithmetic of both parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Bytes of keys of party 0 and party 1, as [`key_bytes`](super::key_bytes) counts them.
    pub key_bytes: [u64; 2],
    /// Bytes that party 0 and party 1 send, step digests included.
    pub sent_bytes: [u64; 2],
    /// Bytes of these that open weights, for each party.
    ///
    /// A run on weights that were [opened before](crate::Model::opened_plan) does not send them.
    pub weight_bytes: u64,
    /// Products by weights: each takes a message more if its weights are opened once.
    pub weight_products: u64,
    /// Rounds.
    pub rounds: u64,
    /// AES blocks that each party computes to evaluate its keys, by the formula of each gate.
    pub aes_blocks: u64,
    /// Products of 64-bit words that each party computes.
    ///
    /// Two for each multiplication of a product of matrices in the clear, and three for each
    /// element of a product gate. The sums of other gates are not counted.
    pub multiplications: u64,
}

/// The cost of one gate within a step of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateCost {
    /// The step.
    pub step: String,
    /// The gate.
    pub gate: String,
    /// Elements that the gate is evaluated on, or elements of the products of matrices.
    pub elements: u64,
    /// Its work in all.
    pub work: Work,
}

/// The cost of one layer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LayerCost {
    /// Its name.
    pub name: String,
    /// Number of such layers in the model.
    pub count: u32,
    /// The gates of one layer in the order of their first use.
    pub gates: Vec<GateCost>,
    /// The most bytes of keys of party 0 and party 1 that a run has in memory at once.
    ///
    /// Both count the gate with the most key bytes: see [`Plan::most_memory_bytes`].
    pub key_memory_bytes: [u64; 2],
}

/// The cost of a run of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelCost {
    /// The model and the size of the batch in words.
    pub title: String,
    /// Its layers, equal ones together.
    pub layers: Vec<LayerCost>,
}

impl Work {
    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    /// This work `count` times, one after the other.
    #[must_use]
    pub fn times(self, count: u32) -> Self {
        self.zip(self, |a, _| a * u64::from(count))
    }

    /// A function of each number of both.
    fn zip(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        let of_both = |a: [u64; 2], b: [u64; 2]| [each(a[0], b[0]), each(a[1], b[1])];
        Self {
            key_bytes: of_both(self.key_bytes, other.key_bytes),
            sent_bytes: of_both(self.sent_bytes, other.sent_bytes),
            weight_bytes: each(self.weight_bytes, other.weight_bytes),
            weight_products: each(self.weight_products, other.weight_products),
            rounds: each(self.rounds, other.rounds),
            aes_blocks: each(self.aes_blocks, other.aes_blocks),
            multiplications: each(self.multiplications, other.multiplications),
        }
    }

    /// The work of a deal's keys; `by_weights` is whether a product of matrices is by weights.
    fn of(deal: &Deal, by_weights: bool) -> Self {
        let (sent, rounds) = deal.traffic();
        let (aes_blocks, multiplications) = match deal {
            Deal::Gate(gate, count) | Deal::Alongside(gate, count) => {
                let products = if gate.kind() == GateKind::Product { 3 } else { 0 };
                (gate.cost().aes * *count as u64, products * *count as u64)
            }
            Deal::Matrix(_, shape) => {
                let [_, _, out] = shape.lens();
                (0, 2 * (out * shape.inner) as u64)
            }
        };
        let (weight_bytes, weight_products) = match deal {
            // bytes that products by opened weights do not send
            Deal::Matrix(ring, MatrixShape { rows, inner, cols, .. }) if by_weights => {
                let weights = WeightShape { inner: *inner, cols: *cols };
                (sent - weights.product_traffic(*ring, *rows).0, 1)
            }
            _ => (0, 0),
        };
        let key_bytes = Party::BOTH.map(|party| key_bytes(deal, party));
        let sent_bytes = [sent; 2];
        Self { key_bytes, sent_bytes, weight_bytes, weight_products, rounds, aes_blocks, multiplications }
    }

    /// This work for `runs` runs on weights that are opened once.
    ///
    /// [`deal_runs`](crate::folder::deal_runs) deals their keys. Each product by weights adds once
    /// a key of a seed and a message with a step digest. Each run adds the
    /// [agreement](crate::folder::AGREEMENT) on the run.
    #[must_use]
    pub fn of_runs(self, runs: u32) -> Self {
        let later = Self {
            sent_bytes: self.sent_bytes.map(|bytes| bytes - self.weight_bytes + AGREEMENT.sent_bytes),
            weight_bytes: 0,
            weight_products: 0,
            rounds: self.rounds + AGREEMENT.rounds,
            ..self
        };
        let opening = Self {
            key_bytes: [SEED * self.weight_products; 2],
            sent_bytes: [self.weight_bytes + STEP_DIGEST * self.weight_products; 2],
            weight_bytes: self.weight_bytes,
            weight_products: self.weight_products,
            rounds: self.weight_products,
            ..Self::default()
        };
        later.times(runs).plus(opening)
    }
}

impl LayerCost {
    /// The work of one such layer.
    #[must_use]
    pub fn work(&self) -> Work {
        self.gates.iter().fold(Work::default(), |sum, gate| sum.plus(gate.work))
    }
}

impl ModelCost {
    /// The cost of a model that runs: its plan, with the opening of the logits.
    ///
    /// Bytes sent and rounds equal [`Plan::traffic`].
    ///
    /// # Errors
    /// As [`Model::plan`].
    pub fn of_model(model: &Model) -> Result<Self, InferenceError> {
        let plan = model.plan()?;
        let mut gates = gates(&model.record()?.0.steps);
        gates.push(reveal(&plan, &gates));
        let key_memory_bytes = Party::BOTH.map(|party| plan.most_memory_bytes(party));
        let layer = LayerCost { name: "whole model".to_owned(), count: 1, gates, key_memory_bytes };
        Ok(Self { title: model.title(), layers: vec![layer] })
    }

    /// The cost of the layers of a transformer on `count` sequences of hidden states.
    ///
    /// Gates are chosen by `preference`.
    ///
    /// Only the layers are counted: no embeddings, no norm before the first layer or after the last
    /// one, no layer for results. The hidden states of the last layer stay shared.
    ///
    /// # Errors
    /// As [`TransformerShape::check`]; [`InferenceError::Shape`] or [`InferenceError::Count`] for
    /// tensors of more than 2^27 elements; [`InferenceError::Range`] or [`InferenceError::Pfss`]
    /// for limits whose sums and products do not fit 64 bits.
    pub fn of_transformer(
        name: &str,
        shape: &TransformerShape,
        limits: DeclaredLimits,
        count: usize,
        preference: Preference,
    ) -> Result<Self, InferenceError> {
        shape.check()?;
        check_size(shape, count)?;
        let steps = layer_steps(shape, limits, count, preference)?;
        let gates = gates(&steps);
        let (positions, end) = (shape.sequence, preference.title());
        let title = format!("layers of {name} for {count} sequences of {positions} positions{end}");
        let deals = || steps.iter().flat_map(|recorded| &recorded.step.deals);
        let key_memory_bytes = Party::BOTH.map(|party| most_memory_bytes(deals(), party));
        let layer = LayerCost { name: "layer".to_owned(), count: shape.layers, gates, key_memory_bytes };
        Ok(Self { title, layers: vec![layer] })
    }

    /// The most bytes of keys of party 0 and party 1 that a run has in memory at once.
    #[must_use]
    pub fn key_memory_bytes(&self) -> [u64; 2] {
        let most = |party: usize| self.layers.iter().map(|layer| layer.key_memory_bytes[party]).max().unwrap_or(0);
        [most(0), most(1)]
    }

    /// The work of the whole run.
    #[must_use]
    pub fn total(&self) -> Work {
        self.layers.iter().fold(Work::default(), |sum, layer| sum.plus(layer.work().times(layer.count)))
    }
}

/// The most elements of one tensor of a planned layer: a gigabyte.
const MAX_ELEMENTS: u64 = 1 << 27;

/// Checks that a layer of this shape can be planned.
///
/// Its tensors are allocated, one after the other.
fn check_size(shape: &TransformerShape, count: usize) -> Result<(), InferenceError> {
    let [width, hidden, heads, sequence] = [shape.width, shape.hidden, shape.heads, shape.sequence].map(u64::from);
    let widest = (3 * width).max(hidden);
    if width * widest > MAX_ELEMENTS {
        let expected = format!("at most {MAX_ELEMENTS} weights of one layer");
        return Err(InferenceError::Shape { what: "the width", expected, got: shape.width });
    }
    let max = (MAX_ELEMENTS / (sequence * widest.max(heads * sequence))) as usize;
    if count == 0 || count > max {
        return Err(InferenceError::Count { max, got: count });
    }
    Ok(())
}

/// The cost of each gate of each step; some steps are products by weights.
fn gates(steps: &[RecordedStep]) -> Vec<GateCost> {
    let mut gates: Vec<GateCost> = Vec::new();
    for RecordedStep { step, product } in steps {
        for deal in &step.deals {
            let (name, elements) = match deal {
                Deal::Gate(gate, count) | Deal::Alongside(gate, count) => (gate.kind().to_string(), *count),
                Deal::Matrix(_, shape) => ("matrix product".to_owned(), shape.lens()[2]),
            };
            let (elements, work) = (elements as u64, Work::of(deal, product.is_some()));
            match gates.iter_mut().find(|gate| gate.step == step.name && gate.gate == name) {
                Some(gate) => {
                    gate.elements += elements;
                    gate.work = gate.work.plus(work);
                }
                None => gates.push(GateCost { step: step.name.clone(), gate: name, elements, work }),
            }
        }
    }
    gates
}

/// The last message of a plan, which opens the logits to the client and takes no keys.
fn reveal(plan: &Plan, gates: &[GateCost]) -> GateCost {
    let before = gates.iter().fold(Work::default(), |sum, gate| sum.plus(gate.work));
    let [zero, one] = Party::BOTH.map(|party| plan.traffic(party));
    let sent_bytes = [zero.sent_bytes - before.sent_bytes[0], one.sent_bytes - before.sent_bytes[1]];
    let work = Work { sent_bytes, rounds: zero.rounds - before.rounds, ..Work::default() };
    GateCost { step: "reveal".to_owned(), gate: "opening".to_owned(), elements: plan.outputs as u64, work }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Architecture;

    #[test]
    fn the_digits_network_costs_its_gates_on_each_unit() {
        let (images, hidden) = (32u64, 64u64);
        let units = images * hidden;
        let cost = ModelCost::of_model(&Model::new(Architecture::Digits, images as usize).unwrap()).unwrap();
        let work = cost.total();
        // Party 1: a seed and a share of each product of matrices; for each unit a shift by 12 (trees of 112 bytes,
        // 4 words, 1 bit) and ReLU of 22 bits (256 bytes, 3 words, 1 bit).
        let matrices = 2 * 32 + 8 * (units + images * 10);
        let (shift, relu) = (8 * (112 + 32) + 1, 8 * (256 + 24) + 1);
        assert_eq!(work.key_bytes[1], matrices + units / 8 * (shift + relu));
        // Party 0: correction words and leaves, and a seed for each of four deals.
        assert_eq!(work.key_bytes[0], 4 * 32 + units * (112 - 16 + 256 - 16));
        // Both factors of each product; for each unit two masked inputs and two bits; digests of seven rounds. Sums of
        // 64 products of a pixel, at most 2^12, and a weight, at most 2^14, have a magnitude of at most 2^32, with the
        // bias and the half below 2^33: they leave a gap in 35 bits, in which the first product and its shift open.
        let opened = (35 * (units + 64 * hidden) + 64 * (units + hidden * 10) + (35 + 1 + 64 + 1) * units) / 8;
        assert_eq!(work.sent_bytes, [opened + 7 * 16, opened + 7 * 16 + 8 * images * 10]);
        assert_eq!(work.weight_bytes, (35 * 64 * hidden + 64 * hidden * 10) / 8);
        assert_eq!((work.rounds, work.aes_blocks), (7, units * (5 + 14)));
        assert_eq!(work.multiplications, 2 * images * (64 * hidden + hidden * 10));
    }

    #[test]
    fn totals_are_those_of_the_plan() {
        let all = Architecture::ALL
            .into_iter()
            .flat_map(|model| Preference::ALL.map(|preference| (model.clone(), preference)));
        for (architecture, preference) in all {
            for count in [1, 3] {
                let model = Model::new(architecture.clone(), count).unwrap().preferring(preference);
                let (plan, cost) = (model.plan().unwrap(), ModelCost::of_model(&model).unwrap());
                let work = cost.total();
                let opened = model.opened_plan().unwrap();
                assert_eq!(
                    work.weight_bytes + 16 * opened.products().len() as u64,
                    opened.opening_traffic().sent_bytes
                );
                assert_eq!(work.weight_products, opened.products().len() as u64);
                let runs = work.of_runs(3);
                for party in Party::BOTH {
                    let (once, run) = (opened.opening_traffic(), opened.run_traffic(party));
                    let sent = once.sent_bytes + 3 * (run.sent_bytes + AGREEMENT.sent_bytes);
                    let rounds = once.rounds + 3 * (run.rounds + AGREEMENT.rounds);
                    assert_eq!((runs.sent_bytes[party.index()], runs.rounds), (sent, rounds));
                    let (traffic, later) = (plan.traffic(party), opened.run_traffic(party));
                    assert_eq!(traffic.sent_bytes - work.weight_bytes, later.sent_bytes);
                    let keys: u64 = plan.deals().map(|deal| key_bytes(deal, party)).sum();
                    assert_eq!(work.key_bytes[party.index()], keys);
                    assert_eq!((work.sent_bytes[party.index()], work.rounds), (traffic.sent_bytes, traffic.rounds));
                }
                let aes = |deal: &Deal| match deal {
                    Deal::Gate(gate, count) | Deal::Alongside(gate, count) => gate.cost().aes * *count as u64,
                    Deal::Matrix(..) => 0,
                };
                assert_eq!(work.aes_blocks, plan.deals().map(aes).sum::<u64>());
            }
        }
    }

    #[test]
    fn the_transformer_block_has_its_elements() {
        let (images, positions, width, hidden, heads) = (3u64, 8u64, 16u64, 32u64, 4u64);
        let cost = ModelCost::of_model(&Model::new(Architecture::Transformer, images as usize).unwrap()).unwrap();
        let elements = |step: &str, gate: &str| {
            let found = cost.layers[0].gates.iter().find(|cost| cost.step == step && cost.gate == gate);
            found.unwrap_or_else(|| panic!("{step}: {gate}")).elements
        };
        let rows = images * positions;
        assert_eq!(elements("feed.gelu", "suf"), rows * hidden);
        // one exponential for each score, and one reciprocal for each row of scores
        let scores = heads * rows * positions;
        assert_eq!(elements("attention.softmax", "suf"), scores + heads * rows);
        // a tournament of eight scores takes seven comparisons
        assert_eq!(elements("attention.softmax", "relu"), heads * rows * 7);
        assert_eq!(elements("attention.norm.rsqrt", "suf"), rows);
        assert_eq!(elements("attention.norm.squares", "product"), rows * width);
        assert_eq!(elements("attention.qkv", "matrix product"), rows * 3 * width);
        assert_eq!(elements("reveal", "opening"), images * 10);
        // Products of the first norm open both factors in the ring of the shift after them. The embedding of 8 pixels
        // has a magnitude of at most 18, so that centred elements have at most 36: sums of 16 squares have 39 bits.
        // Normed elements are little above 4, with 24 fraction bits 27 bits. A sign and a gap are added.
        for (step, bits) in [("attention.norm.squares", 39 + 2), ("attention.norm.scale", 27 + 2)] {
            let sent = cost.layers[0].gates.iter().find(|cost| cost.step == step).map(|cost| cost.work.sent_bytes);
            assert_eq!(sent, Some([rows * width * 2 * bits / 8 + 16; 2]), "{step}");
        }
        // The same by table: the lookups of a constant and a slope for each unit, and for each score.
        let model = Model::new(Architecture::Transformer, images as usize).unwrap().preferring(Preference::KeyBytes);
        let tables = ModelCost::of_model(&model).unwrap();
        assert_eq!(tables.title, "transformer for 3 inputs with fewest bytes of keys");
        let found = |step: &str, gate: &str| {
            let found = tables.layers[0].gates.iter().find(|cost| cost.step == step && cost.gate == gate);
            found.unwrap_or_else(|| panic!("{step}: {gate}"))
        };
        // and one reciprocal, a spline, for each row of scores
        for (step, inputs, fewer) in [("feed.gelu", rows * hidden, 0), ("attention.softmax", scores, heads * rows)] {
            let (shift, suf, lookups) = (found(step, "truncate-reduce"), found(step, "suf"), found(step, "lut"));
            let elements = [shift, suf, lookups].map(|cost| cost.elements);
            assert_eq!(elements, [inputs, inputs + fewer, 2 * inputs], "{step}");
            // one message for both look-ups in each of two rounds
            assert_eq!((shift.work.rounds, lookups.work.rounds), (2, 2), "{step}");
            // Each opens the index of a line of 8 or 9 bits, a word and its sign. Words hold inputs of GeLU, proven to
            // be below 2^8 in units of 2^-19, and exponentials below 2^31, with a sign and a gap.
            let (bits, word) = if step == "feed.gelu" { (8, 8 + 19 + 2) } else { (9, 31 + 2) };
            let sent = 2 * (inputs * (bits + word + 1) / 8) + 2 * 16;
            assert_eq!(lookups.work.sent_bytes, [sent; 2], "{step}");
        }
        let (splines, tables) = (cost.total(), tables.total());
        assert_eq!(tables.rounds, splines.rounds + 2 * 5);
        assert_eq!(tables.multiplications, splines.multiplications + 3 * (rows * hidden + scores));
        assert!(tables.key_bytes.into_iter().zip(splines.key_bytes).all(|(fewer, more)| fewer < more));
        // the two multiplications of each product of matrices, and the products of norms and softmax
        let matrices = rows * width * (8 + 3 * width + width + 2 * hidden) + 2 * scores * width / heads;
        let products = 2 * 2 * rows * width + scores;
        assert_eq!(cost.total().multiplications, 2 * (matrices + images * width * 10) + 3 * products);
    }
}
