//! The evaluation of a descriptor from exchange to exchange.
//!
//! A conjunction of bits opened as `l' = l ^ a` and `m' = m ^ b` has the shares
//! `<l m> = <a b> ^ l' <b> ^ m' <a> ^ l' m'`, where party 0 adds the public bit (Beaver, CRYPTO
//! 1991).

use std::sync::Arc;

use backend_api::BufferRef as _;
use zeroize::Zeroizing;

use super::{
    super::{
        shares::{
            bits::BitShares,
            opened::OpenedValues,
            pending::{Pending, SecondStep, Step},
            results::{BoolShares, Shares},
            sums::BundleSums,
        },
        walk::{comparison::BitRows, evaluator::Evaluator, tree::Trees},
    },
    plan::{ClassPlan, SufPlan, WordsPlan},
};
use crate::{
    KeyBundle, Party, PfssError,
    lanes::live,
    suf::{BoolMode, BooleanNode, StepClass, SufProgram},
    tree::cluster::TreePoints,
};

/// XOR shares, 32 elements a word, bits past the last element zero.
type Bits = Zeroizing<Vec<u32>>;

/// A descriptor's evaluation between two exchanges.
pub(super) struct Machine {
    bundle: KeyBundle,
    plan: Arc<SufPlan>,
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
    ///
    /// The plan belongs to the bundle's gate, and there is a masked input for each element.
    pub(super) fn start<Q: Evaluator>(
        q: &Q,
        plan: Arc<SufPlan>,
        bundle: KeyBundle,
        x_hat: Vec<u64>,
    ) -> Result<Self, PfssError> {
        let values = vec![None; plan.program.bools().values.len()];
        let mut machine = Self { bundle, plan, x_hat, steps: vec![], values, words: vec![], bools: vec![], round: 0 };
        let (plan, x_hat) = (&machine.plan, &machine.x_hat);
        let trees = Trees::at(q, &machine.bundle, x_hat, plan.points(), plan.lists(), plan.sums_words())?;
        let (steps, payload_tree) = machine.compare(&trees)?;
        let (words, bools) = machine.select(&trees, payload_tree)?;
        drop(trees);
        (machine.steps, machine.words, machine.bools) = (steps, words, bools);
        Ok(Self { bundle: machine.bundle.walked(), ..machine })
    }

    fn program(&self) -> &SufProgram {
        &self.plan.program
    }

    /// Shares of all step functions, and the first tree after the comparison keys.
    fn compare<W: Evaluator>(&self, trees: &Trees<'_, W>) -> Result<(Vec<Bits>, usize), PfssError> {
        let (program, count) = (self.program(), self.x_hat.len());
        let rows = program.rows();
        let (mut tree, mut wrap) = (0, rows.selectors + 3 * rows.ands + rows.bools);
        // Step functions without changes are public.
        let mut steps: Vec<Bits> = program.bools().steps.iter().map(|step| self.public(step.initial)).collect();
        if self.plan.classes.is_empty() {
            return Ok((steps, tree));
        }
        let mut sums = BitRows::of(trees, self.plan.bit_sums())?;
        for (plan, class) in self.plan.classes.iter().zip(program.classes()) {
            // A class takes one key of the mask, or a key for each hidden threshold.
            match plan {
                ClassPlan::Shared(comparison) => {
                    sums.compare(tree, comparison)?;
                    tree += 1;
                }
                ClassPlan::Hidden { at_input, sums: over } => {
                    let (first_tree, first_wrap) = (tree, wrap);
                    tree += class.thresholds.len();
                    wrap += class.thresholds.iter().filter(|&&threshold| threshold > 0).count();
                    let rows = self.hidden_thresholds(trees, class, at_input, first_tree, first_wrap)?;
                    sums.add_over(over, &rows)?;
                }
            }
        }
        // Each row goes to its step function.
        let combined = sums.read()?;
        let rows = combined.chunks(count.div_ceil(32).max(1));
        for (&step, row) in program.classes().iter().flat_map(|class| &class.steps).zip(rows) {
            steps[step] = Zeroizing::new(row.to_vec());
        }
        Ok((steps, tree))
    }

    /// Shares of `1[r + b <= x_hat]` for each threshold `b` of a class.
    ///
    /// The shares of whether `r + b` wrapped are XORed to them.
    fn hidden_thresholds<W: Evaluator>(
        &self,
        trees: &Trees<'_, W>,
        class: &StepClass,
        at_input: &TreePoints,
        tree: usize,
        first_wrap: usize,
    ) -> Result<Bits, PfssError> {
        let mut wrap = first_wrap;
        // the full capacity at once, since growing would leave copies behind
        let mut all = Zeroizing::new(Vec::with_capacity(class.thresholds.len() * self.x_hat.len().div_ceil(32)));
        for (key, &threshold) in class.thresholds.iter().enumerate() {
            let mut row = trees.download_bits(tree + key, at_input)?;
            if threshold > 0 {
                row.iter_mut().zip(self.bundle.bit_row(wrap)).for_each(|(bits, &wrapped)| *bits ^= wrapped);
                wrap += 1;
            }
            all.extend_from_slice(&row);
        }
        Ok(all)
    }

