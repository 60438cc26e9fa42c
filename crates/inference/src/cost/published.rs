//! Models whose costs others have published: their shapes and the published figures.

use core::{fmt, str::FromStr};

use serde::Serialize;

use super::report::ModelCost;
use crate::{Architecture, DeclaredLimits, InferenceError, NormPlacement, Preference, TransformerShape};

/// A transformer whose cost others have published. Its shape is for planning alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedModel {
    /// BERT with 2 layers of width 128 (Turc et al., arXiv 1908.08962).
    BertTiny,
    /// BERT with 12 layers of width 768 (Devlin et al., arXiv 1810.04805).
    BertBase,
    /// BERT with 24 layers of width 1024, from the same paper.
    BertLarge,
    /// GPT-2 with 12 layers of width 768 (Radford et al., 2019), the smallest of its family.
    Gpt2,
}

/// The cost of a system for one sequence of 128 positions, as its authors published it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PublishedFigures {
    /// The system.
    pub system: &'static str,
    /// Keys of a party in units of `10^9` bytes.
    pub key_gigabytes: f64,
    /// Bytes sent by a party in units of `10^9` bytes.
    pub sent_gigabytes: f64,
    /// Rounds.
    pub rounds: u64,
}

/// A model whose cost can be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedModel {
    /// A model that runs.
    Runs(Architecture),
    /// A shape alone.
    Published(PublishedModel),
}

impl PublishedModel {
    /// Every such model.
    pub const ALL: [Self; 4] = [Self::BertTiny, Self::BertBase, Self::BertLarge, Self::Gpt2];

    /// Positions of the sequences that figures were published for.
    pub const PUBLISHED_SEQUENCE: u32 = 128;

    /// The date of the published figures, and where they come from.
    pub const SOURCE: &'static str = "repository SUF_new, 2026-01-26, two RTX PRO 6000";

    /// The most positions of all sequences together.
    ///
    /// Planning takes memory in proportion to it, less than a gigabyte for the most.
    pub const MAX_POSITIONS: u32 = 2048;

    /// Limits on magnitudes that costs are planned with. They are assumed, not proven.
    pub const LIMITS: DeclaredLimits =
        DeclaredLimits { weights: 16, residual: 4096, deviation: 256, projections: 256, scores: 64, hidden: 256 };

    /// Its name on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BertTiny => "bert-tiny",
            Self::BertBase => "bert-base",
            Self::BertLarge => "bert-large",
            Self::Gpt2 => "gpt2",
        }
    }

    /// The shape for sequences of `sequence` positions.
    ///
    /// # Errors
    /// [`InferenceError::Shape`] for more positions than the model has: 512, or 1024 for GPT-2.
    pub fn shape(self, sequence: u32) -> Result<TransformerShape, InferenceError> {
        let (layers, width, heads, positions) = match self {
            Self::BertTiny => (2, 128, 2, 512),
            Self::BertBase => (12, 768, 12, 512),
            Self::BertLarge => (24, 1024, 16, 512),
            Self::Gpt2 => (12, 768, 12, 1024),
        };
        if sequence == 0 || sequence > positions {
            let expected = format!("1 to {positions} for {self}");
            return Err(InferenceError::Shape { what: "positions", expected, got: sequence });
        }
        let causal = self == Self::Gpt2;
        let norm = if causal { NormPlacement::Pre } else { NormPlacement::Post };
        Ok(TransformerShape { layers, width, heads, hidden: 4 * width, sequence, causal, norm })
    }

    /// The cost of its layers on `count` sequences, as [`ModelCost::of_transformer`] counts it.
    ///
    /// Gates are chosen by `preference`.
    ///
    /// # Errors
    /// [`InferenceError::Shape`] for more positions than the model has, [`InferenceError::Count`]
    /// for no sequence or more than [`MAX_POSITIONS`](Self::MAX_POSITIONS) together.
    pub fn cost(self, sequence: u32, count: usize, preference: Preference) -> Result<ModelCost, InferenceError> {
        let shape = self.shape(sequence)?;
        let max = (Self::MAX_POSITIONS / sequence) as usize;
        if count == 0 || count > max {
            return Err(InferenceError::Count { max, got: count });
        }
        ModelCost::of_transformer(self.name(), &shape, Self::LIMITS, count, preference)
    }

    /// The figures of SIGMA and of SUF for one sequence of 128 positions.
    ///
    /// They are for whole models, embeddings included.
    #[must_use]
    pub const fn figures(self) -> [PublishedFigures; 2] {
        const fn of(system: &'static str, key_gigabytes: f64, sent_gigabytes: f64, rounds: u64) -> PublishedFigures {
            PublishedFigures { system, key_gigabytes, sent_gigabytes, rounds }
        }
        match self {
            Self::BertTiny => [of("SIGMA", 0.326, 0.020, 188), of("SUF", 0.250, 0.017, 186)],
            Self::BertBase => [of("SIGMA", 16.8, 0.989, 1128), of("SUF", 12.7, 0.830, 1116)],
            Self::BertLarge => [of("SIGMA", 45.4, 2.638, 2256), of("SUF", 34.5, 2.213, 2232)],
            Self::Gpt2 => [of("SIGMA", 14.3, 0.824, 1128), of("SUF", 11.1, 0.724, 1116)],
        }
    }
}

