use std::sync::Arc;

use backend_api::Queue as _;

use core_types::params::share::WordTerm;
use zeroize::Zeroizing;

use super::{
    super::{
        BitShares, Pending,
        bit_sums::{combine_rows, predicate_shares},
        opened::Opened,
        rest::Rest,
        sums::Sums,
        tree::cmp_shares,
    },
    SufBools, SufShares, SufStep,
    coeffs::{self, Payload, hidden_pieces},
};
use crate::{
    KeyBundle, Party, PfssError, Walk,
    predicate::Program,
    suf::{BoolMode, Class, CoeffMode, PredProgram, Selection, SufProgram, Value},
};

/// XOR shares, 32 elements a word, bits past the last element zero.
type Bits = Zeroizing<Vec<u32>>;

/// A descriptor's evaluation between two exchanges.
pub(super) struct Machine {
    bundle: KeyBundle,
    program: Arc<SufProgram>,
    x_hat: Vec<u64>,
    /// Shares of each step function; empty where the payload key stands in for them.
    steps: Vec<Bits>,
    /// Shares of each Boolean value, as far as known.
    values: Vec<Option<Bits>>,
    words: Vec<u64>,
    bools: Vec<u64>,
    round: usize,
}

impl Machine {
    /// Walks all key trees.
    pub(super) fn start<Q: Walk>(q: &Q, bundle: KeyBundle, x_hat: Vec<u64>) -> Result<Self, PfssError> {
        let kind = bundle.gate().kind();
        let Some(program) = bundle.gate().program().cloned() else {
            return Err(PfssError::Kind { expected: crate::GateKind::Suf, got: kind });
        };
        let values = vec![None; program.bools().values.len()];
        let mut machine =
            Self { bundle, program, x_hat, steps: vec![], values, words: vec![], bools: vec![], round: 0 };
        let payload_tree = machine.compare(q)?;
        machine.select(q, payload_tree)?;
        Ok(Self { bundle: machine.bundle.walked(), ..machine })
    }

    /// Shares of all step functions; returns the first tree after the comparison keys.
    fn compare<Q: Walk>(&mut self, q: &Q) -> Result<usize, PfssError> {
        let (program, count) = (Arc::clone(&self.program), self.x_hat.len());
        let rows = program.rows();
        let (mut tree, mut wrap) = (0, rows.selectors + 3 * rows.ands + rows.bools);
        self.steps = program.bools().steps.iter().map(|step| self.public(step.initial)).collect();
        for class in program.classes() {
            let plan = program.class_program(class);
            let combined = match program.modes().preds {
                PredProgram::SharedAlpha => {
                    tree += 1;
                    predicate_shares(q, &self.bundle, tree - 1, &plan, &self.x_hat)?
                }
                PredProgram::StepDcf => {
                    let (first_tree, first_wrap) = (tree, wrap);
                    tree += class.thresholds.len();
                    wrap += class.thresholds.iter().filter(|&&threshold| threshold > 0).count();
                    let rows = self.hidden_thresholds(q, class, &plan, first_tree, first_wrap)?;
                    combine_rows(q, &self.bundle, &plan, &self.x_hat, &rows)?
                }
            };
            let combined = Zeroizing::new(combined);
            let rows = combined.chunks(count.div_ceil(32).max(1));
            for (&step, row) in class.steps.iter().zip(rows) {
                self.steps[step] = Zeroizing::new(row.to_vec());
            }
        }
        Ok(tree)
    }

    /// Shares of `1[r + b <= x_hat]`, and of whether `r + b` wrapped, for each threshold `b` of a class.
    fn hidden_thresholds<Q: Walk>(
        &self,
        q: &Q,
        class: &Class,
        plan: &Program,
        tree: usize,
        first_wrap: usize,
    ) -> Result<Bits, PfssError> {
        let at_input = Program::carry(plan.domain(), self.bundle.gate().ring());
        let mut wrap = first_wrap;
        // the full capacity at once, since growing would leave copies behind
        let mut all = Zeroizing::new(Vec::with_capacity(class.thresholds.len() * self.x_hat.len().div_ceil(32)));
        for (key, &threshold) in class.thresholds.iter().enumerate() {
            let mut row = cmp_shares(q, &self.bundle, tree + key, &at_input, &self.x_hat)?;
            if threshold > 0 {
                row.iter_mut().zip(self.bundle.bit_row(wrap)).for_each(|(bits, &wrapped)| *bits ^= wrapped);
                wrap += 1;
            }
            all.extend_from_slice(&row);
        }
        Ok(all)
    }

