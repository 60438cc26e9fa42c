//! Rows of nodes that record an AIR or a generator.
//!
//! One takes the constraints of an AIR, one the fractions of its look-ups, and one the columns of a
//! generator.

use std::collections::HashMap;

use core_types::{
    air::{Fraction, NewRow, Row, Tree},
    params::air::Instruction,
};

use crate::{
    MaskRead, MaskSource, RecordError,
    arena::{ExpressionArena, NodeOp},
    value::ExpressionValue,
};

/// The most trees that an AIR may read.
const MOST_TREES: usize = 1 << 8;

/// Placeholder for the column of row numbers.
///
/// It is replaced once the number of inputs is known.
pub(crate) const NUMBERS: MaskSource = MaskSource::Preprocessed { slot: u32::MAX };

/// What an AIR reads.
#[derive(Debug)]
pub(crate) struct Reads<'a> {
    pub(crate) arena: &'a ExpressionArena,
    /// Offsets of each column, by tree.
    pub(crate) columns: Vec<Vec<Vec<i32>>>,
    /// Slots of preprocessed columns.
    pub(crate) preprocessed: u32,
    /// Slots of challenges.
    pub(crate) challenges: u32,
    /// Masks, by the numbers that nodes have for them.
    pub(crate) masks: Vec<MaskRead>,
    numbers: HashMap<MaskRead, u32>,
    /// The first thing that was wrong.
    pub(crate) error: Option<RecordError>,
}

impl<'a> Reads<'a> {
    fn new(arena: &'a ExpressionArena) -> Self {
        Self {
            arena,
            columns: vec![Vec::new()],
            preprocessed: 0,
            challenges: 0,
            masks: Vec::new(),
            numbers: HashMap::new(),
            error: None,
        }
    }

    fn value(&self, op: NodeOp) -> ExpressionValue<'a> {
        ExpressionValue::Node(self.arena, self.arena.node(op))
    }

    fn read(&mut self, source: MaskSource, offset: i32) -> ExpressionValue<'a> {
        let mask = MaskRead { source, offset };
        let number = *self.numbers.entry(mask).or_insert_with(|| {
            self.masks.push(mask);
            self.masks.len() as u32 - 1
        });
        self.value(NodeOp::Mask(number))
    }

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [ExpressionValue<'a>; K] {
        let place = tree.0 as usize;
        if tree == Tree::PREPROCESSED || place >= MOST_TREES {
            let error = match place {
                0 => RecordError::PreprocessedMask,
                _ => RecordError::TooMany { what: "trees", most: MOST_TREES, got: place.saturating_add(1) },
            };
            self.error.get_or_insert(error);
            return offsets.map(|_| self.value(NodeOp::Missing));
        }
        if self.columns.len() <= place {
            self.columns.resize_with(place + 1, Vec::new);
        }
        let column = self.columns[place].len() as u32;
        self.columns[place].push(offsets.to_vec());
        offsets.map(|offset| self.read(MaskSource::Column { tree, column }, offset))
    }

    fn preprocessed(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.preprocessed = self.preprocessed.max(slot.saturating_add(1));
        self.read(MaskSource::Preprocessed { slot }, 0)
    }

    fn challenge(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.challenges = self.challenges.max(slot.saturating_add(1));
        self.value(NodeOp::Challenge(slot))
    }
}

/// A row that takes constraints.
#[derive(Debug)]
pub(crate) struct ConstraintRow<'a> {
    pub(crate) reads: Reads<'a>,
    pub(crate) values: Vec<ExpressionValue<'a>>,
}

impl<'a> ConstraintRow<'a> {
    pub(crate) fn new(arena: &'a ExpressionArena) -> Self {
        Self { reads: Reads::new(arena), values: Vec::new() }
    }
}

impl<'a> Row for ConstraintRow<'a> {
    type F = ExpressionValue<'a>;
    type E = ExpressionValue<'a>;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [ExpressionValue<'a>; K] {
        self.reads.mask(tree, offsets)
    }

    fn preprocessed(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.reads.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.reads.challenge(slot)
    }

    fn mean(&mut self) -> ExpressionValue<'a> {
        self.reads.value(NodeOp::Mean)
    }

    fn constraint(&mut self, value: ExpressionValue<'a>) {
        self.values.push(value);
    }

    fn constraint_ext(&mut self, value: ExpressionValue<'a>) {
        self.values.push(value);
    }
}