impl fmt::Display for PublishedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PlannedModel {
    type Err = InferenceError;

    fn from_str(name: &str) -> Result<Self, InferenceError> {
        let runs = Architecture::ALL.into_iter().find(|model| model.name() == name).map(Self::Runs);
        let published = || PublishedModel::ALL.into_iter().find(|model| model.name() == name).map(Self::Published);
        runs.or_else(published).ok_or_else(|| {
            let published = PublishedModel::ALL.map(PublishedModel::name).join(", ");
            let expected = format!("{}, {published}", Architecture::names());
            InferenceError::PlannedModel { name: name.to_owned(), expected }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions and the width of a head, of every model.
    const T: u64 = 128;
    const HEAD: u64 = 64;

    #[test]
    fn published_shapes_cost_what_follows_from_their_lengths() {
        for model in PublishedModel::ALL {
            let cost = model.cost(T as u32, 1, Preference::Rounds).unwrap();
            let shape = model.shape(T as u32).unwrap();
            let [layers, width, heads, hidden] = [shape.layers, shape.width, shape.heads, shape.hidden].map(u64::from);
            assert_eq!((width, hidden), (heads * HEAD, 4 * width));
            let layer = &cost.layers[0];
            assert_eq!((cost.layers.len(), layer.count), (1, shape.layers));

            // Elements of each function; causal rows have 1 to 128 scores.
            let elements = |step: &str, gate: &str| {
                let found = layer.gates.iter().find(|cost| cost.step == step && cost.gate == gate);
                found.unwrap_or_else(|| panic!("{step}: {gate}")).elements
            };
            let scores = heads * if shape.causal { T * (T + 1) / 2 } else { T * T };
            assert_eq!(elements("feed.gelu", "suf"), T * hidden);
            assert_eq!(elements("attention.softmax", "suf"), scores + heads * T);
            assert_eq!(elements("attention.softmax", "relu"), scores - heads * T);
            assert_eq!(elements("attention.scores.rescale", "gap ars"), scores);
            assert_eq!(elements("feed.norm.rsqrt", "suf"), T);

            // Products of matrices; products of two norms, three with factors, and of the softmax.
            let matrices = T * width * (4 * width + 2 * hidden) + 2 * heads * T * T * HEAD;
            let in_norm = if shape.causal { 2 } else { 3 };
            let products = 2 * in_norm * T * width + scores;
            assert_eq!(cost.total().multiplications, layers * (2 * matrices + 3 * products));

            // Weights are opened in the rings of their products, which the limits leave 40 to 56 bits.
            let opened = |bits: u64| layers * bits * width * (4 * width + 2 * hidden) / 8;
            assert!((opened(40)..opened(56)).contains(&cost.total().weight_bytes));

            // Six products of matrices, six shifts, the softmax, GeLU; for each norm two rounds of products, two means,
            // the root and a shift. Shifts, means and each half of a function take two rounds.
            let softmax = 2 * 7 + 11;
            assert_eq!(cost.total().rounds, layers * (6 + 12 + softmax + 4 + 2 * 12));

            // Keys and messages are of the published size; party 0 has a seed in place of some.
            let (work, [sigma, _]) = (cost.total(), model.figures());
            let near = |bytes: u64, gigabytes: f64| (0.25..2.0).contains(&(bytes as f64 / 1e9 / gigabytes));
            assert!(near(work.key_bytes[0], sigma.key_gigabytes) && near(work.key_bytes[1], sigma.key_gigabytes));
            assert!(near(work.sent_bytes[0], sigma.sent_gigabytes) && work.key_bytes[0] < work.key_bytes[1]);
            assert_eq!(work.sent_bytes[0], work.sent_bytes[1]);

            // By table: five rounds and a product more for each of both functions.
            let tables = model.cost(T as u32, 1, Preference::KeyBytes).unwrap().total();
            assert_eq!(tables.rounds, work.rounds + layers * 2 * 5);
            assert_eq!(tables.multiplications, work.multiplications + layers * 3 * (T * hidden + scores));
            assert_eq!(tables.weight_bytes, work.weight_bytes);
            assert!(tables.key_bytes[1] < work.key_bytes[1] && tables.sent_bytes[1] > work.sent_bytes[1]);

            // Balanced: in each norm one round less for the mean, the variance, the selection and the shift of a root,
            // and, with factors, one more for their products with the roots. In the softmax two rounds less for the
            // reciprocals, and one for each of the four rounds with at most one comparison for 16 elements.
            let balanced = model.cost(T as u32, 1, Preference::Balanced).unwrap().total();
            let of_factors = if shape.causal { 0 } else { 2 };
            assert_eq!(balanced.rounds, tables.rounds - layers * (2 * 4 + 2 + 4 - of_factors));
            assert!(balanced.rounds < work.rounds && balanced.sent_bytes[0] < tables.sent_bytes[0]);
            for party in [0, 1] {
                let [more, fewer] = [&balanced, &tables].map(|work| work.key_bytes[party]);
                assert!(more < fewer + fewer / 10, "{model}: {more} and {fewer}");
            }
        }
    }

    /// Limits on keys, bytes after the weights and rounds; each other preference exceeds one.
    #[test]
    fn the_balanced_plan_of_bert_base_meets_all_limits_at_once() {
        for preference in Preference::ALL {
            let work = PublishedModel::BertBase.cost(T as u32, 1, preference).unwrap().total();
            let [zero, one] = work.key_bytes;
            let sent = work.sent_bytes[0] - work.weight_bytes;
            let meets = [zero <= 6_000_000_000, one <= 9_000_000_000, sent <= 500_000_000, work.rounds <= 860];
            assert_eq!(meets == [true; 4], preference == Preference::Balanced, "{preference}: {meets:?}");
        }
    }

    #[test]
    fn the_documented_costs_are_planned() {
        let document = include_str!("../../../../docs/pfss.md");
        let by_rounds = PublishedModel::ALL.map(|model| (model, Preference::Rounds, ""));
        let by_bytes = (PublishedModel::BertBase, Preference::KeyBytes, ", `--prefer bytes`");
        let balanced = (PublishedModel::BertBase, Preference::Balanced, ", `--prefer balanced`");
        for (model, preference, option) in by_rounds.into_iter().chain([by_bytes, balanced]) {
            let work = model.cost(T as u32, 1, preference).unwrap().total();
            let giga = |count: u64| count as f64 / 1e9;
            let [zero, one] = work.key_bytes.map(giga);
            let (sent, weights) = (giga(work.sent_bytes[0]), giga(work.weight_bytes));
            let rounds = match work.rounds {
                rounds @ 1000.. => format!("{},{:03}", rounds / 1000, rounds % 1000),
                rounds => rounds.to_string(),
            };
            let (aes, products) = (giga(work.aes_blocks), giga(work.multiplications));
            let row = format!(
                "| `{}`{option} | {zero:.2} / {one:.2} | {sent:.3} | {weights:.3} | {rounds} | {aes:.2} G | {products:.1} G |\n",
                model.name()
            );
            assert!(document.contains(&row), "docs/pfss.md: {row}");
        }
    }

    #[test]
    fn other_names_and_lengths_are_refused() {
        for model in PublishedModel::ALL {
            assert_eq!(model.name().parse::<PlannedModel>().unwrap(), PlannedModel::Published(model));
            for sequence in [0, 1025] {
                assert!(matches!(model.shape(sequence), Err(InferenceError::Shape { what: "positions", .. })));
            }
            let refused = |count| {
                let cost = model.cost(512, count, Preference::KeyBytes);
                matches!(cost, Err(InferenceError::Count { max: 4, .. }))
            };
            assert!(refused(0) && refused(5));
        }
        for architecture in Architecture::ALL {
            assert_eq!(architecture.name().parse::<PlannedModel>().unwrap(), PlannedModel::Runs(architecture));
        }
        assert!(matches!("bert".parse::<PlannedModel>(), Err(InferenceError::PlannedModel { .. })));
    }
}