    /// All output words and bits that need no exchange.
    fn select<Q: Walk>(&mut self, q: &Q, tree: usize) -> Result<(), PfssError> {
        let (program, bundle, x_hat) = (&self.program, &self.bundle, &self.x_hat);
        let payload = match program.selection() {
            Selection::By(CoeffMode::StepDcf) => None,
            _ if program.payload_words() > 0 => Some(Payload::eval(q, bundle, program, tree, x_hat)?),
            _ => None,
        };
        let words = match (program.selection(), &payload) {
            (Selection::By(CoeffMode::MaskedSelect), _) => Vec::new(), // after the first exchange
            (Selection::By(CoeffMode::StepDcf), _) => {
                let rows = program.rows();
                let base_row = 1 + rows.powers + rows.products;
                hidden_pieces(q, bundle, program, (tree, base_row), x_hat)?
            }
            (Selection::By(CoeffMode::IntervalLut), Some(payload)) => payload.words(x_hat)?,
            (Selection::None, _) if program.desc().words().is_empty() => Vec::new(),
            // one piece
            _ => coeffs::words(bundle.gate(), program, |_, _| Vec::new()).run_with(
                q,
                bundle,
                x_hat,
                &q.queue().zeros(0)?,
            )?,
        };
        let bools = match &payload {
            _ if !program.local_bools() => Vec::new(), // opened after the last exchange, or XOR shares
            Some(payload) => payload.steps(program.output_steps(), x_hat)?,
            None => constants(bundle.party(), program, x_hat.len()),
        };
        (self.words, self.bools) = (words, bools);
        Ok(())
    }

    /// Computes what is known by now, and opens what is needed next.
    pub(super) fn step(mut self) -> SufStep {
        self.settle();
        if self.round == self.program.rounds().len() {
            return SufStep::Done(self.shares());
        }
        let rows = self.openings();
        let (party, count) = (self.bundle.party(), self.x_hat.len());
        SufStep::Open(Pending::masked(party, count, rows, self))
    }

    /// Fills in the values whose operands are known.
    fn settle(&mut self) {
        for at in 0..self.values.len() {
            if self.values[at].is_some() {
                continue;
            }
            self.values[at] = match &self.program.bools().values[at] {
                Value::Step(step) => Some(self.steps[*step].clone()),
                Value::Xor { terms, flip } => {
                    let known: Option<Vec<&Bits>> = terms.iter().map(|&term| self.values[term].as_ref()).collect();
                    known.map(|terms| terms.into_iter().fold(self.public(*flip), |sum, term| xor(&sum, term)))
                }
                Value::And { .. } => None, // when opened
            };
        }
    }

    /// The masked rows of this round: selectors first, then both operands of each conjunction, then output bits.
    fn openings(&self) -> Vec<u32> {
        let (bools, rows) = (self.program.bools(), self.program.rows());
        let mut out = Vec::new();
        let mut push = |bits: &[u32], mask: usize| {
            let masks = self.bundle.bit_row(mask).iter().enumerate();
            out.extend(bits.iter().zip(masks).map(|(bits, (word, mask))| bits ^ (mask & self.live(word))));
        };
        for (mask, &step) in self.program.selectors().iter().enumerate().take(self.opened_selectors()) {
            push(&self.steps[step], mask);
        }
        for (triple, left, right) in self.conjunctions() {
            push(self.value(left), triple);
            push(self.value(right), triple + 1);
        }
        if self.opens_outputs() {
            for (bit, &output) in bools.outputs.iter().enumerate() {
                push(self.value(output), rows.selectors + 3 * rows.ands + bit);
            }
        }
        out
    }

    /// The first bit row of the triple and the operands of each conjunction of this round.
    fn conjunctions(&self) -> Vec<(usize, usize, usize)> {
        let bools = self.program.bools();
        let Some(round) = bools.rounds.get(self.round) else { return Vec::new() };
        let before: usize = bools.rounds[..self.round].iter().map(Vec::len).sum();
        let first = self.program.rows().selectors + 3 * before;
        let operands = |(at, &value): (usize, &usize)| match bools.values[value] {
            Value::And { left, right } => Some((first + 3 * at, left, right)),
            _ => None,
        };
        round.iter().enumerate().filter_map(operands).collect()
    }