    /// All output words and bits that need no exchange, from the trees after the comparison keys.
    fn select<W: Evaluator>(&self, trees: &Trees<'_, W>, tree: usize) -> Result<(Vec<u64>, Vec<u64>), PfssError> {
        let (plan, program) = (&self.plan, self.program());
        // Shares of the payload key serve words and output bits.
        let payload = plan.payload.as_ref().map(|points| trees.words(tree, points)).transpose()?;
        let words = match (&plan.words, &payload) {
            (WordsPlan::Payload(sums), Some(payload)) => sums.run_with(trees, payload.view())?,
            (WordsPlan::OnePiece(sums), _) => sums.run_with(trees, trees.x_hat()?.slice(0..0)?)?,
            (WordsPlan::Hidden(at_input, pieces), _) => {
                let ring = program.desc().ring();
                // The sums of all hidden pieces are added up.
                let mut out = vec![0; self.x_hat.len() * program.desc().words().len()];
                for (piece, sums) in pieces.iter().enumerate() {
                    let ahead = trees.words(tree + piece, at_input)?;
                    let part = Zeroizing::new(sums.run_with(trees, ahead.view())?);
                    out.iter_mut().zip(part.iter()).for_each(|(sum, part)| *sum = ring.add(*sum, *part));
                }
                out
            }
            (WordsPlan::Nothing | WordsPlan::Payload(_), _) => Vec::new(),
        };
        // Output bits of the payload key, or constants.
        let bools = match (&plan.steps, &payload) {
            (Some(steps), Some(payload)) => steps.run_with(trees, payload.view())?,
            _ if program.local_bools() => constants(self.bundle.party(), program, self.x_hat.len()),
            _ => Vec::new(), // opened after the last exchange, or XOR shares
        };
        Ok((words, bools))
    }

    /// Computes all values whose operands are available, and opens the rows of the next round.
    pub(super) fn step(mut self) -> Step {
        self.settle();
        if self.round == self.program().rounds().len() {
            return Step::Done(self.shares());
        }
        Step::Open(self.pending())
    }

    /// Opens the rows of this round.
    pub(super) fn pending(self) -> Pending {
        let rows = self.openings();
        let (party, count) = (self.bundle.party(), self.x_hat.len());
        Pending::masked(party, count, rows, self)
    }

    /// Fills in the values whose operands are known.
    fn settle(&mut self) {
        for at in 0..self.values.len() {
            if self.values[at].is_some() {
                continue;
            }
            self.values[at] = match &self.program().bools().values[at] {
                BooleanNode::Step(step) => Some(self.steps[*step].clone()),
                BooleanNode::Xor { terms, flip } => {
                    let known: Option<Vec<&Bits>> = terms.iter().map(|&term| self.values[term].as_ref()).collect();
                    known.map(|terms| terms.into_iter().fold(self.public(*flip), |sum, term| xor(&sum, term)))
                }
                BooleanNode::And { .. } => None, // when opened
            };
        }
    }

    /// The masked rows of this round.
    ///
    /// Selectors come first, then both operands of each conjunction, then output bits.
    fn openings(&self) -> Vec<u32> {
        let (bools, rows) = (self.program().bools(), self.program().rows());
        let mut out = Vec::new();
        let mut push = |bits: &[u32], mask: usize| {
            let masks = self.bundle.bit_row(mask).iter().enumerate();
            out.extend(bits.iter().zip(masks).map(|(bits, (word, mask))| bits ^ (mask & self.live(word))));
        };
        for (mask, &step) in self.program().selectors().iter().enumerate().take(self.opened_selectors()) {
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
        let bools = self.program().bools();
        let Some(round) = bools.rounds.get(self.round) else { return Vec::new() };
        let before: usize = bools.rounds[..self.round].iter().map(Vec::len).sum();
        let first = self.program().rows().selectors + 3 * before;
        let operands = |(at, &value): (usize, &usize)| match bools.values[value] {
            BooleanNode::And { left, right } => Some((first + 3 * at, left, right)),
            _ => None,
        };
        round.iter().enumerate().filter_map(operands).collect()
    }

    /// Takes in what [`openings`](Self::openings) opened.
    fn absorb(&mut self, opened: &OpenedValues, sums: Vec<Vec<u64>>) {
        let (plan, mut sums) = (Arc::clone(&self.plan), sums.into_iter());
        let program = &plan.program;
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
        if self.round == 0 { self.program().rows().selectors } else { 0 }
    }

    /// Whether this round opens the output bits.
    fn opens_outputs(&self) -> bool {
        self.round == self.program().bools().rounds.len() && self.program().rows().bools > 0
    }

    fn shares(self) -> Shares {
        let bools = match self.program().modes().bools {
            BoolMode::Additive => BoolShares::Additive(self.bools),
            BoolMode::XorPacked => {
                let rows: Vec<&[u32]> =
                    self.program().bools().outputs.iter().map(|&output| self.value(output)).collect();
                BoolShares::Xor(BitShares::new(self.bundle.party(), self.x_hat.len(), rows.concat()))
            }
        };
        Shares { words: self.words, bools }
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
        live(self.x_hat.len(), word)
    }
}

impl SecondStep for Machine {
    fn bundle(&self) -> &KeyBundle {
        &self.bundle
    }

    fn x<'a>(&'a self, _: &'a OpenedValues) -> &'a [u64] {
        &self.x_hat
    }

    fn sums(&self) -> Vec<&BundleSums> {
        let selected = self.plan.selected.as_ref().filter(|_| self.opened_selectors() > 0);
        let bits = self.opens_outputs().then_some(&self.plan.opened_bits);
        selected.into_iter().chain(bits).collect()
    }

    fn finish(self: Box<Self>, opened: &OpenedValues, sums: Vec<Vec<u64>>) -> Step {
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