/// A row that takes the fractions of interaction columns instead of constraining them.
#[derive(Debug)]
pub(crate) struct Fractions<'a> {
    pub(crate) reads: Reads<'a>,
    pub(crate) values: Vec<Fraction<ExpressionValue<'a>>>,
    finished: bool,
}

impl<'a> Fractions<'a> {
    pub(crate) fn new(arena: &'a ExpressionArena) -> Self {
        Self { reads: Reads::new(arena), values: Vec::new(), finished: false }
    }

    fn push(&mut self, fraction: Fraction<ExpressionValue<'a>>) {
        if self.finished {
            self.reads.error.get_or_insert(RecordError::LookUps);
        }
        self.values.push(fraction);
    }

    /// Rejects entries that are not one list of look-ups, with `interaction` columns of words.
    pub(crate) fn check(&self, interaction: usize) -> Result<(), RecordError> {
        let whole = self.finished && interaction == 4 * self.values.len();
        match self.reads.error {
            Some(error) => Err(error),
            None if self.values.is_empty() || whole => Ok(()),
            None => Err(RecordError::LookUps),
        }
    }
}

impl<'a> Row for Fractions<'a> {
    type F = ExpressionValue<'a>;
    type E = ExpressionValue<'a>;

    fn mask<const K: usize>(&mut self, tree: Tree, offsets: [i32; K]) -> [ExpressionValue<'a>; K] {
        if tree < Tree::INTERACTION {
            return self.reads.mask(tree, offsets);
        }
        offsets.map(|_| self.reads.value(NodeOp::Missing))
    }

    fn preprocessed(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.reads.preprocessed(slot)
    }

    fn challenge(&mut self, slot: u32) -> ExpressionValue<'a> {
        self.reads.challenge(slot)
    }

    /// The mean is known once the fractions are.
    fn mean(&mut self) -> ExpressionValue<'a> {
        self.reads.value(NodeOp::Missing)
    }

    fn constraint(&mut self, _: ExpressionValue<'a>) {}

    fn constraint_ext(&mut self, _: ExpressionValue<'a>) {}

    fn partial_sum(
        &mut self,
        _: Option<ExpressionValue<'a>>,
        fraction: Fraction<ExpressionValue<'a>>,
    ) -> ExpressionValue<'a> {
        self.push(fraction);
        self.reads.value(NodeOp::Missing)
    }

    fn running_sum(&mut self, _: Option<ExpressionValue<'a>>, fraction: Fraction<ExpressionValue<'a>>) {
        self.push(fraction);
        self.finished = true;
    }
}

/// An output of a generator.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GeneratorOutput<'a> {
    /// The next column.
    Column(ExpressionValue<'a>),
    /// The number of a counter.
    Counter(ExpressionValue<'a>),
}

/// A new row that takes its columns.
#[derive(Debug)]
pub(crate) struct GeneratedColumns<'a> {
    pub(crate) reads: Reads<'a>,
    /// Columns and numbers of counters, in the order in which they are known.
    pub(crate) outputs: Vec<GeneratorOutput<'a>>,
    /// Inputs that were read.
    pub(crate) inputs: u32,
}

impl<'a> GeneratedColumns<'a> {
    pub(crate) fn new(arena: &'a ExpressionArena) -> Self {
        Self { reads: Reads::new(arena), outputs: Vec::new(), inputs: 0 }
    }
}

impl<'a> NewRow for GeneratedColumns<'a> {
    type F = ExpressionValue<'a>;

    fn mask<const K: usize>(&mut self, offsets: [i32; K]) -> [ExpressionValue<'a>; K] {
        let slot = self.inputs;
        self.inputs = slot.saturating_add(1);
        offsets.map(|offset| self.reads.read(MaskSource::Preprocessed { slot }, offset))
    }

    fn number(&mut self) -> ExpressionValue<'a> {
        self.reads.read(NUMBERS, 0)
    }

    fn write(&mut self, value: ExpressionValue<'a>) {
        self.outputs.push(GeneratorOutput::Column(value));
    }

    fn bits(&mut self, value: ExpressionValue<'a>, from: u32, to: u32) -> ExpressionValue<'a> {
        if from >= to || to > 31 {
            self.reads.error.get_or_insert(RecordError::Bits { from, to });
            return value;
        }
        value.bits(self.reads.arena, Instruction::bits(from, to))
    }

    fn xor(&mut self, a: ExpressionValue<'a>, b: ExpressionValue<'a>) -> ExpressionValue<'a> {
        a.xor(b, self.reads.arena)
    }

    fn count(&mut self, key: ExpressionValue<'a>) {
        self.outputs.push(GeneratorOutput::Counter(key));
    }
}