    /// Takes in what [`openings`](Self::openings) opened.
    fn absorb(&mut self, opened: &Opened, sums: Vec<Vec<u64>>) {
        let (program, mut sums) = (Arc::clone(&self.program), sums.into_iter());
        let mut row = self.opened_selectors();
        if row > 0 {
            self.words = sums.next().unwrap_or_default();
        }
        let values = program.bools().rounds.get(self.round).into_iter().flatten();
        for ((triple, ..), &value) in self.conjunctions().into_iter().zip(values) {
            let [a, b, both] = [0, 1, 2].map(|part| self.bundle.bit_row(triple + part));
            let product = |word: usize| {
                let (left, right) = (opened.row(row)[word], opened.row(row + 1)[word]);
                let public = if opened.party == Party::Zero { left & right } else { 0 };
                (both[word] ^ (left & b[word]) ^ (right & a[word]) ^ public) & self.live(word)
            };
            self.values[value] = Some(Zeroizing::new((0..both.len()).map(product).collect()));
            row += 2;
        }
        if self.opens_outputs() {
            self.bools = sums.next().unwrap_or_default();
        }
    }

    /// Selectors that this round opens, `w = 1[x >= a_i] ^ c_i`.
    fn opened_selectors(&self) -> usize {
        if self.round == 0 { self.program.rows().selectors } else { 0 }
    }

    /// Whether this round opens the output bits.
    fn opens_outputs(&self) -> bool {
        self.round == self.program.bools().rounds.len() && self.program.rows().bools > 0
    }

    fn shares(self) -> SufShares {
        let bools = match self.program.modes().bools {
            BoolMode::Additive => SufBools::Additive(self.bools),
            BoolMode::XorPacked => {
                let rows: Vec<&[u32]> = self.program.bools().outputs.iter().map(|&output| self.value(output)).collect();
                SufBools::Xor(BitShares::new(self.bundle.party(), self.x_hat.len(), rows.concat()))
            }
        };
        SufShares { words: self.words, bools }
    }

    /// A value that is known.
    fn value(&self, at: usize) -> &[u32] {
        self.values[at].as_ref().map_or(&[], |bits| bits)
    }

    /// The share of a public bit, in every live lane.
    fn public(&self, bit: bool) -> Bits {
        let bit = bit && self.bundle.party() == Party::Zero;
        let words = 0..self.x_hat.len().div_ceil(32);
        Zeroizing::new(words.map(|word| if bit { self.live(word) } else { 0 }).collect())
    }

    /// The lanes of word `word` that hold elements.
    fn live(&self, word: usize) -> u32 {
        u32::MAX >> (32 - (self.x_hat.len() - 32 * word).min(32)) // words hold at least one element
    }
}

impl Rest<SufStep> for Machine {
    fn bundle(&self) -> &KeyBundle {
        &self.bundle
    }

    fn x<'a>(&'a self, _: &'a Opened) -> &'a [u64] {
        &self.x_hat
    }

    fn sums(&self) -> Vec<Sums> {
        let (program, rows) = (&self.program, self.program.rows());
        let (ring, powers) = (program.desc().ring(), program.desc().degree() as usize + 1);
        let mut sums = Vec::new();
        if self.opened_selectors() > 0 {
            let product = |i: usize, j: usize| 1 + rows.powers + i * powers + j;
            sums.push(coeffs::words(self.bundle.gate(), program, |i, j| coeffs::selected(i, j, product(i, j))));
        }
        if self.opens_outputs() {
            let (first, mask) = (self.opened_selectors(), 1 + rows.powers + rows.products + rows.base);
            let bit = |bit: usize| [WordTerm::bit((first + bit) as u32, (mask + bit) as u32)];
            sums.push((0..rows.bools).fold(Sums::new(ring, ring).interleaved(), |sums, at| sums.sum(bit(at))));
        }
        sums
    }

    fn finish(self: Box<Self>, opened: &Opened, sums: Vec<Vec<u64>>) -> SufStep {
        let mut machine = *self;
        machine.absorb(opened, sums);
        machine.round += 1;
        machine.step()
    }
}

/// Additive shares of output bits that no input changes, `[elements][bits]`.
fn constants(party: Party, program: &SufProgram, count: usize) -> Vec<u64> {
    let bits: Vec<u64> = program.output_steps().map(|step| party.public(step.initial.into())).collect();
    bits.repeat(count)
}

fn xor(a: &[u32], b: &[u32]) -> Bits {
    Zeroizing::new(a.iter().zip(b).map(|(a, b)| a ^ b).collect())
}
